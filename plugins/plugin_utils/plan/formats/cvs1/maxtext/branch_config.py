# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of a branch of a CVS training config for JAX MaxText: what to train."""

from __future__ import annotations

import typing as t

from pydantic import BaseModel, create_model

from ....config.field_types import Flag, FreeObject, Line, Name, NameList, Number, PositiveInteger
from ....config.key_tables import read_tables, with_keys
from ....config.kinds import OneOf
from ....config.model import ConfigSection, extra_of, key, optional
from ....job.thresholds import ExpectedResults
from .keys import KEYS, meaning_of
from .kinds import whole

# MaxText has its own keys for these, and CVS never passes them on.
OF_CVS_ONLY = read_tables(__file__)["of_cvs_only"]

ModelT = t.TypeVar("ModelT", bound=BaseModel)
GroupedInteger = t.Annotated[int, whole(1)]
Attention = t.Annotated[str, OneOf(("autoselected", "dot_product", "flash", "cudnn_flash_te", "cudnn_flash_jax"))]
Hardware = t.Annotated[str, OneOf(("gpu", "gpu_multiprocess", "tpu", "cpu"))]
NumberFormat = t.Annotated[str, KEYS["dtype"].kind]
Quantization = t.Annotated[str, KEYS["quantization"].kind]
# get_remat_policy in MaxText's decoders accepts these names and stops at any other.
RematPolicy = t.Annotated[
    str,
    OneOf(
        (
            *(
                "none",
                "full",
                "minimal",
                "minimal_flash",
                "minimal_with_context",
                "minimal_with_quantization",
                "minimal_with_context_and_quantization",
            ),
            *("save_dot_with_context_except_mlp", "save_dot_except_mlpwi", "save_dot_except_mlp", "save_qkv_proj"),
            *("save_out_proj", "qkv_proj_offloaded", "minimal_offloaded", "custom"),
        )
    ),
]
DatasetType = t.Annotated[str, KEYS["dataset_type"].kind]


def _by_own_names(model: type[ModelT]) -> type[ModelT]:
    """Map every field that is a MaxText key to the key of its name."""
    for name, field in model.model_fields.items():
        if name in KEYS:
            field.json_schema_extra = {"variable": name, **extra_of(field)}
    return model


@with_keys(OF_CVS_ONLY)
@_by_own_names
class MaxTextModelParameters(ConfigSection):
    """A branch ``model_params.<mode>.<model>.<gpu>``: what to train there. Most keys are MaxText's own.

    These fields are the ones that a plan reads itself, or that only CVS has; `BRANCH` has all others as well.
    """

    model_name: Name | None = optional(
        "MaxText's name of the model; by default the branch's name.", example="llama3.1-70b"
    )
    per_device_batch_size: Number = key(
        "Sequences per step on each GPU.", example=3, unit="sequences", unless="maxtext_script"
    )
    max_target_length: GroupedInteger = key(
        "Length of a sequence.", example=8192, unit="tokens", unless="maxtext_script"
    )
    gradient_accumulation_steps: PositiveInteger | None = optional("Batches per step; 1 by default.", unit="batches")
    hardware: Hardware = key(
        "Hardware to train on. gpu starts one process per node; the processes meet at JAX_COORDINATOR_IP.",
        default="gpu",
    )
    attention: Attention | None = optional("Implementation of the attention.", example="cudnn_flash_te")
    quantization: Quantization | None = optional(
        "Number format of the matrix multiplications, such as fp8 or nanoo_fp8; if empty, dtype.", example="fp8"
    )
    dtype: NumberFormat | None = optional("Number format of activations.", example="bfloat16")
    remat_policy: RematPolicy | None = optional("Which activations are kept and which are recomputed.", example="full")
    packing: Flag | None = optional("Pack several texts into one sequence.")
    max_segments_per_seq: PositiveInteger | None = optional(
        "Maximum number of texts in one sequence.", example=32, unit="texts"
    )
    dataset_type: DatasetType | None = optional("What to train on; synthetic needs no data.", example="synthetic")
    mlp_activations: NameList | None = optional("Activations of the feed-forward layers.", example=["silu", "linear"])
    base_output_directory: Line | None = optional(
        "Where MaxText writes checkpoints and TensorBoard files; by default the run's folder."
    )
    jax_distributed_initialization_timeout: PositiveInteger | None = optional(
        "How long the nodes wait for each other at startup.", example=1800
    )
    jax_distributed_heartbeat_timeout_seconds: PositiveInteger | None = optional(
        "A node counts as dead after this long without a heartbeat. AMD's MaxText has the key in images from v26.2 "
        "on; PyPI's up to 0.2.5 exits on it.",
        example=900,
        unit="s",
        variable="jax_distributed_heartbeat_timeout_seconds",
        since="rocm-26.2",
    )
    xla_flags: FreeObject = key("The same as config.xla_flags, for this branch.", default={}, variable="XLA_FLAGS")
    result_dict: ExpectedResults = key("Thresholds of the verdict.", default_factory=ExpectedResults)


def _field(name: str) -> tuple[t.Any, t.Any]:
    annotation = t.Optional[t.Annotated[t.Any, KEYS[name].kind]]  # noqa: UP045  # | takes no annotated Any
    return annotation, optional(meaning_of(name), variable=name)


# MaxText has too many keys to write them all as fields.
_FIELDS: dict[str, t.Any] = {name: _field(name) for name in KEYS if name not in MaxTextModelParameters.model_fields}
BRANCH: type[MaxTextModelParameters] = create_model(
    "BRANCH", __base__=MaxTextModelParameters, __doc__=MaxTextModelParameters.__doc__, **_FIELDS
)
