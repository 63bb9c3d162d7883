# SPDX-License-Identifier: GPL-3.0-or-later
"""The meaning of NxDT's precision types.

Source: ``process_config`` in examples/training_orchestrator.py of NxDT. It keeps variables that are already
set, and appends to NEURON_CC_FLAGS; so a plan sets the variables, and leaves the compiler flags to NxDT.
"""

from __future__ import annotations

import typing as t

from ...config.field_types import Flag
from ...config.kinds import OneOf
from ...config.model import ConfigSection, key, optional

_ACCUMULATE = "--enable-mixed-precision-accumulation"
MANUAL_KEYS = {
    "xla_use_bf16": "XLA_USE_BF16",
    "xla_downcast_bf16": "XLA_DOWNCAST_BF16",
    "neuron_rt_stochastic_rounding_en": "NEURON_RT_STOCHASTIC_ROUNDING_EN",
}


# The variables' values for each type, None if unset, and the flags that NxDT adds to NEURON_CC_FLAGS.
PRECISIONS: dict[str, tuple[tuple[str, str, str | None], str]] = {
    "bf16SR": (("1", "0", "1"), _ACCUMULATE),
    "mixed_precision": (("0", "1", "0"), _ACCUMULATE),
    "mixed_precision_SR": (("0", "1", "1"), _ACCUMULATE),
    "fp32": (("0", "0", None), "--auto-cast none"),
    "autocast": (("0", "0", "0"), f"{_ACCUMULATE} --auto-cast none"),
}
TYPES = (*PRECISIONS, "manual")
_MISSPELT = "mixed_precisionSR"


class PrecisionType(OneOf):
    """A precision type, in the spelling of NxDT's code."""

    def read(self, value: t.Any) -> str:
        """Return the type."""
        if value == _MISSPELT:
            raise ValueError("is spelled as in NxDT's documentation, but NxDT's code rejects it")
        return super().read(value)


class PrecisionConfig(ConfigSection):
    """The section ``precision``: number formats of weights, gradients and sums."""

    type: t.Annotated[str, PrecisionType(TYPES, strict=True)] = key(
        "Number formats of the model and the optimizer.",
        example="mixed_precision",
        variable="XLA_USE_BF16, XLA_DOWNCAST_BF16, NEURON_RT_STOCHASTIC_ROUNDING_EN, NEURON_CC_FLAGS",
    )
    master_weights: Flag | None = optional("Keep FP32 master weights; only with type manual.")
    fp32_grad_acc: Flag | None = optional("Accumulate gradients in FP32; only with type manual.")
    fp32_grads_cc: Flag | None = optional("Reduce gradients in FP32; only with type manual.")
    xla_use_bf16: Flag | None = optional(
        "Take FP32 for BF16; only with type manual.", example="0", variable="XLA_USE_BF16"
    )
    xla_downcast_bf16: Flag | None = optional(
        "Take FP32 for BF16 and FP64 for FP32; only with type manual.", example="1", variable="XLA_DOWNCAST_BF16"
    )
    neuron_rt_stochastic_rounding_en: Flag | None = optional(
        "Round stochastically; only with type manual.", example="0", variable="NEURON_RT_STOCHASTIC_ROUNDING_EN"
    )
    parallel_layers_reduce_dtype: t.Annotated[str, OneOf(("bf16", "fp32", "fp16"), strict=True)] | None = optional(
        "Number format of the all-reduce in parallel layers; bf16, or fp32 with type fp32.", since="1.1.1"
    )


def precision_environment(precision: PrecisionConfig) -> dict[str, str]:
    """Return the variables for a valid precision section."""
    if precision.type == "manual":
        return {name: str(int(getattr(precision, key))) for key, name in MANUAL_KEYS.items()}
    values, _flags = PRECISIONS[precision.type]
    return {name: value for name, value in zip(MANUAL_KEYS.values(), values, strict=True) if value is not None}


def precision_compiler_flags(precision: PrecisionConfig) -> str:
    """Return the compiler flags that NxDT adds for a valid precision section."""
    return "" if precision.type == "manual" else PRECISIONS[precision.type][1]
