# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a run is proven to be worse than the earlier runs of its kind, and how that reads."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ..contracts import Regression
from ..plan.config.words import counted
from .history_change import REAL
from .readable import LABELS, measured, percent, with_unit

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
        **{name: change[other] for name, other in (("value", "after"), ("before", "before"), ("percent", "percent"))},
        **{name: change[name] for name in ("runs", "low", "high")},
        "message": change_in_words(metric, change),
    }


def change_in_words(metric: str, change: Mapping[str, t.Any], than: str = "") -> str:
    """Return a change as a sentence without its full stop; ``than`` says what is compared with, the earlier runs if empty.

    ``change`` has the fields of `history_change.Change`.
    """
    than = than or f"the last {counted(change['runs'], 'run')} of this kind"
    by, after, before = change["percent"], with_unit(change["after"], metric), measured(change["before"], metric)
    if by is None:
        return f"{LABELS[metric]} {after} against {before} in {than}"
    higher = change["after"] > change["before"]
    if metric in ("tokens_per_sec_per_gpu", "tflops_per_gpu", "step_time_ms"):
        slower = higher == (metric == "step_time_ms")
        word = f"{percent(abs(by))} {'slower' if slower else 'faster'} than {than}"
    else:
        word = f"{LABELS[metric]} {percent(abs(by))} {'higher' if higher else 'lower'} than in {than}"
    return f"{word}: {after} against {before}"
