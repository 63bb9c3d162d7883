# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the loss falls by the end of a run, and does not climb in its last steps."""

from __future__ import annotations

import typing as t

import numpy as np

from ..contracts import LossTrend
from .intervals import Noise, deviation_of_weighted_sum, noise_of

# With fewer, three losses are more than a seventh of all: too few are left to know the noise.
_MIN_LOSSES = 20
_PARTS = 5
_FEWEST = 3
# Around so much of a curve is noise looked for: a loss falls fast, then slowly.
_DEGREE = 2
# Found with benchmarks/coverage.py.
_CRITICAL_OF_CLIMB, _FOR_FEW_OF_CLIMB = 2.5, 20.0
_NEGLIGIBLE = 0.03


class LateClimb(t.NamedTuple):
    """How many last losses are above those before, the mean of these last ones and that of those before."""

    losses: int
    end: float
    before: float


def late_climb(losses: np.ndarray) -> LateClimb | None:
    """Return how the loss climbs at its end, or None; losses are in the order of the steps, and finite.

    The last three losses, the last tenth and the last fifth are compared with the fifth before that, which a falling
    loss is below. The noise is that of the steps between the first and the last fifth, without the climb.
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
        # The median as well: one loss that is off is a spike, or noise.
        least = min(climb, float(np.median(end)) - level)
        if climb > critical * deviation_of_weighted_sum(weights, noise) and least > _NEGLIGIBLE * abs(level):
            return LateClimb(count, float(end.mean()), level)
    return None


FALLING, RISING, FLAT, UNKNOWN = "falling", "rising", "flat", "unknown"

# With fewer losses nothing is reported, with fewer than the next a flat loss is no reason: a smoke test is too short.
MIN_LOSSES = 8
MIN_LOSSES_OF_FLAT = 20
# Significant changes smaller than this fraction of the loss are ignored: less for a fall, as the learning rate may
# still warm up.
_NEGLIGIBLE_RISE = 0.01
_NEGLIGIBLE_FALL = 0.001
# What fell fast at first, and has risen again since by more than this part of its fall, does not fall.
_REBOUND = 0.05
# What ends below its first fifth by less than this part of what it moved has come back to where it began.
_RETURNED = 0.1
# A loss that ends below this part of its first fifth has learned what there was.
_LEARNED = 0.1
_EARLY = ("first_fifth", "second_fifth")
_MOST_POINTS = 400
# Critical values of a normal distribution, of one comparison and of one with each of four parts, both sides 5 %. From
# few losses the noise is estimated too small; what is added for that was found with benchmarks/coverage.py.
_CRITICAL, _CRITICAL_OF_PARTS = 1.96, 2.5
_FOR_FEW, _FOR_FEW_AT_END = 35.0, 60.0


def loss_trend(steps: np.ndarray, losses: np.ndarray) -> LossTrend:
    """Return how the loss of one attempt ends; both arrays are in the order of the steps, of one length, and finite.

    ``direction`` is ``falling``, ``rising``, ``flat`` or ``unknown``. ``change`` is how the mean of the last fifth of
    the losses differs from that of those before, as a fraction of the latter's, with its 95 % ``interval`` (``low``
    and ``high``). ``end`` is the mean of the last fifth and ``lowest`` that of the lowest fifth, ``samples`` how many
    losses these rest on, ``first_step`` and ``last_step`` of which steps, ``first_loss`` and ``last_loss`` those there.

    A loss rises if its last fifth is above any other fifth. It falls if its last fifth is below what came before, or,
    with the noise of the last three fifths, below the second fifth: around a curve that falls fast and then slowly,
    everything is noise. A loss that is almost zero, as when one batch is repeated, cannot fall further and is compared
    with the first fifth. A loss that ends where it began has not fallen, whatever it did in between. ``against`` is
    what it was compared with: ``rest``, ``first_fifth`` or ``second_fifth``. The intervals allow for correlated
    neighbours, see `intervals`. More than 400 losses are averaged in equal groups.

    ``climb`` is null, or how the loss climbs in its last steps, see `late_climb`: of how many ``losses``, their mean
    ``end``, and ``before``.
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
    """By how much some losses are above others, as a fraction of these, with its interval."""

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
    """Return by how much the mean at some places is above that at others, and half of the interval's width."""
    weights = np.zeros(losses.size)
    weights[end] = 1.0 / end.size
    weights[other] = -1.0 / other.size
    return float(weights @ losses), critical * deviation_of_weighted_sum(weights, noise)
