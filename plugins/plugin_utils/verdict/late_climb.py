# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the loss climbs in the last steps: a training that diverges late has fallen well before."""

from __future__ import annotations

import typing as t

import numpy as np

from .autocorrelation import deviation_of_weighted_sum, noise_of

# With fewer, three losses are more than a seventh of all: too few are left to know the noise.
_MIN_LOSSES = 20
_PARTS = 5
_FEWEST = 3
_DEGREE = 2
# Found with benchmarks/coverage.py, as those of `loss_trend`.
_CRITICAL, _FOR_FEW = 2.5, 20.0
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
    critical = _CRITICAL + _FOR_FEW / (losses.size - part)
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
