# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a run is proven to be worse than the earlier runs of its kind, and how that reads."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ..contracts import Regression
from ..metrics import LABELS, SPEEDS
from ..text.comparison import CHANGES, EARLIER_RUNS
from ..text.sentences import filled
from .history import REAL
from .readable import measured, percent, with_unit

# Smaller changes would read 0 %.
_LEAST_PERCENT = 0.005
# If several metrics became worse, a reader wants these first.
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
        "code": "regression",
        "case": case_of(metric, change),
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
    """Return the metric that best tells two runs apart, if possible the first metric of speed."""
    known = [metric for metric in dict.fromkeys((*_FIRST, *changes)) if metric in changes]
    return next((metric for metric in known if changes[metric]["before"] is not None), None)


def change_in_words(metric: str, change: Mapping[str, t.Any], than: str = "") -> str:
    """Return a change as a sentence without its full stop.

    ``change`` has the fields of `history.Change`; ``than`` is the other side of the comparison, the earlier runs if
    empty.
    """
    by = change["percent"]
    values = {
        "metric": LABELS[metric],
        "size": "" if by is None else percent(abs(by)),
        "after": with_unit(change["after"], metric),
        "before": measured(change["before"], metric),
        "than": than or filled(EARLIER_RUNS, {"runs": change["runs"]}),
    }
    return filled(CHANGES[case_of(metric, change)].one, values)


def case_of(metric: str, change: Mapping[str, t.Any]) -> str:
    """Return which of `CHANGES` a change is."""
    by, higher = change["percent"], change["after"] > change["before"]
    if by is None:
        return "from_nothing"
    is_nothing = abs(by) < _LEAST_PERCENT
    if metric in SPEEDS:
        slower = higher == (metric == "step_time_ms")
        return "as_fast" if is_nothing else "slower" if slower else "faster"
    return "same" if is_nothing else "higher" if higher else "lower"
