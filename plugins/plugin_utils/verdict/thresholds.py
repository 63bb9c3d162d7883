# SPDX-License-Identifier: GPL-3.0-or-later
"""Bounds against measured values: each on the worst node, so that no slow node hides behind the others."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Mapping, Sequence

from ...module_utils.logs.record import ALL_METRICS
from ..contracts import Bound, JudgedBound, Margin, MetricOfRun, Statistics
from ..plan.job.thresholds import limits


def is_met(value: float, least: float | None, greatest: float | None) -> bool:
    """Return whether a value is within its limits, None being an open side."""
    return (least is None or value >= least) and (greatest is None or value <= greatest)


def nearest_limit(bound: JudgedBound) -> float | None:
    """Return the limit of a judged bound that its value is nearest to, or has passed furthest; None without one."""
    value, sides = bound["measured"], [side for side in (bound["least"], bound["greatest"]) if side is not None]
    return min(sides, key=lambda side: abs(side - (value or 0.0)), default=None)


def margin_of(bound: JudgedBound) -> Margin | None:
    """Return how far the value of a judged bound is from its limit, or from the middle of two; None where that is 0."""
    value, least, greatest = bound["measured"], bound["least"], bound["greatest"]
    against = bound["value"] if bound["kind"] == "within" else greatest if least is None else least
    if value is None or not math.isfinite(value) or not against:
        return None
    off = (value - against) / abs(against)
    return {"share": abs(off), "side": "above" if off > 0 else "below", "met": is_met(value, least, greatest)}


def judge_bounds(expected: Sequence[Bound], by_node: Mapping[str, Mapping[str, Statistics]]) -> list[JudgedBound]:
    """Return the bounds of a plan as judged, in their order.

    To the bound itself come ``least`` and ``greatest`` (its limits, None for an open side), ``measured`` and ``node``
    (the worst value, and where), ``statistic``, ``interval``, ``samples``, ``first_step`` and ``last_step`` of that
    node, ``missing`` (the nodes with steps that did not measure it), ``within_noise`` (whether a limit lies inside the
    interval) and ``met``: None for an info, and for an optional metric that nobody measured.
    """
    return [_judged(bound, by_node) for bound in expected]


def _judged(bound: Bound, by_node: Mapping[str, Mapping[str, Statistics]]) -> JudgedBound:
    metric = bound["metric"]
    cells = {node: _cell(bound, found) for node, found in by_node.items() if metric in found}
    measured = {node: cell for node, cell in cells.items() if cell["measured"] is not None and cell["known"]}
    missing = [node for node in by_node if node not in measured]
    optional = bool(bound.get("optional"))
    judged: dict[str, t.Any] = {**bound, "optional": optional, "missing": missing}
    if not measured:
        least, greatest = limits(bound)
        nothing = dict.fromkeys(("measured", "node", "statistic", "interval", "first_step", "last_step"))
        met = None if optional or bound["kind"] == "info" else False
        judged |= {**nothing, "samples": 0, "least": least, "greatest": greatest, "met": met, "within_noise": False}
        return t.cast("JudgedBound", judged)
    node = min(measured, key=lambda name: measured[name]["margin"])
    worst = measured[node]
    met = is_met(worst["measured"], worst["least"], worst["greatest"]) and (not missing or optional)
    interval, limits_there = worst["interval"], (worst["least"], worst["greatest"])
    judged["within_noise"] = bound["kind"] != "info" and any(
        interval["low"] <= limit <= interval["high"] and interval["low"] < interval["high"]
        for limit in limits_there
        if interval and limit is not None
    )
    values = {name: value for name, value in worst.items() if name not in ("margin", "known")}
    return t.cast("JudgedBound", {**judged, **values, "node": node, "met": None if bound["kind"] == "info" else met})


def _cell(bound: Bound, found: Mapping[str, Statistics]) -> dict[str, t.Any]:
    """Return what a node measured of a bound's metric, its limits there, and how far within them it is."""
    own = found[bound["metric"]]
    statistic = bound.get("statistic", own["statistic"])
    value = own["value"] if statistic == own["statistic"] else t.cast("Mapping[str, float]", own)[statistic]
    reference = bound.get("reference")
    of = found[reference]["value"] if isinstance(reference, str) and reference in found else None
    least, greatest = limits(bound, of)
    sides = [value - least] if least is not None else []
    sides += [greatest - value] if greatest is not None else []
    return {
        "measured": value,
        "statistic": statistic,
        "interval": {"median": own["interval"], "mean": own["mean_interval"]}.get(statistic),
        "samples": own["samples"],
        "first_step": own["first_step"],
        "last_step": own["last_step"],
        "least": least,
        "greatest": greatest,
        "margin": min(sides, default=0.0),
        "known": not isinstance(reference, str) or of is not None,
    }


def with_thresholds(metrics: Mapping[str, Statistics], judged: Sequence[JudgedBound]) -> dict[str, MetricOfRun]:
    """Return the metrics of a run with their unit, and ``threshold``, ``direction`` and ``met`` of the first bound.

    These are None without one. A metric that is expected and was not measured is there as well, with ``value`` None.
    """
    first: dict[str, JudgedBound] = {}
    for candidate in judged:
        if candidate["kind"] != "info":
            first.setdefault(candidate["metric"], candidate)
    shown: dict[str, MetricOfRun] = {}
    for metric in [*metrics, *(metric for metric in first if metric not in metrics)]:
        bound = first.get(metric)
        found = {
            "unit": ALL_METRICS[metric].unit,
            **(metrics.get(metric) or {"value": None, "samples": 0}),
            "threshold": bound and bound["value"],
            "direction": bound and bound["kind"],
            "met": bound and bound["met"],
        }
        shown[metric] = t.cast("MetricOfRun", found)
    return shown
