# SPDX-License-Identifier: GPL-3.0-or-later
"""What nodes are compared with beside each other, as all may be slow alike: the peak of their GPUs."""

from __future__ import annotations

import statistics
import typing as t
from collections.abc import Mapping

from ...module_utils.node.probes.torch.script import EDGE
from ..contracts import Reason
from ..plan.job.peak_tflops import gpu_in, peak_tflops
from ..text.isolation import isolation_finding

_PRODUCT = "torch_gemm"
_PRECISION = "bf16"


def peaks_of(gpus: Mapping[str, str], seconds: Mapping[str, Mapping[str, float]]) -> list[Reason]:
    """Return how near each model of GPU usually comes to its peak, given the models of nodes and all `seconds`."""
    found: dict[str, list[float]] = {}
    for part, took in seconds.get(_PRODUCT, {}).items():
        model = gpu_in(gpus.get(part.partition(" ")[0], ""))
        if model:
            found.setdefault(model, []).append(took)
    return [_peak(model, statistics.median(took)) for model, took in sorted(found.items())]


def _peak(model: str, seconds: float) -> Reason:
    # A product of n × n matrices takes n³ multiplications and as many additions.
    tflops = 2 * EDGE[0] ** 3 / seconds / 1e12
    values: dict[str, t.Any] = {
        "model": model.upper(),
        "tflops": tflops,
        "precision": _PRECISION.upper(),
        "probe": _PRODUCT,
    }
    peak = peak_tflops(model, _PRECISION)
    return (
        isolation_finding("peak", **values, share=tflops / peak)
        if peak
        else isolation_finding("peak", "unknown", **values)
    )
