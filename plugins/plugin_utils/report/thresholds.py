# SPDX-License-Identifier: GPL-3.0-or-later
"""The thresholds of a run as rows of the page, and in words."""

from __future__ import annotations

import math
import typing as t

from ..contracts import JudgedBound, Summary
from ..text.nodes import folded
from ..text.numbers import times
from ..verdict.thresholds import nearest_limit
from .readable import exact, percent, scaled

Row = dict[str, t.Any]
# A factor is easier to read than a percentage from here on.
_TWICE = 2.0


def threshold_rows(summary: Summary) -> list[Row]:
    """Return a row per threshold of a summary: the bound as judged, with ``bound`` and ``margin`` in words.

    A positive margin is on the good side of the nearer limit; an empty one is unknown. ``lacking`` names the nodes
    without a value that alone keep the threshold from being met; it is empty where the value itself misses.
    """
    return [
        {
            **bound,
            "bound": limits_in_words(bound),
            "margin": margin_in_words(bound),
            "lacking": folded(bound["missing"]) if bound["met"] is False and not is_missed(bound) else "",
        }
        for bound in summary["thresholds"]
    ]


def limits_in_words(bound: JudgedBound) -> str:
    """Return the limits of a bound as judged, such as ``≥ 380``; of one without limits its value."""
    least, greatest, value = (scaled(bound.get(name), bound["metric"]) for name in ("least", "greatest", "value"))
    if least is not None and greatest is not None:
        return f"{exact(least)} – {exact(greatest)}"
    if least is not None:
        return f"≥ {exact(least)}"
    if greatest is not None:
        return f"≤ {exact(greatest)}"
    return exact(value) if isinstance(value, (int, float)) else ""


def margin_of(bound: JudgedBound) -> float | None:
    """Return the margin of a bound as judged in percent, positive on the good side of the nearer limit."""
    measured = bound["measured"]
    if measured is None or not math.isfinite(measured):
        return None
    margins = [
        (measured - limit) / abs(limit) * sign
        for limit, sign in ((bound["least"], 100), (bound["greatest"], -100))
        if limit
    ]
    return min(margins, default=None)


def margin_in_words(bound: JudgedBound, *, signed: bool = True) -> str:
    """Return the margin of a bound as judged, such as ``+2.9 %``; from twice the limit on, ``575 times``.

    Empty where there is none.
    """
    margin, limit = margin_of(bound), nearest_limit(bound)
    if margin is None:
        return ""
    factor = (bound["measured"] or 0.0) / limit if limit else 0.0
    return times(factor) if factor >= _TWICE else percent(margin, signed=signed)


def missed_bounds(summary: Summary) -> list[JudgedBound]:
    """Return the thresholds that were measured and missed, if thresholds were judged."""
    return [bound for bound in summary["thresholds"] if summary["thresholds_judged"] and is_missed(bound)]


def is_missed(bound: JudgedBound) -> bool:
    """Return whether what was measured misses a threshold; one that a node lacks a value for is not met either."""
    margin = margin_of(bound)
    return bound["met"] is False and bound["measured"] is not None and (margin is None or margin < 0)


def required(bound: JudgedBound) -> str:
    """Return what a threshold asks for in short, and the margin, such as ``required ≥ 9,000 · +2.9 %``."""
    word = "allowed" if bound["least"] is None else "required"
    return " · ".join(filter(None, [f"{word} {limits_in_words(bound)}", margin_in_words(bound)]))
