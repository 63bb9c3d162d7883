# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the thresholds also hold for the time really spent, and whether the steps get slower."""

from __future__ import annotations

import typing as t

from ..contracts import JudgedBound, TimeSpent
from .evidence import samples_of
from .reasons import INCONCLUSIVE, Reasons
from .thresholds import is_met

if t.TYPE_CHECKING:
    from .seen import Seen

# What the mean may be off the median by.
_OFF = 0.1
# A last fifth that is slower than the rest by more is no noise, where it has three steps.
_SLOWER, _LEAST_STEPS = 0.25, 15
_TIMES, _RATES = ("step_time_ms",), ("tflops_per_gpu", "tokens_per_sec_per_gpu")


def judge_time(seen: Seen, reasons: Reasons) -> None:
    """Note where the mean or the wall clock is above the judged median, unless the thresholds hold for it as well.

    The same goes for a last fifth of the steps that is slower than the rest, which is also noted without thresholds,
    except in a rehearsal, whose machine does other work.
    """
    for node, time in seen.times.items():
        if not seen.plan.get("rehearsal"):
            _judge_drift(node, time, samples_of(seen.by_node.get(node, {})), seen.bounds, reasons)
        # With all pauses between the steps, if timestamps show them.
        really = max(time["mean"], time["wall_clock"] or 0.0)
        if not time["median"] > 0 or really <= (1 + _OFF) * time["median"]:
            continue
        share = really / time["median"]
        wall = f", and {time['wall_clock']:.6g} ms by the wall clock" if time["wall_clock"] else ""
        means = f"A step of {node} takes {time['median']:.6g} ms in the median, {time['mean']:.6g} ms on average{wall}"
        missed = [bound["metric"] for bound in seen.bounds if _is_missed(bound, share)]
        if missed:
            message = (
                f"{means}: with the time really spent {' and '.join(dict.fromkeys(missed))} would miss the threshold."
            )
            reasons.add(INCONCLUSIVE, "pauses", message, node, **t.cast("dict[str, t.Any]", time))
        else:
            reasons.note("pauses", f"{means}: some steps, or the time between steps, take longer.", node)


def _judge_drift(node: str, time: TimeSpent, steps: int, bounds: list[JudgedBound], reasons: Reasons) -> None:
    if time["drift"] <= _SLOWER or steps < _LEAST_STEPS:
        return
    judged = [bound for bound in bounds if bound["metric"] in (*_TIMES, *_RATES) and bound["kind"] != "info"]
    if judged and not any(_is_missed(bound, 1 + time["drift"]) for bound in judged):
        return
    message = f"The steps of {node} get slower: the last fifth takes {time['drift']:.0%} longer than those before."
    reasons.add(INCONCLUSIVE, "slows_down", message, node, drift=time["drift"])


def _is_missed(bound: JudgedBound, share: float) -> bool:
    measured = bound["measured"]
    if bound["kind"] == "info" or measured is None or bound["statistic"] != "median":
        return False
    if bound["metric"] in _TIMES:
        return not is_met(measured * share, bound["least"], bound["greatest"])
    return bound["metric"] in _RATES and not is_met(measured / share, bound["least"], bound["greatest"])
