# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a run is proven to be worse than the earlier runs of its kind, and how that reads."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ..contracts import Regression
from ..metrics import LABELS, SPEEDS
from ..text.words import counted
from .history_change import NOISE, REAL
from .readable import measured, percent, with_unit

# What a reader wants to hear first, if several metrics became worse.
_FIRST = ("tokens_per_sec_per_gpu", "step_time_ms", "tflops_per_gpu", "mfu")


def regression_of(history: Mapping[str, t.Any]) -> Regression | None:
    """Return the metric that is proven to be worse than in earlier runs of the same kind; None if none is."""
    changes = history.get("comparison", {})
    worse = [
        metric
        for metric in dict.fromkeys((*_FIRST, *changes))
        if metric in changes and changes[metric]["outcome"] == REAL and changes[metric]["better"] is False
    ]
    if not worse:
        return None
    metric, change = worse[0], changes[worse[0]]
    return {
        "metric": metric,
        "value": change["after"],
        "before": change["before"],
        "percent": change["percent"],
        "runs": change["runs"],
        "low": change["low"],
        "high": change["high"],
        "message": change_in_words(metric, change),
    }


def telling_metric(changes: Mapping[str, Mapping[str, t.Any]]) -> str | None:
    """Return the metric by which two runs are best told apart, the first of the speed where there is one."""
    known = [metric for metric in dict.fromkeys((*_FIRST, *changes)) if metric in changes]
    return next((metric for metric in known if changes[metric]["before"] is not None), None)


def outcome_in_words(change: Mapping[str, t.Any]) -> str:
    """Return whether a change is real, as a sentence."""
    if change["outcome"] == REAL:
        return "This is a real change, not noise."
    if change["outcome"] == NOISE:
        return "This is within noise."
    return f"Whether that is real is unknown: {change['test']}."


def change_in_words(metric: str, change: Mapping[str, t.Any], than: str = "") -> str:
    """Return a change as a sentence without its full stop.

    ``change`` has the fields of `history_change.Change`; ``than`` is what is compared with, the earlier runs if empty.
    """
    than = than or f"the last {counted(change['runs'], 'run')} of this kind"
    by, after, before = change["percent"], with_unit(change["after"], metric), measured(change["before"], metric)
    if by is None:
        return f"{LABELS[metric]} {after} against {before} in {than}"
    higher, size = change["after"] > change["before"], percent(abs(by))
    if metric in SPEEDS:
        slower = higher == (metric == "step_time_ms")
        word = f"{size} {'slower' if slower else 'faster'} than {than}" if size != "0 %" else f"as fast as {than}"
    elif size == "0 %":
        word = f"{LABELS[metric]} as in {than}"
    else:
        word = f"{LABELS[metric]} {size} {'higher' if higher else 'lower'} than in {than}"
    return f"{word}: {after} against {before}"
