# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's wall clock that was set while it trained: a fault of neither the training nor its log.

The launch script also reads the monotonic clock, which nobody sets. The two then disagree on how long the training ran.
"""

from __future__ import annotations

import typing as t

import numpy as np

from ..contracts import Status
from .reasons import Reasons

if t.TYPE_CHECKING:
    import pandas as pd

    from .seen import Seen

# A training cannot end earlier than it ran; the start of a container comes on top.
_BACK_SECONDS, _AHEAD_SECONDS = 2.0, 60.0
# Trainers subtract two readings of the clock.
_TIMED = ("step_time_ms", "tokens_per_sec_per_gpu", "tflops_per_gpu", "sequences_per_sec")


def moved_seconds(status: Status) -> float:
    """Return by how many seconds a node's wall clock was set ahead, or back if below 0; 0 if it was not, or not known.

    If it was set back to before the start, this is only a part.
    """
    ran, by_clock = status["process"]["ran_seconds"], status["process"]["clock_seconds"]
    if ran is None or by_clock is None or -_BACK_SECONDS <= by_clock - ran <= _AHEAD_SECONDS:
        return 0.0
    return by_clock - ran


def without_moved_clocks(
    statuses: list[Status], steps: pd.DataFrame, records: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the frames without the wrong values of nodes whose clock was set.

    These are their timestamps, and the times and rates of the one step in which it was set back, if below zero.
    More such steps cannot come from the clock.
    """
    moved = {status["node"]: seconds for status in statuses if (seconds := moved_seconds(status))}
    if not moved or steps.empty:
        return steps, records
    steps = steps.copy()
    timed = [name for name in _TIMED if name in steps]
    if "clock" in steps:
        steps.loc[steps["node"].isin(moved), "clock"] = np.nan
    for node, seconds in moved.items():
        wrong = (steps["node"] == node) & (steps[timed] < 0).any(axis=1)
        if seconds < 0 and wrong.sum() == 1:
            step = steps.loc[wrong, "step"].iloc[0]
            steps.loc[wrong, timed] = np.nan
            of_step = (records["node"] == node) & (records["step"] == step) & records["metric"].isin(timed)
            records = records[~of_step]
    return steps, records


def note_moved_clock(seen: Seen, reasons: Reasons) -> None:
    """Note the nodes whose clock was set while they trained."""
    for status in seen.statuses:
        seconds = moved_seconds(status)
        if seconds:
            case = "ahead" if seconds > 0 else "back"
            ran, by_clock = (status["process"][name] for name in ("ran_seconds", "clock_seconds"))
            reasons.remark("clock_moved", status["node"], case=case, ran=ran, by_clock=by_clock)
