# SPDX-License-Identifier: GPL-3.0-or-later
"""Bounds against measured values: each on the worst node, so that no slow node hides behind the others."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Mapping, Sequence

from ...module_utils.logs.record import ALL_METRICS
from ..contracts import Bound, Interval, JudgedBound, Margin, MetricOfRun, Quantity, Statistics
from ..metrics import ROWS
from ..plan.job.thresholds import limits
from ..text.numbers import quantity_of, reads_like
from .reasons import FAIL, INCONCLUSIVE, PASS, Reasons

if t.TYPE_CHECKING:
    from .seen import Seen


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

    Added to each bound are ``least`` and ``greatest`` (its limits, None for an open side), ``measured`` and ``node``
    (the worst value and its node), that node's ``statistic``, ``interval``, ``samples``, ``first_step`` and
    ``last_step``, ``missing`` (the nodes with steps that did not measure it), ``within_noise`` (whether a limit lies
    inside the interval) and ``met`` (None for an info, and for an optional metric that nobody measured).
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
    """Return a node's value of a bound's metric, its limits there, and how far within them it is."""
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

    They are None without a bound. An expected metric that was not measured is included, with ``value`` None.
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


_OF_A_THRESHOLD = ("metric", "kind", "value", "tolerance_pct", "reference")


def judge_thresholds(seen: Seen, reasons: Reasons) -> None:
    """Note which thresholds the worst node met or missed, and which metrics were not measured.

    The measured value decides; a note says if the threshold lies inside its interval.
    """
    for bound in seen.bounds:
        metric, measured = bound["metric"], bound["measured"]
        if bound["kind"] == "info":
            continue
        for node in () if bound["optional"] else bound["missing"]:
            threshold = {name: bound[name] for name in _OF_A_THRESHOLD if name in bound}  # type: ignore[literal-required]
            reasons.argue(
                INCONCLUSIVE, "metric_missing", node, case=ROWS[metric].needs or "", metric=metric, threshold=threshold
            )
        if measured is None:
            if bound["optional"]:
                reasons.remark("metric_missing", case="optional", metric=metric)
            continue
        case = metric if ROWS[metric].did else ""
        values = {"value": _value(bound), "margin": margin_of(bound), "bound": bound}
        if is_met(measured, bound["least"], bound["greatest"]):
            reasons.argue(PASS, "threshold_met", case=case, **values)
        elif bound["statistic"] == "last" and not seen.reached.finished:
            reasons.argue(INCONCLUSIVE, "threshold_open", case=case, **values)
        else:
            reasons.argue(FAIL, "threshold_missed", case=case, **values)
        if bound["within_noise"]:
            _note_noise(bound, reasons)
    if seen.plan["record_only"]:
        reasons.argue(PASS, "thresholds_not_judged", case="rehearsal" if seen.plan.get("rehearsal") else "record_only")


def _value(bound: JudgedBound) -> Quantity:
    """Return the worst node's value, with all its digits if rounding would make it look like the limit."""
    metric, value, limit = bound["metric"], t.cast(float, bound["measured"]), nearest_limit(bound)
    if limit is not None and reads_like(metric, value, limit):
        return quantity_of(metric, value, exact=True)
    return quantity_of(metric, value, _uncertainty(bound["interval"]))


def _note_noise(bound: JudgedBound, reasons: Reasons) -> None:
    metric, interval = bound["metric"], t.cast(Interval, bound["interval"])
    measured, limit = t.cast(float, bound["measured"]), t.cast(float, nearest_limit(bound))
    low, value, high = (
        quantity_of(metric, one, _uncertainty(interval)) for one in (interval["low"], measured, interval["high"])
    )
    values = {"metric": metric, "value": value, "limit": quantity_of(metric, limit, exact=True)}
    case = "met" if bound["met"] else "missed"
    reasons.remark("threshold_in_noise", bound["node"], case=case, **values, low=low, high=high)


def _uncertainty(interval: Interval | None) -> float:
    return (interval["high"] - interval["low"]) / 2 if interval else 0.0
