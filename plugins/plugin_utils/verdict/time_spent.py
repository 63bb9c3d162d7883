# SPDX-License-Identifier: GPL-3.0-or-later
"""The time really spent: the median of the steps leaves out occasional pauses and the time between steps."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

import numpy as np

from ..contracts import Pause, StepLevel, TimeSpent
from .levels import levels_of

if t.TYPE_CHECKING:
    import pandas as pd

# Time stamps of whole seconds are off by this much over a span.
_STAMP_SECONDS = 1.0


def times_spent(attempts: Mapping[str, pd.DataFrame], *, bars: bool) -> dict[str, TimeSpent]:
    """Return the time that was spent, by node that says so; bars tell a mean already."""
    found: dict[str, TimeSpent] = {}
    for node, rows in attempts.items():
        if "step_time_ms" not in rows:
            continue
        counted = rows.loc[rows["counted"] & np.isfinite(rows["step_time_ms"])]
        times = counted["step_time_ms"].to_numpy()
        if times.size < 2:
            continue
        found[node] = {
            "median": float(np.median(times)),
            "mean": float(times.mean()),
            "wall_clock": _wall_clock(counted),
            "drift": _slower(_between(counted) if bars else times),
            "pause": _longest_pause(counted),
            # Bars show a mean of all steps so far.
            "levels": [] if bars else _levels(times),
        }
    return found


def _levels(times: np.ndarray) -> list[StepLevel]:
    found = levels_of(times)
    both = ((found.low, found.lows), (found.high, found.highs)) if found else ()
    return [{"step_time_ms": time, "steps": steps} for time, steps in both]


def _longest_pause(counted: pd.DataFrame) -> Pause | None:
    """Return the longest time between two stamped lines in a row beyond that of their steps."""
    if "clock" not in counted:
        return None
    stamped = counted.loc[np.isfinite(counted["clock"]), ["step", "clock", "step_time_ms"]].drop_duplicates("step")
    if len(stamped) < 2:
        return None
    step, clock, time = (stamped[name].to_numpy(float) for name in ("step", "clock", "step_time_ms"))
    pauses = np.diff(clock) - np.diff(step) * time[1:] / 1000.0
    place = int(np.argmax(pauses))
    return {"seconds": max(0.0, float(pauses[place])), "after_step": int(step[place])}


def _slower(times: np.ndarray) -> float:
    """Return how much slower the last fifth is than those before, as a fraction."""
    end = max(1, times.size // 5)
    before = float(np.median(times[:-end]))
    return float(np.median(times[-end:])) / before - 1 if before else 0.0


def _between(counted: pd.DataFrame) -> np.ndarray:
    """Return the step times (ms) by the timestamps of bars, whose own step times are the mean of all steps so far."""
    if "clock" not in counted:
        return np.zeros(2)
    stamped = counted.loc[np.isfinite(counted["clock"]), ["step", "clock"]].drop_duplicates("step")
    times = 1000.0 * (stamped["clock"].diff() / stamped["step"].diff()).to_numpy(float)[1:]
    return times if times.size > 1 and np.median(times) > 10_000.0 * _STAMP_SECONDS else np.zeros(2)


def _wall_clock(counted: pd.DataFrame) -> float | None:
    if "clock" not in counted:
        return None
    stamped = counted.loc[np.isfinite(counted["clock"]), ["step", "clock"]]
    taken = float(stamped["step"].max() - stamped["step"].min()) if len(stamped) > 1 else 0.0
    span = float(stamped["clock"].iloc[-1] - stamped["clock"].iloc[0]) if taken else 0.0
    # Stamps are of whole seconds: a short span says nothing.
    return 1000.0 * span / taken if span > 10 * _STAMP_SECONDS else None
