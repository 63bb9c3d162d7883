# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the loss falls by the end of a run, and does not climb in its last steps."""

from __future__ import annotations

import typing as t

import numpy as np

from ..contracts import LossTrend
from .intervals import Noise, deviation_of_weighted_sum, noise_of

# With fewer losses, three are more than a seventh of all, and too few are left to estimate the noise.
_MIN_LOSSES = 20
_PARTS = 5
_FEWEST = 3
# The noise is measured around a curve of this degree: a loss falls fast, then slowly.
_DEGREE = 2
# Found with benchmarks/coverage.py.
_CRITICAL_OF_CLIMB, _FOR_FEW_OF_CLIMB = 2.5, 20.0
_NEGLIGIBLE = 0.03


class LateClimb(t.NamedTuple):
    """How many last losses are above the losses before them, and the means of both."""

    losses: int
    end: float
    before: float


def late_climb(losses: np.ndarray) -> LateClimb | None:
    """Return how the loss climbs at its end, or None; losses are finite and in the order of the steps.

    The last three losses, the last tenth and the last fifth are compared with the fifth before; a falling loss is below
    it. The noise is measured between the first and the last fifth, without the climb.
    """
    if losses.size < _MIN_LOSSES:
        return None
    part = losses.size // _PARTS
    noise = noise_of(losses[part:-part], _DEGREE)
    critical = _CRITICAL_OF_CLIMB + _FOR_FEW_OF_CLIMB / (losses.size - part)
    before = losses[-2 * part : -part]
    level = float(before.mean())
    for count in sorted({_FEWEST, max(_FEWEST, part // 2), part}):
        end = losses[-count:]
        weights = np.zeros(2 * part)
        weights[:part], weights[-count:] = -1.0 / part, 1.0 / count
        climb = float(end.mean()) - level
        # The median as well: a single outlier is a spike, or noise.
        least = min(climb, float(np.median(end)) - level)
        if climb > critical * deviation_of_weighted_sum(weights, noise) and least > _NEGLIGIBLE * abs(level):
            return LateClimb(count, float(end.mean()), level)
    return None


FALLING, RISING, FLAT, UNKNOWN = "falling", "rising", "flat", "unknown"

# With fewer losses, nothing is reported. With fewer than the next number, a flat loss is not a reason, because a smoke
# test is too short.
MIN_LOSSES = 8
MIN_LOSSES_OF_FLAT = 20
# Significant changes smaller than this fraction of the loss are ignored. The limit is lower for a fall, because the
# learning rate may still warm up.
_NEGLIGIBLE_RISE = 0.01
_NEGLIGIBLE_FALL = 0.001
# A loss that fell fast at first, and has since risen by more than this part of its fall, does not fall.
_REBOUND = 0.05
# A loss that ends below its first fifth by less than this part of its range has returned to where it began.
_RETURNED = 0.1
# A loss that ends below this part of its first fifth has nothing left to learn.
_LEARNED = 0.1
_EARLY = ("first_fifth", "second_fifth")
_MOST_POINTS = 400
# Two-sided 5 % critical values of a normal distribution, for one comparison and for comparisons with each of four
# parts. Few losses underestimate the noise; the supplement for that was found with benchmarks/coverage.py.
_CRITICAL, _CRITICAL_OF_PARTS = 1.96, 2.5
_FOR_FEW, _FOR_FEW_AT_END = 35.0, 60.0


def loss_trend(steps: np.ndarray, losses: np.ndarray) -> LossTrend:
    """Return how the loss of one attempt ends; both arrays are finite, of equal length, and in the order of the steps.

    ``direction`` is ``falling``, ``rising``, ``flat`` or ``unknown``. ``change`` is the difference between the mean of
    the last fifth of the losses and the mean of the losses before, as a fraction of the latter, with its 95 %
    ``interval`` (``low`` and ``high``). ``end`` is the mean of the last fifth, ``lowest`` the mean of the lowest fifth,
    and ``samples`` the number of losses. They come from ``first_step``, with ``first_loss``, to ``last_step``, with
    ``last_loss``.

    A loss rises if its last fifth is above any other fifth. It falls if its last fifth is below the losses before, or,
    with the noise of the last three fifths, below the second fifth: a curve that falls fast and then slowly would
    otherwise count as noise. A loss that is almost zero (for example, if one batch is repeated) cannot fall further and
    is compared with the first fifth. A loss that ends where it began has not fallen, whatever it did in between.
    ``against`` is the reference: ``rest``, ``first_fifth`` or ``second_fifth``. The intervals allow for correlated
    neighbours, see `intervals`. More than 400 losses are averaged in equal groups.

    ``climb`` is null, or how the loss climbs in its last steps, see `late_climb`: the number of ``losses``, their mean
    ``end``, and the mean ``before``.
    """
    trend: LossTrend = {
        "direction": UNKNOWN,
        "change": None,
        "interval": None,
        "against": None,
        "end": None,
        "lowest": None,
        "samples": int(losses.size),
        "first_step": int(steps[0]) if steps.size else None,
        "last_step": int(steps[-1]) if steps.size else None,
        "first_loss": float(losses[0]) if losses.size else None,
        "last_loss": float(losses[-1]) if losses.size else None,
        "climb": None,
    }
    if losses.size < MIN_LOSSES:
        return trend
    size = 1
    if losses.size > _MOST_POINTS:
        size, longer = divmod(losses.size, _MOST_POINTS)
        groups = np.split(losses, [longer * (size + 1)])
        losses = np.concatenate(
            [groups[0].reshape(-1, size + 1).mean(axis=1), groups[1].reshape(-1, size).mean(axis=1)]
        )
    noise = noise_of(losses, _DEGREE)
    parts = np.array_split(np.arange(losses.size), _PARTS)
    means = [float(losses[part].mean()) for part in parts]
    end, at_end = parts[-1], losses[parts[2][0] :]
    early = 0 if means[-1] < _LEARNED * means[0] else 1
    changes = {
        "rest": _change(losses, end, np.concatenate(parts[:-1]), noise, _CRITICAL + _FOR_FEW / losses.size),
        _EARLY[early]: _change(
            losses, end, parts[early], noise_of(at_end, 1), _CRITICAL_OF_PARTS + _FOR_FEW_AT_END / at_end.size
        ),
    }
    if means[-1] - min(means) > _REBOUND * (means[0] - means[-1]):
        del changes[_EARLY[early]]
    falls = [against for against, change in changes.items() if change.high < 0 and -change.mean > _NEGLIGIBLE_FALL]
    if means[0] - means[-1] < _RETURNED * (max(means) - min(means)):
        falls = []
    rises = any(_rises(losses, end, part, noise) for part in parts[:-1])
    against = falls[0] if falls and not rises else "rest"
    change = changes[against]
    climb = late_climb(losses)
    return {
        **trend,
        "direction": RISING if rises else FALLING if falls else FLAT,
        "change": change.mean,
        "interval": {"low": change.low, "high": change.high},
        "against": against,
        "end": means[-1],
        "lowest": min(means),
        "climb": climb and {"losses": climb.losses * size, "end": climb.end, "before": climb.before},
    }


class _Change(t.NamedTuple):
    """How far some losses are above others, as a fraction of the others, with its interval."""

    mean: float
    low: float
    high: float


def _change(losses: np.ndarray, end: np.ndarray, other: np.ndarray, noise: Noise, critical: float) -> _Change:
    change, half = _difference(losses, end, other, noise, critical)
    level = abs(float(losses[other].mean())) or 1.0
    return _Change(change / level, (change - half) / level, (change + half) / level)


def _rises(losses: np.ndarray, end: np.ndarray, part: np.ndarray, noise: Noise) -> bool:
    change, half = _difference(losses, end, part, noise, _CRITICAL_OF_PARTS + _FOR_FEW / losses.size)
    return bool(change - half > 0 and change > _NEGLIGIBLE_RISE * abs(float(losses[part].mean())))


def _difference(
    losses: np.ndarray, end: np.ndarray, other: np.ndarray, noise: Noise, critical: float
) -> tuple[float, float]:
    """Return how far the mean at some places is above the mean at others, and half of the interval's width."""
    weights = np.zeros(losses.size)
    weights[end] = 1.0 / end.size
    weights[other] = -1.0 / other.size
    return float(weights @ losses), critical * deviation_of_weighted_sum(weights, noise)
