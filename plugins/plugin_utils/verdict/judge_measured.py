# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the measurements are plausible: the training learns, and no accelerator exceeds its peak."""

from __future__ import annotations

import functools
import math
import typing as t
from collections.abc import Mapping

import numpy as np

from ..contracts import LossTrend, Quantity
from ..plan.job.thresholds import tflops_behind
from ..text.numbers import quantity_of
from .frame import WARM_UP
from .loss_trend import FALLING, FLAT, MIN_LOSSES, MIN_LOSSES_OF_FLAT, RISING, loss_trend
from .reasons import FAIL, INCONCLUSIVE, PASS, Reasons

if t.TYPE_CHECKING:
    from .frame import Rows
    from .seen import Seen

# The largest vocabulary in use, for logs that do not print theirs.
_VOCABULARY = 300_000.0
# A model that has learned nothing guesses: the logarithm of the vocabulary, and somewhat more as it is initialized.
_WORSE_THAN_GUESSING = 2.0
# A loss of so many times its neighbours is a spike; a loss of so many times its lowest value has diverged.
_SPIKE, _NEIGHBOURS = 1.5, 7
# No later loss shows whether the last one recovers. It has jumped if it is so many times the losses of the fifth before
# it, and above all of them by so many times their range. Small losses have few digits.
_LAST_JUMP, _TIMES_APART, _LEAST_JUMP = 1.2, 3.0, 0.2
_DIVERGED = 1.5
# No accelerator has so many TFLOP/s, whatever the precision.
_PEAK_OF_NONE = 20_000.0
# TFLOP/s may have one decimal: below this, 0.0 may be one of them.
_ROUNDED_TO_NONE = 1.0
# Losses above it show whether they differ.
_ALL_DIGITS = 0.5
# Losses are printed with three decimals, and have seven digits.
_OF_THE_BATCH = ("loss", "tokens_with_loss")
_SAME_LOSS, _DIGITS_OF_LOSS = 2e-3, 1e-4


def loss_trends(attempts: Mapping[str, Rows]) -> dict[str, LossTrend]:
    """Return the trend of the loss over all steps of the last attempt, by node that prints a loss."""
    trends = {}
    for node, rows in attempts.items():
        if "loss" in rows and (losses := rows.finite("loss")):
            trends[node] = loss_trend(losses["step"], losses["loss"])
    return trends


def judge_loss(seen: Seen, reasons: Reasons) -> None:
    """Note how the loss ends: once for one job, and for each of several.

    A rising loss fails. In a training of 20 steps or more from the start, a flat loss leaves open whether anything was
    learned. In a shorter training, or one that resumed from a checkpoint, it is only reported.
    """
    attempts, trends = seen.attempts, seen.trends
    chosen = list(trends)
    if seen.together and trends:
        chosen = [max(trends, key=lambda node: trends[node]["samples"])]
        for name in _OF_THE_BATCH:
            _judge_agreement(name, {node: rows for node, rows in attempts.items() if name in rows}, reasons)
    vocabularies = [size for status in seen.statuses for size in status["trainer"]["settings"].get("vocabulary", [])]
    vocabulary = max(2.0, *vocabularies) if vocabularies else _VOCABULARY
    for node in chosen:
        rows, trend = attempts[node], trends[node]
        if _judge_values(node, rows.at(np.isfinite(rows["loss"])), trend, vocabulary, reasons):
            continue
        resumed = rows["attempt"][0] > 1 or rows["step"][0] > seen.plan["first_step"]
        samples, change = trend["samples"], _change_of(trend)
        if trend["direction"] == FALLING:
            reasons.argue(PASS, "loss_falls", printed_by=node, samples=samples, **change, trend=trend)
        elif trend["direction"] == RISING:
            end, lowest = trend["end"], trend["lowest"]
            reasons.argue(FAIL, "loss_rises", node, samples=samples, end=end, lowest=lowest, trend=trend)
        elif trend["direction"] == FLAT and resumed:
            first = trend["first_step"]
            reasons.remark("loss_flat", node, case="resumed", samples=samples, first_step=first, **change, trend=trend)
        elif trend["direction"] == FLAT and samples >= MIN_LOSSES_OF_FLAT:
            reasons.argue(INCONCLUSIVE, "loss_flat", node, samples=samples, **change, trend=trend)
        else:
            case = "compared" if change else ""
            needed = MIN_LOSSES_OF_FLAT
            reasons.remark("loss_not_judged", node, case=case, samples=samples, needed=needed, **change, trend=trend)


def _change_of(trend: LossTrend) -> dict[str, t.Any]:
    """Return the difference of the last fifth from its reference, with as many digits as its interval supports."""
    change, interval = trend["change"], trend["interval"]
    if change is None or interval is None:
        return {}
    half = 50.0 * (interval["high"] - interval["low"])
    mean, low, high = (
        Quantity(value=100.0 * value, unit="%", uncertainty=half)
        for value in (change, interval["low"], interval["high"])
    )
    return {"against": trend["against"] or "rest", "change": mean, "low": low, "high": high}


