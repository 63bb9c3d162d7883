# SPDX-License-Identifier: GPL-3.0-or-later
"""What GPUs of known models can reach, by their makers' figures: usual shares, floors, and impossible readings.

All nodes may be slow alike, and no comparison among them shows that. So a healthy GPU has to reach a share of its
maker's peak, which is far below what such GPUs reach, because drivers and libraries differ.
"""

from __future__ import annotations

import math
import statistics
import typing as t
from collections.abc import Callable, Mapping, Sequence

from typing_extensions import TypedDict

from ...module_utils.node.probes.known import PROBES
from ...module_utils.node.probes.torch.script import COPIED, EDGE
from ..contracts import Reason
from ..plan.job.peaks import MEMORY_GB_PER_S, gpu_in, peak_tflops
from ..text.isolation import isolation_finding
from .measured import Measured
from .readings import probe_of

_PRECISION = "bf16"
# Clocks and makers' figures are right to a few percent.
_MOST = 1.05
# Times for other amounts of data than a test moves may exceed its limit, but not so many times.
_LONGEST = 100


class Bounded(t.NamedTuple):
    """A reading with a peak: its unit, the ``work`` of a test in units times seconds, and the peak of a model.

    A healthy GPU reaches at least the share ``least`` of the peak; some models reach less, and have their own (``of``).
    """

    unit: str
    work: float
    peak: Callable[[str], float | None]
    least: float
    of: Mapping[str, float] = {}

    def share_of(self, model: str) -> float:
        """Return the share of its peak that a healthy GPU of a model reaches at least."""
        return self.of.get(model, self.least)


def _products(model: str) -> float | None:
    return peak_tflops(model, _PRECISION)


# A product of n × n matrices takes n³ multiplications and as many additions. AMD's GPUs do not keep their highest clock
# in products, and a card for PCIe has half of the power of a module.
_PRODUCT = Bounded(
    "TFLOP/s",
    2 * EDGE[0] ** 3 / 1e12,
    _products,
    0.5,
    {
        **dict.fromkeys(("mi300x", "mi325x"), 0.35),
        **dict.fromkeys(("mi210", "mi250", "mi250x", "mi350x", "mi355x", "h100pcie"), 0.4),
    },
)
BOUNDED: dict[str, Bounded] = {
    "torch_gemm": _PRODUCT,
    "torch_gemm_under_load": _PRODUCT,
    # A copy reads and writes each byte. An A100 with 40 GB has three quarters of the peak in the table.
    "torch_memory": Bounded("GB/s", 2 * COPIED[0] / 1e9, MEMORY_GB_PER_S.get, 0.6, {"a100": 0.45}),
}
_USUAL = "torch_gemm"


class BelowFloor(TypedDict):
    """Nodes with a GPU below the floor of its model, of so many nodes with that model that were measured.

    ``rate`` is the median of their slowest GPUs in a unit, ``share`` its fraction of the maker's peak, and ``least``
    the fraction that a healthy one reaches.
    """

    model: str
    probe: str
    nodes: list[str]
    of: int
    rate: float
    unit: str
    share: float
    least: float


def peaks_of(gpus: Mapping[str, str], seconds: Mapping[str, Mapping[str, float]]) -> list[Reason]:
    """Return how near each model of GPU usually comes to its peak, given the models of nodes and all `seconds`."""
    found: dict[str, list[float]] = {}
    for part, took in seconds.get(_USUAL, {}).items():
        model = gpu_in(gpus.get(part.partition(" ")[0], ""))
        if model:
            found.setdefault(model, []).append(took)
    return [_usual(model, statistics.median(took)) for model, took in sorted(found.items())]


def _usual(model: str, seconds: float) -> Reason:
    bounded = BOUNDED[_USUAL]
    rate, peak = bounded.work / seconds, bounded.peak(model)
    values: dict[str, t.Any] = {
        "model": model.upper(),
        "tflops": rate,
        "precision": _PRECISION.upper(),
        "probe": _USUAL,
    }
    return (
        isolation_finding("peak", **values, share=rate / peak)
        if peak
        else isolation_finding("peak", "unknown", **values)
    )


def below_floor(measured: Sequence[Measured], gpus: Mapping[str, str]) -> list[BelowFloor]:
    """Return the nodes below the floors of their models in the sweep, given the names of the nodes' GPUs."""
    rates: dict[tuple[str, str], dict[str, float]] = {}
    for one in measured:
        if one.stage == "sweep" and (known := _model_of(one, gpus)):
            of_nodes, node = rates.setdefault((known, one.probe), {}), one.nodes[0]
            of_nodes[node] = min(_rate(one), of_nodes.get(node, math.inf))
    found: list[BelowFloor] = []
    for (model, probe), of_nodes in rates.items():
        bounded = BOUNDED[probe]
        least, peak = bounded.share_of(model), bounded.peak(model) or math.inf
        slow = {node: rate for node, rate in of_nodes.items() if rate < least * peak}
        if slow:
            rate = statistics.median(slow.values())
            found.append(
                {
                    "model": model.upper(),
                    "probe": probe,
                    "nodes": list(slow),
                    "of": len(of_nodes),
                    "rate": rate,
                    "unit": bounded.unit,
                    "share": rate / peak,
                    "least": least,
                }
            )
    return found


def believable(measured: Sequence[Measured], gpus: Mapping[str, str]) -> tuple[list[Measured], list[Reason]]:
    """Return the measurements, and the impossible ones; a part of a node with an impossible reading loses the others.

    A reading is impossible if it is faster than the maker's peak, or takes many times as long as its test may.
    """
    said: dict[tuple[str, str], Reason] = {}
    for one in measured:
        if len(one.nodes) == 1 and one.samples and (found := _impossible(one, gpus)):
            said.setdefault((one.nodes[0], one.part), found)
    return [one for one in measured if len(one.nodes) > 1 or (one.nodes[0], one.part) not in said], list(said.values())


def _impossible(one: Measured, gpus: Mapping[str, str]) -> Reason | None:
    of: dict[str, t.Any] = {"part": one.part, "probe": one.probe}
    model = _model_of(one, gpus)
    peak = BOUNDED[one.probe].peak(model) if model else None
    if model and peak and (rate := _rate(one)) > _MOST * peak:
        values = {"model": model.upper(), "rate": rate, "peak": peak, "unit": BOUNDED[one.probe].unit}
        return isolation_finding("impossible", "above_peak", one.nodes[0], **of, **values)
    probe = probe_of(one.probe)
    if probe and max(one.samples) > _LONGEST * (limit := PROBES[probe].seconds):
        times = {"seconds": max(one.samples), "limit": limit}
        return isolation_finding("impossible", "too_long", one.nodes[0], **of, **times)
    return None


def _model_of(one: Measured, gpus: Mapping[str, str]) -> str | None:
    """Return the model of a GPU that was measured, if its maker's figures bound that reading."""
    bounded = BOUNDED.get(one.probe)
    of_gpu = bounded and one.samples and len(one.nodes) == 1 and one.part.startswith("GPU ")
    model = gpu_in(gpus.get(one.nodes[0], "")) if of_gpu else None
    return model if bounded and model and bounded.peak(model) else None


def _rate(one: Measured) -> float:
    return BOUNDED[one.probe].work / statistics.median(one.samples)
