# SPDX-License-Identifier: GPL-3.0-or-later
"""What nodes are compared with beside each other, as all may be slow alike: the peak of their GPUs."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from ...module_utils.node.probes.torch.script import EDGE
from ..plan.job.peak_tflops import gpu_in, peak_tflops

_PRODUCT = "torch_gemm"
_PRECISION = "bf16"


def peaks_in_words(gpus: Mapping[str, str], seconds: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return how near each model of GPU usually comes to its peak, given the models of nodes and all `seconds`."""
    found: dict[str, list[float]] = {}
    for part, took in seconds.get(_PRODUCT, {}).items():
        model = gpu_in(gpus.get(part.partition(" ")[0], ""))
        if model:
            found.setdefault(model, []).append(took)
    return [_in_words(model, statistics.median(took)) for model, took in sorted(found.items())]


def _in_words(model: str, seconds: float) -> str:
    # A product of n × n matrices takes n³ multiplications and as many additions.
    tflops = 2 * EDGE[0] ** 3 / seconds / 1e12
    peak = peak_tflops(model, _PRECISION)
    share = f", {100 * tflops / peak:.0f} % of the peak" if peak else ""
    return f"{model.upper()}: usually {tflops:,.0f} TFLOP/s in {_PRECISION.upper()} ({_PRODUCT}){share}"