def _judge_values(node: str, losses: Rows, trend: LossTrend, vocabulary: float, reasons: Reasons) -> bool:
    """Note losses that no real training has, and return whether there are any."""
    values, steps = losses["loss"], losses["step"]
    before = len(reasons)
    if (values < 0).any():
        reasons.argue(FAIL, "loss_negative", node, step=int(steps[values < 0][0]))
    elif values.size >= MIN_LOSSES and (same := _same_at_end(values)) >= max(MIN_LOSSES, values.size // 5):
        case = "" if same == values.size else "at_end"
        reasons.argue(INCONCLUSIVE, "loss_constant", node, case=case, loss=float(values[-1]), steps=int(same))
    fifth = max(1, values.size // 5)
    end = float(np.median(values[-fifth:]))
    guessing = math.log(vocabulary)
    too_high = _WORSE_THAN_GUESSING * guessing
    if end > too_high or values[-1] > too_high:
        comes_down = values[0] > too_high and values[-1] < values[0] and end <= _DIVERGED * values[1:].min()
        case = "from_the_start" if comes_down else "" if end > too_high else "last_step"
        note = reasons.remark if comes_down else functools.partial(reasons.argue, INCONCLUSIVE)
        loss = end if end > too_high else float(values[-1])
        note("loss_too_high", node, case=case, loss=loss, vocabulary=vocabulary, guessing=guessing)
    spike = _spike(values, max(int((losses["left_out"] == WARM_UP).sum()), values.size // 5))
    if spike is not None:
        reasons.argue(INCONCLUSIVE, "loss_spike", node, step=int(steps[spike]), loss=float(values[spike]))
    elif _jumps_at_end(values):
        last = {"step": int(steps[-1]), "loss": float(values[-1])}
        reasons.argue(INCONCLUSIVE, "loss_spike", node, case="last_step", **last)
    # A window as long as the end: with small batches a single loss may be far below its neighbours.
    lowest = float(np.median(np.lib.stride_tricks.sliding_window_view(values, fifth), axis=1).min())
    if trend["direction"] != RISING and end > _DIVERGED * lowest and end - lowest > _DIVERGED - 1:
        reasons.argue(FAIL, "loss_rises", node, case="diverged", end=end, lowest=lowest, trend=trend)
    elif trend["direction"] != RISING and (climb := trend["climb"]):
        reasons.argue(INCONCLUSIVE, "loss_climbs", node, **climb, trend=trend)
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


def _judge_agreement(name: str, printing: Mapping[str, Rows], reasons: Reasons) -> None:
    """Note nodes of one job that print different numbers for a step, although the numbers describe the whole batch."""
    first, *others = printing or [""]
    for node in others:
        steps, own, its = np.intersect1d(
            printing[node]["step"], printing[first]["step"], assume_unique=True, return_indices=True
        )
        ones, theirs = printing[node][name][own], printing[first][name][its]
        off = np.flatnonzero(np.abs(ones - theirs) > _SAME_LOSS + _DIGITS_OF_LOSS * np.abs(theirs))
        if off.size:
            step, one, other = int(steps[off[0]]), float(ones[off[0]]), float(theirs[off[0]])
            reasons.argue(FAIL, "loss_differs", node, field=name, step=step, found=one, other_node=first, other=other)


def judge_physics(seen: Seen, reasons: Reasons) -> None:
    """Note each node whose median exceeds its accelerators' peak, or if that is unknown, any accelerator's peak."""
    workload = seen.workload
    peak = workload and workload["peak_tflops_per_gpu"]
    for node, found in seen.by_node.items():
        memory = found["memory_fraction"]["value"] if "memory_fraction" in found else 0.0
        if memory > 1:
            used = quantity_of("memory_fraction", memory)
            reasons.argue(INCONCLUSIVE, "impossible", node, case="memory", metric="memory_fraction", value=used)
        for metric in ("tflops_per_gpu", "tokens_per_sec_per_gpu"):
            if metric not in found:
                continue
            value = found[metric]["median"]
            if found[metric]["p05"] <= 0 and (metric == "tokens_per_sec_per_gpu" or value > _ROUNDED_TO_NONE):
                usual = quantity_of(metric, value)
                reasons.argue(INCONCLUSIVE, "impossible", node, case="zero_rate", metric=metric, value=usual)
                continue
            computed = value if metric == "tflops_per_gpu" else workload and tflops_behind(metric, value, workload)
            if computed is not None and computed > (peak or _PEAK_OF_NONE):
                case = "above_peak" if peak else "above_any_peak"
                reasons.argue(
                    INCONCLUSIVE,
                    "impossible",
                    node,
                    case=case if metric == "tflops_per_gpu" else f"{case}_by_tokens",
                    metric=metric,
                    value=quantity_of(metric, value),
                    tflops=float(computed),
                    peak_tflops=peak,
                    most_tflops=_PEAK_OF_NONE,
                    gpu=seen.plan["gpu"],
                    precision=workload["precision"] if workload else None,
                )
                break
