# SPDX-License-Identifier: GPL-3.0-or-later
"""The spread of many values, some of them bad, how far a good one may lie from the others, and where the good ones end.

Nodes that are all well differ, and one of them is the last. What is bad lies beyond the last good one by more than the
good ones lie apart. Their distances near the upper end say how far the next one would be, if it were one of them: of an
exponential tail, the j-th distance from the top is j times as short as the first one (Rényi 1953), so all of them
measure the same scale. Normal values have shorter tails.
"""

from __future__ import annotations

import math
import typing as t
from functools import cache

import numpy as np
from scipy.special import stdtrit

Values: t.TypeAlias = "np.ndarray[t.Any, np.dtype[np.float64]]"

# Even nodes that agree to the last digit get this spread: no measurement repeats better than 0.2 %.
LEAST_SPREAD = 0.002
_FEW = 128
# Q_n of Rousseeuw and Croux (1993), Alternatives to the Median Absolute Deviation: the constant, and its correction for
# few values (Croux and Rousseeuw 1992, Time-efficient algorithms for two highly robust estimators of scale).
_QN = 2.2219
_QN_OF_FEW = {2: 0.399, 3: 0.994, 4: 0.512, 5: 0.844, 6: 0.611, 7: 0.857, 8: 0.669, 9: 0.872}
_MAD = 1.4826
# How many values of a normal sample tell as much with the standard deviation: their efficiencies.
_QN_EFFICIENCY, _MAD_EFFICIENCY = 0.82, 0.37


def spread(values: Values) -> float:
    """Return the standard deviation of the good ones of some values, at least `LEAST_SPREAD`.

    It stands up to nearly half of the values being anything. Few values are compared pair by pair (Q_n), which uses
    them twice as well as their median absolute deviation does; of many, that is precise enough.
    """
    count = len(values)
    if count < 2:
        return LEAST_SPREAD
    if count > _FEW:
        found = _MAD * float(np.median(np.abs(values - np.median(values))))
    else:
        one, two = np.triu_indices(count, 1)
        half = count // 2 + 1
        place = half * (half - 1) // 2 - 1
        factor = _QN_OF_FEW.get(count) or count / (count + (1.4 if count % 2 else 3.8))
        found = _QN * factor * float(np.partition(np.abs(values[one] - values[two]), place)[place])
    return max(found, LEAST_SPREAD)


@cache
def deviations_needed(count: int, false_accusations: float, values: int = 0) -> float:
    """Return the deviations above the median that no good value of ``count`` exceeds, but for a rate of sweeps.

    Student's distribution allows for the spread being estimated from so many ``values``, by default the same ones,
    Bonferroni for their number.
    """
    values = values or count
    freedom = (_QN_EFFICIENCY if values <= _FEW else _MAD_EFFICIENCY) * (values - 1)
    of_median = math.sqrt(1 + math.pi / (2 * values))
    return -float(stdtrit(freedom, false_accusations / count)) * of_median


class Ending(t.NamedTuple):
    """Where good values end: the ``last`` of them, and the ``gap`` to it that a value needs to be none of them."""

    last: float
    gap: float

    def share(self, value: float) -> float:
        """Return how much of the gap beyond the last good value a value has crossed."""
        return (value - self.last) / self.gap if math.isfinite(self.gap) else 0.0


_NOBODY = Ending(math.inf, math.inf)
# From so few values the scale of the tail is too uncertain, so more of them count than the upper half.
_LEAST_DISTANCES = 4
# No tail of good nodes reaches a value twice as large as the last of them.
_TWICE = math.log(2.0)
# The scale of fewer distances is less certain still; there Student's distribution needs more than this, see `spread`.
_LEAST_FREEDOM = 8


def ending(values: Values, least: float, rate: float) -> Ending:
    """Return where the good ones of some values end. Fewer than half of the values may be bad.

    The gap is at least ``least``, and no good value exceeds it, but for this ``rate`` of cases. If several gaps
    suffice, the deepest one counts; if none does, the one that is nearest to that.
    """
    count = len(values)
    if count < 3:
        return _NOBODY
    ordered = np.sort(values)[::-1]
    distances = ordered[:-1] - ordered[1:]
    of_scale = np.concatenate([[0.0], np.cumsum(np.arange(1, count) * distances)])
    bad = np.arange(1, (count - 1) // 2 + 1)
    used = np.maximum((count - bad) // 2, np.minimum(_LEAST_DISTANCES, count - 1 - bad))
    scale = (of_scale[bad + used] - of_scale[bad]) / used
    freedom = np.maximum(used, min(count // 2, _LEAST_FREEDOM))
    gaps = np.maximum(least, np.minimum(_TWICE, scale * freedom * (rate ** (-1 / freedom) - 1)))
    shares = distances[bad - 1] / gaps
    enough = np.flatnonzero(shares >= 1)
    place = int(enough[-1] if len(enough) else np.argmax(shares))
    return Ending(float(ordered[bad[place]]), float(gaps[place]))
