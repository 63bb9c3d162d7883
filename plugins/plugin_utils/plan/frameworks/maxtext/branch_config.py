# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of a branch of a CVS training config for JAX MaxText: what to train."""

from __future__ import annotations

import typing as t

from pydantic import Field, create_model

from ...config.field_types import Flag, FreeObject, Line, Name, NameList, Number, PositiveInteger
from ...config.fields import ConfigSection
from ...config.kinds import OneOf
from ...job.thresholds import ExpectedResults
from .keys import KEYS, meaning_of
from .kinds import whole

GroupedInteger = t.Annotated[int, whole(1)]
Attention = t.Annotated[str, OneOf(("autoselected", "dot_product", "flash", "cudnn_flash_te", "cudnn_flash_jax"))]
Hardware = t.Annotated[str, OneOf(("gpu", "gpu_multiprocess", "tpu", "cpu"))]
NumberFormat = t.Annotated[str, KEYS["dtype"].kind]
DatasetType = t.Annotated[str, KEYS["dataset_type"].kind]


def _becomes(variable: str, unit: str = "") -> dict[str, t.Any]:
    return {"variable": variable, **({"unit": unit} if unit else {})}


class MaxTextModelParameters(ConfigSection):
    """A branch ``model_params.<mode>.<model>.<gpu>``: what to train there. Most keys are MaxText's own.

    Here stand those that a plan reads itself, or that only CVS has; `BRANCH` has all others as well.
    """

    model_name: Name | None = Field(
        default=None,
        description="MaxText's name of the model; without it the branch's own.",
        examples=["llama3.1-70b"],
        json_schema_extra=_becomes("model_name"),
    )
    per_device_batch_size: Number = Field(
        description="Sequences of one step on each GPU.",
        examples=[3],
        json_schema_extra=_becomes("per_device_batch_size", "sequences"),
    )
    max_target_length: GroupedInteger = Field(
        description="Length of a sequence.",
        examples=[8192],
        json_schema_extra=_becomes("max_target_length", "tokens"),
    )
    gradient_accumulation_steps: PositiveInteger | None = Field(
        default=None,
        description="Batches that make one step; without it 1.",
        json_schema_extra=_becomes("gradient_accumulation_steps", "batches"),
    )
    hardware: Hardware = Field(
        default="gpu",
        description="What trains. gpu takes one process a node, which meet by JAX_COORDINATOR_IP.",
        json_schema_extra=_becomes("hardware"),
    )
    attention: Attention | None = Field(
        default=None,
        description="Implementation of the attention.",
        examples=["cudnn_flash_te"],
        json_schema_extra=_becomes("attention"),
    )
    quantization: Line | None = Field(
        default=None,
        description="Number format of the matrix products, such as fp8 or nanoo_fp8; empty for that of dtype.",
        examples=["fp8"],
        json_schema_extra=_becomes("quantization"),
    )
    dtype: NumberFormat | None = Field(
        default=None,
        description="Number format of activations.",
        examples=["bfloat16"],
        json_schema_extra=_becomes("dtype"),
    )
    remat_policy: Name | None = Field(
        default=None,
        description="What of the activations is kept and what is computed again.",
        examples=["full"],
        json_schema_extra=_becomes("remat_policy"),
    )
    packing: Flag | None = Field(
        default=None, description="Put several texts into one sequence.", json_schema_extra=_becomes("packing")
    )
    max_segments_per_seq: PositiveInteger | None = Field(
        default=None,
        description="How many texts one sequence may hold at most.",
        examples=[32],
        json_schema_extra=_becomes("max_segments_per_seq", "texts"),
    )
    dataset_type: DatasetType | None = Field(
        default=None,
        description="What to train on; synthetic needs no data.",
        examples=["synthetic"],
        json_schema_extra=_becomes("dataset_type"),
    )
    mlp_activations: NameList | None = Field(
        default=None,
        description="Activations of the feed-forward layers.",
        examples=[["silu", "linear"]],
        json_schema_extra=_becomes("mlp_activations"),
    )
    base_output_directory: Line | None = Field(
        default=None,
        description="Where MaxText writes checkpoints and TensorBoard files; without it the run's folder.",
        json_schema_extra=_becomes("base_output_directory"),
    )
    jax_distributed_initialization_timeout: PositiveInteger | None = Field(
        default=None,
        description="How long the nodes wait for each other at the start.",
        examples=[1800],
        json_schema_extra=_becomes("jax_distributed_initialization_timeout"),
    )
    jax_distributed_heartbeat_timeout_seconds: PositiveInteger | None = Field(
        default=None,
        description="After this long without a sign of life a node counts as dead. AMD's MaxText has it, in images "
        "from v26.2 on; PyPI's up to 0.2.5 ends at it.",
        examples=[900],
        json_schema_extra={**_becomes("jax_distributed_heartbeat_timeout_seconds", "s"), "since": "rocm-26.2"},
    )
    tokenizer_model: Line | None = Field(default=None, description="No effect: tokenizer_path names the tokenizer.")
    model_size: Line | None = Field(default=None, description="No effect: the model's name says its size.")
    batch_size: Line | None = Field(default=None, description="No effect: the batch is made of per_device_batch_size.")
    micro_batch_size: Line | None = Field(
        default=None, description="No effect: the batch is made of per_device_batch_size."
    )
    precision: Line | None = Field(default=None, description="No effect: quantization and dtype say the number format.")
    sequence_length: Line | None = Field(default=None, description="No effect: max_target_length says it.")
    tensor_parallelism: Line | None = Field(
        default=None, description="No effect: dcn_tensor_parallelism and ici_tensor_parallelism say it."
    )
    pipeline_parallelism: Line | None = Field(
        default=None, description="No effect: dcn_pipeline_parallelism and ici_pipeline_parallelism say it."
    )
    recompute: Line | None = Field(default=None, description="No effect: remat_policy says it.")
    fsdp: Line | None = Field(
        default=None, description="No effect: dcn_fsdp_parallelism and ici_fsdp_parallelism say it."
    )
    xla_flags: FreeObject = Field(
        default={},
        description="The same as config.xla_flags, for this branch.",
        json_schema_extra=_becomes("XLA_FLAGS"),
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
