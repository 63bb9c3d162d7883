# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the thresholds also hold for the time really spent, and whether the steps keep their pace."""

from __future__ import annotations

import typing as t

from ..contracts import JudgedBound, Pause, TimeSpent
from ..text.durations import duration
from ..text.nodes import folded
from ..text.numbers import in_words, name_of, number
from .reasons import INCONCLUSIVE, Reasons
from .statistics import samples_of
from .thresholds import is_met

if t.TYPE_CHECKING:
    from .seen import Seen

# What the mean may be off the median by.
_OFF = 0.1
# A last fifth that is slower than the rest by more is no noise, where it has three steps.
_SLOWER, _LEAST_STEPS = 0.25, 15
# No checkpoint or evaluation of a run takes longer than this and longer than all its steps. Clocks that are set forward
# in spring skip an hour.
_HOLE_SECONDS = 5400.0
_TIME = "step_time_ms"
_RATES = ("tflops_per_gpu", "tokens_per_sec_per_gpu")


def judge_time(seen: Seen, reasons: Reasons) -> None:
    """Note where the mean or the wall clock is above the judged median, unless the thresholds hold for it as well.

    The same goes for a last fifth of the steps that is slower than the rest, which is also noted without thresholds,
    except in a rehearsal, whose machine does other work; and a pause that is longer than all steps together.
    """
    for node, time in seen.times.items():
        steps = samples_of(seen.by_node.get(node, {}))
        if not seen.plan.get("rehearsal"):
            _judge_drift(node, time, steps, seen.bounds, reasons)
        # With all pauses between the steps, if timestamps show them.
        really = max(time["mean"], time["wall_clock"] or 0.0)
        if not time["median"] > 0 or really <= (1 + _OFF) * time["median"]:
            continue
        share = really / time["median"]
        median, mean = (in_words(_TIME, value) for value in (time["median"], time["mean"]))
        means = f"The median step of {node} takes {median}, the mean {mean}"
        if time["wall_clock"]:
            means += f", and {in_words(_TIME, time['wall_clock'])} with the time between steps"
        evidence = t.cast("dict[str, t.Any]", time)
        missed = dict.fromkeys(name_of(bound["metric"]) for bound in seen.bounds if _is_missed(bound, share))
        if missed:
            message = f"{means}. By the time really spent, {' and '.join(missed)} would miss the threshold."
            reasons.add(INCONCLUSIVE, "pauses", message, node, **evidence)
        elif hole := _hole(time, steps):
            message = (
                f"{node} paused for {duration(hole['seconds'])} after step {hole['after_step']}, longer than all "
                f"{steps} counted steps took. Find out what it did; the step times do not include it."
            )
            reasons.add(INCONCLUSIVE, "pauses", message, node, **evidence)
        else:
            reasons.note("pauses", f"{means}: some steps, or pauses between steps, take longer.", node)
    _note_levels(seen, reasons)


def _note_levels(seen: Seen, reasons: Reasons) -> None:
    """Note once which nodes have step times of two levels; in one job all have the same."""
    found = {node: time["levels"] for node, time in seen.times.items() if time["levels"]}
    if not found:
        return
    node = next(iter(found))
    low, high = found[node]
    fast, slow = (in_words(_TIME, level["step_time_ms"]) for level in (low, high))
    of_which = f" of {node}" if len(found) > 1 else ""
    message = (
        f"The step times of {folded(found)} have two levels: {low['steps']} steps{of_which} take about {fast} and "
        f"{high['steps']} about {slow}. Their median depends on how many steps each level has."
    )
    reasons.note("two_levels", message, node if len(found) == 1 else None, nodes=list(found), levels=found[node])


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
    message = f"{node} slows down: its last fifth of the steps takes {number(100 * time['drift'], digits=2)} % longer."
    reasons.add(INCONCLUSIVE, "slows_down", message, node, drift=time["drift"])


def _is_missed(bound: JudgedBound, share: float) -> bool:
    measured = bound["measured"]
    if bound["kind"] == "info" or measured is None or bound["statistic"] != "median":
        return False
    if bound["metric"] == _TIME:
        return not is_met(measured * share, bound["least"], bound["greatest"])
    return bound["metric"] in _RATES and not is_met(measured / share, bound["least"], bound["greatest"])
