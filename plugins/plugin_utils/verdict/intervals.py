# SPDX-License-Identifier: GPL-3.0-or-later
"""Intervals of measured values, which show how far a result can be trusted."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, stdtrit

from ..contracts import Interval
from .autocorrelation import correlation_of_neighbours, effective_size, effective_size_of_median
from .levels import levels_of

CONFIDENCE = 0.95
# All values of 4 steps lie on one side of the true median in 1 of 8 runs: not even their range is such an interval.
MIN_OF_INTERVAL = 5
METHOD = (
    f"{CONFIDENCE:.0%} interval of the median by the sign test, for as many independent steps as their "
    "autocorrelation leaves, never outside the range of the steps; of a mean, Student's interval of the same kind. In "
    "simulations of 10 or more steps, 93 to 97 % of the intervals of the median contain the true one if neighbouring "
    "steps correlate by 0 to 0.3, 89 to 96 % if they correlate by 0.5, and fewer beyond (benchmarks/coverage.py)"
)

# The median absolute deviation of normal values is so much of their standard deviation.
_MAD_OF_NORMAL = 0.6744897501960817

# The true median is no further from that of so many values, or more, than so many of their robust deviations.
_MIN_OF_OUTLIERS, _FAR = 8, 8.0


def robust_deviation(values: np.ndarray) -> float:
    """Return the median absolute deviation, scaled to the standard deviation of a normal distribution."""
    return float(np.median(np.abs(values - np.median(values))) / _MAD_OF_NORMAL)


def median_interval(values: np.ndarray) -> Interval | None:
    """Return ``low`` and ``high`` end of the interval of the median of finite values in their order; None for < 5.

    It is that of `sign_interval`, except that a few outliers far from all other values do not become an end, unless
    they make a second level.
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
    distribution, whatever the distribution of the values (Thompson 1936). Of correlated values as many are taken as say
    the same about the median, and the places in the sample are scaled.
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
    # What varies slowly moves the mean of the sample along with its values: they deviate less from it.
    variance = float(values.var()) / max(1.0 - 1.0 / worth, 0.1)
    half = float(stdtrit(max(1.0, worth - 1.0), (1.0 + CONFIDENCE) / 2.0)) * float(np.sqrt(variance / worth))
    mean = float(values.mean())
    return {"low": max(float(values.min()), mean - half), "high": min(float(values.max()), mean + half)}


def _depth(worth: float, outside: float) -> float:
    """Return the place, from 1 on and between two values, of what is above the true median with this chance.

    A place below 1 means that so few independent values have none. Between two places the interpolation is that of
    Hettmansperger and Sheather (1986), as linear interpolation makes intervals too wide.
    """

    def above(place: float) -> float:
        return float(betainc(worth - place + 1.0, place, 0.5))

    middle = (worth + 1.0) / 2.0
    if above(middle) <= outside:
        return middle
    # Halved until a double has no more digits: to import scipy.optimize takes longer than judging a run.
    low, place = 0.0, middle
    while low < (half := (low + place) / 2.0) < place:
        low, place = (half, place) if above(half) <= outside else (low, half)
    whole = np.floor(place)
    if whole < 1.0 or whole + 1.0 > middle:
        return place
    share = (outside - above(whole)) / (above(whole + 1.0) - above(whole))
    return float(whole + (worth - whole) * share / (whole + (worth - 2.0 * whole) * share))
