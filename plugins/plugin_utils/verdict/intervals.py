# SPDX-License-Identifier: GPL-3.0-or-later
"""How far to trust measured values: intervals, correlated steps, and step times at two levels."""

from __future__ import annotations

import typing as t
from collections.abc import Callable

import numpy as np
from scipy.special import betainc, stdtrit

from ..contracts import Interval

# An estimate beyond this makes any interval endless.
_MOST = 0.97


class Noise(t.NamedTuple):
    """The autocorrelation of neighbours and the standard deviation of the noise around a smooth curve."""

    rho: float
    deviation: float


def noise_of(values: np.ndarray, degree: int) -> Noise:
    """Return the noise of values around the polynomial of a degree that fits them best.

    The estimate of ``rho`` from few values is too small (Marriott and Pope 1954, Kendall 1954), so its bias is added:
    (1 + 3 rho) / n for a level, and as much again for each degree. A negative estimate counts as 0.
    """
    size = values.size
    place = np.linspace(-1.0, 1.0, size)
    residual = values - np.polynomial.Polynomial.fit(place, values, degree)(place)
    power = float(residual @ residual)
    if size <= degree + 2 or power <= 1e-24 * max(1.0, float(values @ values)):
        return Noise(0.0, float(np.sqrt(power / max(1, size - degree - 1))))
    lag = float(residual[1:] @ residual[:-1]) / power
    bias = (degree + 1) / size
    rho = min(_MOST, max(0.0, (lag + bias) / max(1.0 - 3.0 * bias, 0.1)))
    # The fit absorbs the slow part of the noise, and leaves the new part of each value.
    new = residual[1:] - rho * residual[:-1]
    innovation = float(new @ new) / max(1, size - degree - 2)
    return Noise(rho, float(np.sqrt(innovation / (1.0 - rho**2))))


def correlation_of_neighbours(values: np.ndarray) -> float:
    """Return the autocorrelation of neighbours, estimated from their ranks so that a few outliers do not change it.

    The bias of few values is corrected as in `noise_of`; a negative correlation counts as none. The ranks of normal
    values correlate with r = 6 / π × arcsin(rho / 2).
    """
    size = values.size
    _unique, place, times = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(times) - (times - 1) / 2.0)[place]
    off = ranks - ranks.mean()
    power = float(off @ off)
    if size < 3 or power == 0.0:
        return 0.0
    lag = float(off[1:] @ off[:-1]) / power
    corrected = (lag + 1.0 / size) / max(1.0 - 3.0 / size, 0.1)
    return float(np.clip(2.0 * np.sin(np.pi / 6.0 * min(1.0, corrected)), 0.0, _MOST))


def deviation_of_weighted_sum(weights: np.ndarray, noise: Noise) -> float:
    """Return the standard deviation of a weighted sum of neighbours with this noise."""
    places = np.arange(weights.size)
    covariance = (noise.rho**places)[np.abs(places[:, None] - places)]
    return noise.deviation * float(np.sqrt(max(0.0, weights @ covariance @ weights)))


def effective_size(size: int, rho: float) -> float:
    """Return how many independent values say as much about a mean as these correlated ones: at least 1."""
    return _effective_size(size, lambda lags: rho**lags) if rho > 0.0 else float(size)


def effective_size_of_median(size: int, rho: float) -> float:
    """Return how many independent values say as much about a median as these correlated ones: at least 1.

    The sides of the median on which neighbours lie correlate less than their values: 2 / π × arcsin(rho) for normal
    values.
    """
    return _effective_size(size, lambda lags: 2.0 / np.pi * np.arcsin(rho**lags)) if rho > 0.0 else float(size)


def _effective_size(size: int, correlation: Callable[[np.ndarray], np.ndarray]) -> float:
    """Return the size, given the correlation of values so many steps apart.

    The variance of the mean of n values is 1 / n × (1 + 2 Σ (1 - k / n) × the correlation of values k apart).
    """
    if size < 2:
        return float(size)
    lags = np.arange(1, size)
    return max(1.0, size / (1.0 + 2.0 * float(np.sum((1.0 - lags / size) * correlation(lags)))))


