# SPDX-License-Identifier: GPL-3.0-or-later
"""Which thresholds the worst node met and missed, and by how much."""

from __future__ import annotations

import typing as t

from ..contracts import Interval, JudgedBound, Quantity
from ..metrics import ROWS
from ..text.numbers import quantity_of, reads_like
from .reasons import FAIL, INCONCLUSIVE, PASS, Reasons
from .thresholds import is_met, margin_of, nearest_limit

if t.TYPE_CHECKING:
    from .seen import Seen

_OF_A_THRESHOLD = ("metric", "kind", "value", "tolerance_pct", "reference")


def judge_thresholds(seen: Seen, reasons: Reasons) -> None:
    """Note which thresholds were met by the worst node, which were missed, and what was not measured.

    The measured value decides; a note says where the threshold lies inside the interval of the value.
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
    """Return what the worst node measured, with all its digits where it would read like the limit that it is not."""
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
