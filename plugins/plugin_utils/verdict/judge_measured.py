# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the measurements are plausible: the training learns, and no accelerator exceeds its peak."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Mapping

import numpy as np

from ..contracts import Interval, LossTrend
from ..plan.job.impossible_bounds import tflops_behind
from ..text.numbers import in_words, number, unit_of
from ..text.words import counted
from .frame import WARM_UP
from .loss_trend import FALLING, FLAT, MIN_LOSSES, MIN_LOSSES_OF_FLAT, RISING, loss_trend
from .reasons import FAIL, INCONCLUSIVE, PASS, Reasons

if t.TYPE_CHECKING:
    import pandas as pd

    from .seen import Seen

# The largest vocabulary in use, for logs that do not say theirs.
_VOCABULARY = 300_000.0
# A model that has learned nothing guesses: the logarithm of the vocabulary, and somewhat more as it is initialized.
_WORSE_THAN_GUESSING = 2.0
# A loss so many times that of its neighbours is a spike, and so many times its lowest has diverged.
_SPIKE, _NEIGHBOURS = 1.5, 7
# The last loss, which none after it shows to have come back, has jumped where it is so many times those of the fifth
# before it, and above all of them by so many times what they are apart. Small losses are made of few digits.
_LAST_JUMP, _TIMES_APART, _LEAST_JUMP = 1.2, 3.0, 0.2
_DIVERGED = 1.5
# No accelerator has so many TFLOP/s, in whatever precision.
_PEAK_OF_NONE = 20_000.0
# TFLOP/s may have one decimal: below this, 0.0 may be one of them.
_ROUNDED_TO_NONE = 1.0
# Losses above it show whether they differ.
_ALL_DIGITS = 0.5
# Losses are printed with three decimals, and have seven digits.
_OF_THE_BATCH = {"loss": "loss", "tokens_with_loss": "number of tokens with a loss"}
_SAME_LOSS, _DIGITS_OF_LOSS = 2e-3, 1e-4


def loss_trends(attempts: Mapping[str, pd.DataFrame]) -> dict[str, LossTrend]:
    """Return the trend of the loss over all steps of the last attempt, by node that prints a loss."""
    trends = {}
    for node, rows in attempts.items():
        if "loss" in rows:
            losses = rows["loss"].to_numpy()
            finite = np.isfinite(losses)
            if finite.any():
                trends[node] = loss_trend(rows["step"].to_numpy()[finite], losses[finite])
    return trends


def judge_loss(seen: Seen, reasons: Reasons) -> None:
    """Note how the loss ends: once for one job, and for each of several.

    A rising loss fails. A flat loss leaves open whether anything was learned, in a training of 20 steps or more from
    the start; in a shorter training, and in one that resumed from a checkpoint, it is only reported.
    """
    attempts, trends = seen.attempts, seen.trends
    chosen = list(trends)
    if seen.together and trends:
        chosen = [max(trends, key=lambda node: trends[node]["samples"])]
        for name, word in _OF_THE_BATCH.items():
            _judge_agreement(name, word, {node: rows for node, rows in attempts.items() if name in rows}, reasons)
    vocabularies = [size for status in seen.statuses for size in status.get("settings", {}).get("vocabulary", [])]
    vocabulary = max(2.0, *vocabularies) if vocabularies else _VOCABULARY
    for node in chosen:
        rows, trend = attempts[node], trends[node]
        losses = rows.loc[np.isfinite(rows["loss"]), ["step", "loss", "left_out"]]
        if _judge_values(node, losses, trend, vocabulary, reasons):
            continue
        resumed = rows["attempt"].iloc[0] > 1 or rows["step"].iloc[0] > seen.plan["first_step"]
        over = f"over {counted(trend['samples'], 'value')} of {node}"
        against = ""
        if trend["interval"] and trend["change"] is not None:
            change = _change_in_words(trend["change"], trend["interval"])
            against = f" (last fifth against {trend['against']}: {change})"
        if trend["direction"] == FALLING:
            reasons.add(PASS, "loss_falls", f"The loss falls {over}{against}.", trend=trend)
        elif trend["direction"] == RISING:
            ends = f"its last fifth averages {trend['end']:.4g}, its lowest {trend['lowest']:.4g}"
            message = f"The loss rises {over}: {ends}."
            reasons.add(FAIL, "loss_rises", message, node, trend=trend)
        elif trend["direction"] == FLAT and resumed:
            message = f"The loss does not fall {over}{against}; the training resumed at step {trend['first_step']}."
            reasons.note("loss_flat", message, node, trend=trend)
        elif trend["direction"] == FLAT and trend["samples"] >= MIN_LOSSES_OF_FLAT:
            reasons.add(INCONCLUSIVE, "loss_flat", f"The loss does not fall {over}{against}.", node, trend=trend)
        else:
            few = f"{trend['samples']} losses of {node} are too few to judge whether the loss is falling"
            message = f"{few}{against}; {MIN_LOSSES_OF_FLAT} are needed."
            reasons.note("loss_not_judged", message, node, trend=trend)


