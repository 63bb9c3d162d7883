# SPDX-License-Identifier: GPL-3.0-or-later
"""The peaks of each accelerator: dense TFLOP/s of its matrix units by number format (no sparsity), and of its memory.

The sources are the makers' own: the data sheets of AMD Instinct MI210, MI250, MI250X, MI300X, MI325X, MI350X and MI355X
(peak theoretical performance, and peak memory bandwidth), of NVIDIA A100 80GB SXM, H100 SXM, H100 PCIe, H200 SXM, B200
(of HGX) and GB200 (of NVL72; a half of both with sparsity), the pages on Cloud TPU v4, v5e, v5p and v6e, and the
architecture pages of Trainium and Trainium2 in the Neuron documentation. All are for one chip (a NeuronCore is part of
one); for MI250 and MI250X, for one of the two dies, because each die counts as a GPU.
"""

from __future__ import annotations

import re

_MI300X = {"fp16": 1307.4, "bf16": 1307.4, "fp8": 2614.9}
_HOPPER = {"fp16": 989.4, "bf16": 989.4, "fp8": 1978.9}

PEAK_TFLOPS: dict[str, dict[str, float]] = {
    "mi210": {"fp16": 181.0, "bf16": 181.0},
    "mi250": {"fp16": 181.05, "bf16": 181.05},
    "mi250x": {"fp16": 191.5, "bf16": 191.5},
    "mi300x": _MI300X,
    "mi325x": _MI300X,
    "mi350x": {"fp16": 2306.9, "bf16": 2306.9, "fp8": 4613.7, "fp4": 9227.5},
    "mi355x": {"fp16": 2516.6, "bf16": 2516.6, "fp8": 5033.2, "fp4": 10066.3},
    "a100": {"fp16": 312.0, "bf16": 312.0},
    "h100": _HOPPER,
    "h100pcie": {"fp16": 756.0, "bf16": 756.0, "fp8": 1513.0},
    "h200": _HOPPER,
    "b200": {"fp16": 2250.0, "bf16": 2250.0, "fp8": 4500.0, "fp4": 9000.0},
    "gb200": {"fp16": 2500.0, "bf16": 2500.0, "fp8": 5000.0, "fp4": 10000.0},
    "v4": {"bf16": 275.0},
    "v5e": {"bf16": 197.0},
    "v5p": {"bf16": 459.0},
    "v6e": {"bf16": 918.0},
    "trn1": {"fp16": 190.0, "bf16": 190.0, "fp32": 47.5},
    "trn2": {"fp16": 667.0, "bf16": 667.0, "fp8": 1299.0, "fp32": 181.0},
}

# GB/s; an A100 with 40 GB has 1,555.
MEMORY_GB_PER_S: dict[str, float] = {
    **dict.fromkeys(("mi210", "mi250", "mi250x"), 1638.4),
    "mi300x": 5300.0,
    "mi325x": 6000.0,
    "mi350x": 8000.0,
    "mi355x": 8000.0,
    "a100": 2039.0,
    "h100": 3350.0,
    "h100pcie": 2000.0,
    "h200": 4800.0,
    "b200": 8000.0,
    "gb200": 8000.0,
}

TPUS = ("v4", "v5e", "v5p", "v6e")


def accelerator_of(name: str) -> str | None:
    """Return the accelerator in the table for a name such as MI300, tpu_v5p or trn2.48xlarge, or None."""
    letters = re.sub(r"^(amd|nvidia|google|aws|tpu|instinct)+", "", re.sub(r"[^a-z0-9.]", "", name.casefold()))
    letters = re.sub(r"^(trn[0-9]+)[a-z]*\..*", r"\1", letters)
    return next((known for known in PEAK_TFLOPS if letters in (known, known.removesuffix("x"))), None)


def gpu_in(name: str) -> str | None:
    """Return the accelerator in the table for the name of a device, such as NVIDIA H100 80GB HBM3, or None.

    Cards for PCIe and NVL have other peaks than the modules of the same name.
    """
    words = re.split(r"[^a-z0-9]+", name.casefold())
    kind = "".join(word for word in words if word in ("pcie", "nvl"))
    return next((known for word in words if word and (known := accelerator_of(word + kind))), None)


def peak_tflops(accelerator: str, precision: str) -> float | None:
    """Return the dense peak of one chip in TFLOP/s, or None if it is not in the table."""
    known = accelerator_of(accelerator)
    return PEAK_TFLOPS[known].get(precision) if known else None
