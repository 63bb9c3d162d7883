# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the time really spent meets the thresholds, too, and whether the steps keep their pace."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Mapping
from operator import lt

import numpy as np

from ..contracts import JudgedBound, Pause, StepLevel, TimeSpent
from .intervals import levels_of
from .reasons import INCONCLUSIVE, Reasons
from .statistics import samples_of
from .thresholds import is_met

if t.TYPE_CHECKING:
    from .frame import Rows
    from .seen import Seen


# How far the mean may be from the median.
_OFF = 0.1
# A last fifth of at least three steps that is slower than the rest by more than this is not noise.
_SLOWER, _LEAST_STEPS = 0.25, 15
# A rate that falls evenly by 5 % differs by 4 % between the first and the last fifth of the steps.
_STEADILY, _LEAST_OF_FIFTHS = 0.035, 25
# No checkpoint or evaluation of a run takes longer than this and longer than all its steps. Clocks that are set forward
# in spring skip an hour.
_HOLE_SECONDS = 5400.0
# How far the sum of printed (rounded) step times may exceed the time that the node measured.
_ROUNDED, _LEAST_LONGER = 0.02, 0.5
_TIME = "step_time_ms"
_RATES = ("tflops_per_gpu", "tokens_per_sec_per_gpu")


def judge_time(seen: Seen, reasons: Reasons) -> None:
    """Note where the mean or the wall clock is above the judged median, unless it meets the thresholds as well.

    The same goes for a pause that is longer than all steps together, and for a last fifth of the steps that is slower
    than the rest. A slower last fifth is also noted without thresholds, except in a rehearsal, whose machine does other
    work. Steps that slow down steadily by a few percent are a note.
    """
    for node, time in seen.times.items():
        steps = samples_of(seen.by_node.get(node, {}))
        if not seen.plan.get("rehearsal"):
            _judge_drift(node, time, steps, seen.bounds, reasons)
            if time["drift"] <= _SLOWER and (slower := _steadily_slower(seen.attempts[node])):
                reasons.remark("slows_down", node, case="steadily", drift=slower)
        # With all pauses between the steps, if timestamps show them.
        really = max(time["mean"], time["wall_clock"] or 0.0)
        if not time["median"] > 0 or really <= (1 + _OFF) * time["median"]:
            continue
        share = really / time["median"]
        times = t.cast("dict[str, t.Any]", time)
        between = "_and_pauses" if time["wall_clock"] else ""
        missed = list(dict.fromkeys(bound["metric"] for bound in seen.bounds if _is_missed(bound, share)))
        if missed:
            reasons.argue(INCONCLUSIVE, "pauses", node, case=f"missed_by_mean{between}", metrics=missed, **times)
        elif _hole(time, steps):
            reasons.argue(INCONCLUSIVE, "pauses", node, case="paused", steps=steps, **times)
        else:
            reasons.remark("pauses", node, case=f"longer_mean{between}", **times)
    _note_levels(seen, reasons)


def judge_claimed_time(seen: Seen, reasons: Reasons) -> None:
    """Note a node whose counted steps took longer, by their own times, than its training ran by the node's clock.

    A line may have the mean time of several steps. The launch script reads a clock that nobody sets, so the step times
    and rates of such a log are not from this run. Logs that nobody followed have no such record.
    """
    for status in seen.statuses:
        rows, ran = seen.attempts.get(status["node"]), status["process"]["ran_seconds"]
        if rows is None or ran is None or _TIME not in rows:
            continue
        times = rows[_TIME][rows["counted"]]
        claimed = seen.steps_per_line * float(times[times > 0].sum()) / 1000.0
        if math.isfinite(claimed) and claimed > ran * (1 + _ROUNDED) + _LEAST_LONGER:
            steps = seen.steps_per_line * int((times > 0).sum())
            reasons.argue(INCONCLUSIVE, "longer_than_run", status["node"], claimed=claimed, ran=ran, steps=steps)


def _note_levels(seen: Seen, reasons: Reasons) -> None:
    """Note once which nodes have step times at two levels; in one job all nodes have the same levels."""
    found = {node: time["levels"] for node, time in seen.times.items() if time["levels"]}
    if not found:
        return
    node, case = (next(iter(found)), "") if len(found) == 1 else (None, "several")
    reasons.remark("two_levels", node, case=case, nodes=list(found), levels=next(iter(found.values())))


