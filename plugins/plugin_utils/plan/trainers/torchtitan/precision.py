# SPDX-License-Identifier: GPL-3.0-or-later
"""In which number format TorchTitan multiplies matrices."""

from __future__ import annotations

from .reading import TorchTitanReading

# The precision that each converter of TorchTitan 0.2.2 trains in.
CONVERTERS = {
    "quantize.linear.float8": "fp8",
    "quantize.grouped_mm.float8": "fp8",
    "quantize.linear.mx": "mxfp8",
    "quantize.grouped_mm.mx": "mxfp8",
}
_OF_TYPE = {"bfloat16": "bf16", "float32": "fp32"}


def precision_of(reading: TorchTitanReading) -> str:
    """Return the number format: the first quantizing converter's, or else the one that FSDP computes in."""
    converters = reading.get("model.converters") or []
    quantized = (CONVERTERS[name] for name in converters if name in CONVERTERS)
    return next(quantized, _OF_TYPE[reading.get("training.mixed_precision_param")])
