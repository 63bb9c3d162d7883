# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of a branch of a CVS training config for JAX MaxText: what to train."""

from __future__ import annotations

import typing as t

from pydantic import BaseModel, Field, create_model

from ...config.field_types import Flag, FreeObject, Line, Name, NameList, Number, PositiveInteger
from ...config.fields import ConfigSection, extra_of
from ...config.key_tables import read_tables, with_keys
from ...config.kinds import OneOf
from ...job.thresholds import ExpectedResults
from .keys import KEYS, meaning_of
from .kinds import whole

# MaxText has keys of its own for these, and CVS never passes them on.
OF_CVS_ONLY = read_tables(__file__)["of_cvs_only"]

ModelT = t.TypeVar("ModelT", bound=BaseModel)
GroupedInteger = t.Annotated[int, whole(1)]
Attention = t.Annotated[str, OneOf(("autoselected", "dot_product", "flash", "cudnn_flash_te", "cudnn_flash_jax"))]
Hardware = t.Annotated[str, OneOf(("gpu", "gpu_multiprocess", "tpu", "cpu"))]
NumberFormat = t.Annotated[str, KEYS["dtype"].kind]
DatasetType = t.Annotated[str, KEYS["dataset_type"].kind]


def _by_own_names(model: type[ModelT]) -> type[ModelT]:
    """Let every field that MaxText has as a key become the key of its name."""
    for name, field in model.model_fields.items():
        if name in KEYS:
            field.json_schema_extra = {"variable": name, **extra_of(field)}
    return model


@with_keys(OF_CVS_ONLY)
@_by_own_names
class MaxTextModelParameters(ConfigSection):
    """A branch ``model_params.<mode>.<model>.<gpu>``: what to train there. Most keys are MaxText's own.

    Here stand those that a plan reads itself, or that only CVS has; `BRANCH` has all others as well.
    """

    model_name: Name | None = Field(
        default=None, description="MaxText's name of the model; without it the branch's own.", examples=["llama3.1-70b"]
    )
    per_device_batch_size: Number = Field(
        description="Sequences of one step on each GPU.", examples=[3], json_schema_extra={"unit": "sequences"}
    )
    max_target_length: GroupedInteger = Field(
        description="Length of a sequence.", examples=[8192], json_schema_extra={"unit": "tokens"}
    )
    gradient_accumulation_steps: PositiveInteger | None = Field(
        default=None, description="Batches that make one step; without it 1.", json_schema_extra={"unit": "batches"}
    )
    hardware: Hardware = Field(
        default="gpu", description="What trains. gpu takes one process a node, which meet by JAX_COORDINATOR_IP."
    )
    attention: Attention | None = Field(
        default=None, description="Implementation of the attention.", examples=["cudnn_flash_te"]
    )
    quantization: Line | None = Field(
        default=None,
        description="Number format of the matrix products, such as fp8 or nanoo_fp8; empty for that of dtype.",
        examples=["fp8"],
    )
    dtype: NumberFormat | None = Field(default=None, description="Number format of activations.", examples=["bfloat16"])
    remat_policy: Name | None = Field(
        default=None, description="What of the activations is kept and what is computed again.", examples=["full"]
    )
    packing: Flag | None = Field(default=None, description="Put several texts into one sequence.")
    max_segments_per_seq: PositiveInteger | None = Field(
        default=None,
        description="How many texts one sequence may hold at most.",
        examples=[32],
        json_schema_extra={"unit": "texts"},
    )
    dataset_type: DatasetType | None = Field(
        default=None, description="What to train on; synthetic needs no data.", examples=["synthetic"]
    )
    mlp_activations: NameList | None = Field(
        default=None, description="Activations of the feed-forward layers.", examples=[["silu", "linear"]]
    )
    base_output_directory: Line | None = Field(
        default=None, description="Where MaxText writes checkpoints and TensorBoard files; without it the run's folder."
    )
    jax_distributed_initialization_timeout: PositiveInteger | None = Field(
        default=None, description="How long the nodes wait for each other at the start.", examples=[1800]
    )
    jax_distributed_heartbeat_timeout_seconds: PositiveInteger | None = Field(
        default=None,
        description="After this long without a sign of life a node counts as dead. AMD's MaxText has it, in images "
        "from v26.2 on; PyPI's up to 0.2.5 ends at it.",
        examples=[900],
        json_schema_extra={"variable": "jax_distributed_heartbeat_timeout_seconds", "unit": "s", "since": "rocm-26.2"},
    )
    xla_flags: FreeObject = Field(
        default={},
        description="The same as config.xla_flags, for this branch.",
        json_schema_extra={"variable": "XLA_FLAGS"},
    )
    result_dict: ExpectedResults = Field(default_factory=ExpectedResults, description="Thresholds of the verdict.")


def _field(name: str) -> tuple[t.Any, t.Any]:
    annotation = t.Optional[t.Annotated[t.Any, KEYS[name].kind]]  # noqa: UP045  # | takes no annotated Any
    extra: dict[str, t.Any] = {"variable": name}
    return annotation, Field(default=None, description=meaning_of(name), json_schema_extra=extra)


# MaxText's own keys are too many to be written down as fields.
_FIELDS: dict[str, t.Any] = {name: _field(name) for name in KEYS if name not in MaxTextModelParameters.model_fields}
BRANCH: type[MaxTextModelParameters] = create_model(
    "BRANCH", __base__=MaxTextModelParameters, __doc__=MaxTextModelParameters.__doc__, **_FIELDS
)
