# SPDX-License-Identifier: GPL-3.0-or-later
"""What probes measure: the names of their readings, and how near GPUs come to their peak."""

from __future__ import annotations

import statistics
import typing as t
from collections.abc import Iterable, Mapping

from ...module_utils.node.probes.known import PROBES, Probe
from ...module_utils.node.probes.torch.script import EDGE
from ..contracts import Reason
from ..plan.job.peak_tflops import gpu_in, peak_tflops
from ..text.isolation import isolation_finding

OF_SCALE = tuple(reading for probe in PROBES.values() for reading in probe.of_any_size)
OF_GPUS = frozenset(probe.name for probe in PROBES.values() if probe.of_gpus)


def readings_of(probe: Probe, units: Iterable[str]) -> set[str]:
    """Return the names of all readings of a probe, given the units that it measures."""
    return {probe.reading, *probe.more_readings, *(probe.reading.format(unit=unit) for unit in units)}


def one_way_readings_of(probe: Probe, units: Iterable[str]) -> set[str]:
    """Return the names of those readings of a probe that are of one direction between two nodes."""
    return {name.format(unit=unit) for name in probe.one_way for unit in (*units, "")}


def probe_of(reading: str) -> str:
    """Return the name of the probe that has a reading of this name; empty if there is none."""
    unit = reading.partition(" ")[2]
    return next((probe.name for probe in PROBES.values() if reading in readings_of(probe, [unit])), "")


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
