# SPDX-License-Identifier: GPL-3.0-or-later
"""The time that was really spent: the median of the steps leaves out what happens now and then, or between them."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

import numpy as np

from ..contracts import JudgedBound
from .evidence import samples_of
from .reasons import INCONCLUSIVE, Reasons
from .thresholds import is_met

if t.TYPE_CHECKING:
    import pandas as pd

    from .seen import Seen

# What the mean may be off the median by.
_OFF = 0.1
# A last fifth that is slower than the rest by more is no noise, where it has so many steps.
_SLOWER, _LEAST_END = 0.25, 3
# Time stamps of whole seconds are off by this much over a span.
_STAMP_SECONDS = 1.0
_PART = 5
_TIMES, _RATES = ("step_time_ms",), ("tflops_per_gpu", "tokens_per_sec_per_gpu")


class TimeSpent(t.TypedDict):
    """The step times of a node's counted steps, in ms.

    ``median`` and ``mean`` are as the trainer counts them, ``wall_clock`` is the span of the time stamps over the steps
    in it, None without time stamps. ``drift`` is how much slower the last fifth is than those before, as a fraction.
    """

    median: float
    mean: float
    wall_clock: float | None
    drift: float


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
        }
    return found


def _slower(times: np.ndarray) -> float:
    """Return how much slower the last fifth is than those before, as a fraction."""
    end = max(1, times.size // _PART)
    before = float(np.median(times[:-end]))
    return float(np.median(times[-end:])) / before - 1 if before else 0.0


def _between(counted: pd.DataFrame) -> np.ndarray:
    """Return the step times (ms) that the time stamps of bars tell, as their own are the mean of all steps so far."""
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


def judge_time(seen: Seen, reasons: Reasons) -> None:
    """Note where the mean, or the wall clock, is off the judged median, unless the thresholds hold for it as well.

    So too where the last fifth of the steps is slower than the rest; without thresholds nothing holds then. The times
    of a rehearsal are those of a machine that does something else.
    """
    for node, time in seen.times.items():
        if not seen.plan.get("rehearsal"):
            _judge_drift(node, time, samples_of(seen.by_node.get(node, {})), seen.bounds, reasons)
        # With all pauses between the steps, where time stamps show them.
        really = max(time["mean"], time["wall_clock"] or 0.0)
        if not time["median"] > 0 or really <= (1 + _OFF) * time["median"]:
            continue
        share = really / time["median"]
        wall = f", by the wall clock {time['wall_clock']:.6g} ms" if time["wall_clock"] else ""
        means = (
            f"A step of {node} takes {time['mean']:.6g} ms in the mean{wall}, and {time['median']:.6g} ms in the median"
        )
        missed = [bound["metric"] for bound in seen.bounds if _is_missed(bound, share)]
        if missed:
            message = (
                f"{means}: {' and '.join(dict.fromkeys(missed))} would miss the threshold with the time really spent."
            )
            reasons.add(INCONCLUSIVE, "pauses", message, node, **t.cast("dict[str, t.Any]", time))
        else:
            reasons.note("pauses", f"{means}: something takes time now and then, or between the steps.", node)


def _judge_drift(node: str, time: TimeSpent, steps: int, bounds: list[JudgedBound], reasons: Reasons) -> None:
    if time["drift"] <= _SLOWER or steps < _LEAST_END * _PART:
        return
    judged = [bound for bound in bounds if bound["metric"] in (*_TIMES, *_RATES) and bound["kind"] != "info"]
    if judged and not any(_is_missed(bound, 1 + time["drift"]) for bound in judged):
        return
    message = f"The steps of {node} get slower: the last fifth of them by {time['drift']:.0%} against those before."
    reasons.add(INCONCLUSIVE, "slows_down", message, node, drift=time["drift"])


def _is_missed(bound: JudgedBound, share: float) -> bool:
    measured = bound["measured"]
    if bound["kind"] == "info" or measured is None or bound["statistic"] != "median":
        return False
    if bound["metric"] in _TIMES:
        return not is_met(measured * share, bound["least"], bound["greatest"])
    return bound["metric"] in _RATES and not is_met(measured / share, bound["least"], bound["greatest"])