def _hole(time: TimeSpent, steps: int) -> Pause | None:
    """Return the longest pause, if no checkpoint or evaluation takes as long."""
    pause = time["pause"]
    return pause if pause and pause["seconds"] > max(_HOLE_SECONDS, steps * time["mean"] / 1000.0) else None


def _judge_drift(node: str, time: TimeSpent, steps: int, bounds: list[JudgedBound], reasons: Reasons) -> None:
    if time["drift"] <= _SLOWER or steps < _LEAST_STEPS:
        return
    judged = [bound for bound in bounds if bound["metric"] in (_TIME, *_RATES) and bound["kind"] != "info"]
    if judged and not any(_is_missed(bound, 1 + time["drift"]) for bound in judged):
        return
    reasons.argue(INCONCLUSIVE, "slows_down", node, drift=time["drift"])


def _steadily_slower(rows: Rows) -> float:
    """Return how much slower (a share) the last fifth of the steps is than the first, if each fifth is slower, or 0."""
    times = rows.counted(_TIME)[_TIME]
    if times.size < _LEAST_OF_FIFTHS:
        return 0.0
    medians = [float(np.median(fifth)) for fifth in np.array_split(times, 5)]
    share = medians[-1] / medians[0] - 1 if medians[0] > 0 else 0.0
    return share if share >= _STEADILY and all(map(lt, medians, medians[1:])) else 0.0


def _is_missed(bound: JudgedBound, share: float) -> bool:
    measured = bound["measured"]
    if bound["kind"] == "info" or measured is None or bound["statistic"] != "median":
        return False
    if bound["metric"] == _TIME:
        return not is_met(measured * share, bound["least"], bound["greatest"])
    return bound["metric"] in _RATES and not is_met(measured / share, bound["least"], bound["greatest"])


# Time stamps of whole seconds are off by this much over a span.
_STAMP_SECONDS = 1.0


def times_spent(attempts: Mapping[str, Rows], *, bars: bool) -> dict[str, TimeSpent]:
    """Return the time spent, by each node whose log shows it; progress bars already show a mean."""
    found: dict[str, TimeSpent] = {}
    for node, rows in attempts.items():
        if _TIME not in rows:
            continue
        counted = rows.at(rows["counted"] & np.isfinite(rows[_TIME]))
        times = counted[_TIME]
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


def _longest_pause(counted: Rows) -> Pause | None:
    """Return the longest time between two consecutive stamped lines, less their step time."""
    if "clock" not in counted:
        return None
    stamped = counted.finite("clock", _TIME)
    if len(stamped) < 2:
        return None
    step, clock, time = (stamped[name] for name in ("step", "clock", _TIME))
    pauses = np.diff(clock) - np.diff(step) * time[1:] / 1000.0
    place = int(np.argmax(pauses))
    return {"seconds": max(0.0, float(pauses[place])), "after_step": int(step[place])}


def _slower(times: np.ndarray) -> float:
    """Return how much slower the last fifth is than those before, as a fraction."""
    end = max(1, times.size // 5)
    before = float(np.median(times[:-end]))
    return float(np.median(times[-end:])) / before - 1 if before else 0.0


def _between(counted: Rows) -> np.ndarray:
    """Return the step times (ms) by the timestamps of bars, whose own step times are the mean of all steps so far."""
    if "clock" not in counted:
        return np.zeros(2)
    stamped = counted.finite("clock")
    times = 1000.0 * np.diff(stamped["clock"]) / np.diff(stamped["step"])
    return times if times.size > 1 and np.median(times) > 10_000.0 * _STAMP_SECONDS else np.zeros(2)


def _wall_clock(counted: Rows) -> float | None:
    if "clock" not in counted:
        return None
    stamped = counted.finite("clock")
    taken = float(stamped["step"].max() - stamped["step"].min()) if len(stamped) > 1 else 0.0
    span = float(stamped["clock"][-1] - stamped["clock"][0]) if taken else 0.0
    # Stamps are whole seconds, so a short span proves nothing.
    return 1000.0 * span / taken if span > 10 * _STAMP_SECONDS else None