CONFIDENCE = 0.95
# All values of 4 steps lie on one side of the true median in 1 of 8 runs: not even their range is such an interval.
MIN_OF_INTERVAL = 5
METHOD = (
    f"{CONFIDENCE:.0%} interval of the median by the sign test, for as many independent steps as their "
    "autocorrelation leaves, never outside the range of the steps; of a mean, Student's interval of the same kind. In "
    "simulations of 10 or more steps, 93 to 97 % of the intervals of the median contain the true one if neighbouring "
    "steps correlate by 0 to 0.3, 89 to 96 % if they correlate by 0.5, and fewer beyond (benchmarks/coverage.py)"
)

# The ratio of the median absolute deviation to the standard deviation, for normal values.
_MAD_OF_NORMAL = 0.6744897501960817

# From so many values on, the true median is within so many robust deviations of their median.
_MIN_OF_OUTLIERS, _FAR = 8, 8.0


def robust_deviation(values: np.ndarray) -> float:
    """Return the median absolute deviation, scaled to the standard deviation of a normal distribution."""
    return float(np.median(np.abs(values - np.median(values))) / _MAD_OF_NORMAL)


def median_interval(values: np.ndarray) -> Interval | None:
    """Return ``low`` and ``high`` end of the interval of the median of finite values in their order; None for < 5.

    It is the interval of `sign_interval`, except that a few outliers far from all other values do not become an end,
    unless they form a second level.
    """
    interval = sign_interval(values, CONFIDENCE)
    if interval is None or values.size < _MIN_OF_OUTLIERS:
        return interval
    middle, far = float(np.median(values)), _FAR * robust_deviation(values)
    if far > 0.0 and levels_of(values) is None:
        return {"low": max(interval["low"], middle - far), "high": min(interval["high"], middle + far)}
    return interval


def sign_interval(values: np.ndarray, confidence: float) -> Interval | None:
    """Return the interval of the median of finite values in their order by the sign test; None for fewer than 5.

    The ends are order statistics: for n independent values, how many are below the true median has a binomial
    distribution, whatever the distribution of the values (Thompson 1936). Correlated values count as the number of
    independent values that say as much about the median, and the places in the sample are scaled accordingly.
    """
    size = values.size
    if size < MIN_OF_INTERVAL:
        return None
    worth = effective_size_of_median(size, correlation_of_neighbours(values))
    depth = min(0.5 + size * (_depth(worth, (1.0 - confidence) / 2.0) - 0.5) / worth, (size + 1) / 2)
    places = np.clip([depth - 1.0, size - depth], 0.0, size - 1.0)
    low, high = np.interp(places, np.arange(size), np.sort(values))
    return {"low": float(low), "high": float(high)}


def mean_interval(values: np.ndarray) -> Interval | None:
    """Return ``low`` and ``high`` end of the interval of the mean of finite values in their order; None for < 5."""
    size = values.size
    if size < MIN_OF_INTERVAL:
        return None
    # Few values that rise by chance look fully correlated.
    rho = min(correlation_of_neighbours(values), 1.0 - 2.0 / size)
    worth = effective_size(size, rho)
    # Slow variation moves the sample's mean along with its values, so they deviate less from it.
    variance = float(values.var()) / max(1.0 - 1.0 / worth, 0.1)
    half = float(stdtrit(max(1.0, worth - 1.0), (1.0 + CONFIDENCE) / 2.0)) * float(np.sqrt(variance / worth))
    mean = float(values.mean())
    return {"low": max(float(values.min()), mean - half), "high": min(float(values.max()), mean + half)}


def _depth(worth: float, outside: float) -> float:
    """Return the place (from 1, possibly between two values) that is above the true median with this chance.

    A place below 1 means that there are too few independent values. Between two places, the interpolation follows
    Hettmansperger and Sheather (1986), because linear interpolation makes intervals too wide.
    """

    def above(place: float) -> float:
        return float(betainc(worth - place + 1.0, place, 0.5))

    middle = (worth + 1.0) / 2.0
    if above(middle) <= outside:
        return middle
    # Bisect to the precision of a double: importing scipy.optimize takes longer than judging a run.
    low, place = 0.0, middle
    while low < (half := (low + place) / 2.0) < place:
        low, place = (half, place) if above(half) <= outside else (low, half)
    whole = np.floor(place)
    if whole < 1.0 or whole + 1.0 > middle:
        return place
    share = (outside - above(whole)) / (above(whole + 1.0) - above(whole))
    return float(whole + (worth - whole) * share / (whole + (worth - 2.0 * whole) * share))


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
