# SPDX-License-Identifier: GPL-3.0-or-later
"""The thresholds of a run as rows of the page, and in words."""

from __future__ import annotations

import typing as t

from ..contracts import JudgedBound, Summary
from ..text.bounds import asked, margin_in_words
from ..text.nodes import folded
from ..verdict.thresholds import is_met, margin_of
from .readable import exact, scaled

Row = dict[str, t.Any]


def threshold_rows(summary: Summary) -> list[Row]:
    """Return a row per threshold of a summary: the bound as judged, with ``bound`` and ``margin`` in words.

    An empty margin is unknown. ``lacking`` lists nodes without a value, if only they keep the threshold from being met;
    it is empty if the value itself misses the threshold.
    """
    return [
        {
            **bound,
            "bound": limits_in_words(bound),
            "margin": margin(bound),
            "lacking": folded(bound["missing"]) if bound["met"] is False and not is_missed(bound) else "",
        }
        for bound in summary["thresholds"]
    ]


def limits_in_words(bound: JudgedBound) -> str:
    """Return the limits of a judged bound, such as ``≥ 380``; without limits, its value."""
    least, greatest, value = (scaled(bound.get(name), bound["metric"]) for name in ("least", "greatest", "value"))
    if least is not None and greatest is not None:
        return f"{exact(least)} – {exact(greatest)}"
    if least is not None:
        return f"≥ {exact(least)}"
    if greatest is not None:
        return f"≤ {exact(greatest)}"
    return exact(value) if isinstance(value, (int, float)) else ""


def margin(bound: JudgedBound) -> str:
    """Return the margin of a judged bound, such as ``2.9 % above`` or ``575 times``; empty without one."""
    found = margin_of(bound)
    return margin_in_words(found) if found else ""


def missed_bounds(summary: Summary) -> list[JudgedBound]:
    """Return the thresholds that were measured and missed, if thresholds were judged."""
    return [bound for bound in summary["thresholds"] if summary["thresholds_judged"] and is_missed(bound)]


def is_missed(bound: JudgedBound) -> bool:
    """Return whether the measured value misses a threshold, rather than a node lacking a value."""
    value = bound["measured"]
    return bound["met"] is False and value is not None and not is_met(value, bound["least"], bound["greatest"])


def required(bound: JudgedBound) -> str:
    """Return a threshold's requirement in short, after the margin: ``2.9 % above the required 9,000``."""
    found = margin(bound)
    word = "allowed" if bound["least"] is None else "required"
    return f"{found} {asked(bound)}" if found else f"{word} {limits_in_words(bound)}"