def _change_in_words(change: float, interval: Interval) -> str:
    """Return a change such as ``−36.4 %, 95 % interval −37.7 to −35.1 %``, as exact as the interval supports."""
    half = 50.0 * (interval["high"] - interval["low"])
    mean, low, high = (number(100.0 * value, half) for value in (change, interval["low"], interval["high"]))
    return f"{mean} %, 95 % interval {low} to {high} %"


def _judge_values(node: str, losses: pd.DataFrame, trend: LossTrend, vocabulary: float, reasons: Reasons) -> bool:
    """Note losses that no real training has, and return whether there are any."""
    values, steps = losses["loss"].to_numpy(), losses["step"].to_numpy()
    before = len(reasons)
    if (values < 0).any():
        step = int(steps[values < 0][0])
        reasons.add(FAIL, "loss_negative", f"The loss of {node} is negative at step {step}, which is impossible.", node)
    elif values.size >= MIN_LOSSES and (same := _same_at_end(values)) >= max(MIN_LOSSES, values.size // 5):
        where = "all" if same == values.size else "the last"
        message = f"The loss of {node} is {values[-1]:g} in {where} {same} steps: nothing was learned or measured."
        reasons.add(INCONCLUSIVE, "loss_constant", message, node)
    fifth = max(1, values.size // 5)
    end = float(np.median(values[-fifth:]))
    guessing = math.log(vocabulary)
    if end > _WORSE_THAN_GUESSING * guessing:
        message = (
            f"The loss of {node} ends at {end:.4g}, worse than guessing among {vocabulary:.0f} tokens ({guessing:.4g})."
        )
        reasons.add(INCONCLUSIVE, "loss_too_high", message, node, loss=end, guessing=guessing)
    spike = _spike(values, max(int((losses["left_out"] == WARM_UP).sum()), values.size // 5))
    if spike is not None:
        message = (
            f"The loss of {node} jumps to {values[spike]:.4g} at step {int(steps[spike])}, far above its neighbours."
        )
        reasons.add(INCONCLUSIVE, "loss_spike", message, node, step=int(steps[spike]), loss=float(values[spike]))
    elif _jumps_at_end(values):
        message = (
            f"The last loss of {node}, {values[-1]:.4g}, is far above those before it, and no later loss shows a "
            "recovery."
        )
        reasons.add(INCONCLUSIVE, "loss_spike", message, node, step=int(steps[-1]), loss=float(values[-1]))
    # As many losses as at the end: with small batches a single one is far below its neighbours.
    lowest = float(np.median(np.lib.stride_tricks.sliding_window_view(values, fifth), axis=1).min())
    if trend["direction"] != RISING and end > _DIVERGED * lowest and end - lowest > _DIVERGED - 1:
        message = f"The loss of {node} ends at {end:.4g} after a low of {lowest:.4g}: the training diverged."
        reasons.add(FAIL, "loss_rises", message, node, trend=trend)
    elif trend["direction"] != RISING and (climb := trend["climb"]):
        averages = f"its last {climb['losses']} losses average {climb['end']:.4g}, those before {climb['before']:.4g}"
        message = f"The loss of {node} climbs at its end: {averages}."
        reasons.add(INCONCLUSIVE, "loss_climbs", message, node, trend=trend)
    return len(reasons) > before and trend["direction"] != RISING


def _same_at_end(values: np.ndarray) -> int:
    """Return how many of the last losses are equal; small losses with three decimals may well be."""
    other = np.flatnonzero(values != values[-1])
    same = values.size - 1 - int(other[-1]) if other.size else values.size
    has_digits = values[-1] >= _ALL_DIGITS or bool(np.any(values != np.round(values, 3)))
    return same if same == values.size or has_digits else 0


def _spike(values: np.ndarray, begin: int) -> int | None:
    """Return the place of the highest loss after ``begin`` that is far above the losses before and after it."""
    if values.size < MIN_LOSSES:
        return None
    padded = np.pad(values, _NEIGHBOURS // 2, mode="reflect")
    around = np.median(np.lib.stride_tricks.sliding_window_view(padded, _NEIGHBOURS), axis=1)
    above = values > _SPIKE * around
    above[:begin] = False
    return int(np.argmax(np.where(above, values, -np.inf))) if above.any() else None


def _jumps_at_end(values: np.ndarray) -> bool:
    before = values[-1 - values.size // 5 : -1]
    if values.size < MIN_LOSSES_OF_FLAT:
        return False
    usual, most, last = float(np.median(before)), float(before.max()), float(values[-1])
    apart = most - float(before.min())
    return last > _LAST_JUMP * usual and last - most > max(_TIMES_APART * apart, _LEAST_JUMP)


def _judge_agreement(name: str, word: str, printing: Mapping[str, pd.DataFrame], reasons: Reasons) -> None:
    """Note nodes of one job that print different numbers for a step, although these are of the whole batch."""
    first, *others = printing or [""]
    for node in others:
        steps, own, its = np.intersect1d(
            printing[node]["step"].to_numpy(),
            printing[first]["step"].to_numpy(),
            assume_unique=True,
            return_indices=True,
        )
        ones, theirs = printing[node][name].to_numpy()[own], printing[first][name].to_numpy()[its]
        with np.errstate(invalid="ignore"):
            off = np.flatnonzero(np.abs(ones - theirs) > _SAME_LOSS + _DIGITS_OF_LOSS * np.abs(theirs))
        if off.size:
            step, one, other = int(steps[off[0]]), ones[off[0]], theirs[off[0]]
            message = f"In one job, the {word} of step {step} is {one:g} on {node} but {other:g} on {first}."
            reasons.add(FAIL, "loss_differs", message, node, step=step)


def judge_physics(seen: Seen, reasons: Reasons) -> None:
    """Note where the median of a node exceeds the peak of its accelerators, or of any if theirs is unknown."""
    workload = seen.workload
    peak = workload and workload["peak_tflops_per_gpu"]
    bound = in_words("tflops_per_gpu", peak or _PEAK_OF_NONE)
    for node, found in seen.by_node.items():
        memory = found["memory_fraction"]["value"] if "memory_fraction" in found else 0.0
        if memory > 1:
            used = in_words("memory_fraction", memory)
            message = f"{node} reports {used} of its GPU memory in use, which is impossible."
            reasons.add(INCONCLUSIVE, "impossible", message, node, metric="memory_fraction", value=memory)
        for metric in ("tflops_per_gpu", "tokens_per_sec_per_gpu"):
            if metric not in found:
                continue
            value = found[metric]["median"]
            if found[metric]["p05"] <= 0 and (metric == "tokens_per_sec_per_gpu" or value > _ROUNDED_TO_NONE):
                message = f"{node} reports 0{unit_of(metric)} in at least 1 of 20 steps: these trained nothing."
                reasons.add(INCONCLUSIVE, "impossible", message, node, metric=metric, value=value)
                continue
            computed = value if metric == "tflops_per_gpu" else workload and tflops_behind(metric, value, workload)
            if computed is not None and computed > (peak or _PEAK_OF_NONE):
                behind = "" if metric == "tflops_per_gpu" else f", which takes {number(computed)} TFLOP/s"
                known = workload and peak and f"the peak of {seen.plan['gpu']} in {workload['precision']} is {bound}"
                message = (
                    f"{node} reports {in_words(metric, value)}{behind}, but "
                    f"{known or f'no accelerator reaches {bound}'}."
                )
                evidence = {"metric": metric, "value": value, "tflops": computed, "peak_tflops": peak}
                reasons.add(INCONCLUSIVE, "impossible", message, node, **evidence)
                break
