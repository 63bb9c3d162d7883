# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether step times have two levels: then one median, and its interval, describe neither of them."""

from __future__ import annotations

import typing as t

import numpy as np

# The rarer level has at least so many steps, and this share of all. Rarer slow steps are pauses.
_LEAST_STEPS, _LEAST_SHARE = 3, 0.15
# The levels are apart by this share of the lower one, and by so many times the standard deviation within them.
_APART, _DEVIATIONS = 0.10, 8.0


class Levels(t.NamedTuple):
    """The medians of the lower and the upper level, and how many values each has."""

    low: float
    high: float
    lows: int
    highs: int


def levels_of(values: np.ndarray) -> Levels | None:
    """Return the two levels of finite values above 0, None if they have one or more than two.

    They are divided where that leaves the least variance within both (Otsu 1979).
    """
    least = max(_LEAST_STEPS, int(np.ceil(_LEAST_SHARE * values.size)))
    ordered = np.sort(values)
    if ordered.size < 2 * least or not ordered[0] > 0:
        return None
    # Scaled, so that no square is too large.
    scaled = ordered / ordered[-1]
    lows = np.arange(least, ordered.size - least + 1)
    highs = ordered.size - lows
    sums, squares = np.cumsum(scaled), np.cumsum(scaled**2)
    within = squares[-1] - sums[lows - 1] ** 2 / lows - (sums[-1] - sums[lows - 1]) ** 2 / highs
    count = int(lows[np.argmin(within)])
    low, high = float(np.median(ordered[:count])), float(np.median(ordered[count:]))
    deviation = float(np.sqrt(max(0.0, float(within.min())) / ordered.size)) * float(ordered[-1])
    apart = high - low > max(_APART * low, _DEVIATIONS * deviation)
    return Levels(low, high, count, ordered.size - count) if apart else None
