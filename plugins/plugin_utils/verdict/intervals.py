# SPDX-License-Identifier: GPL-3.0-or-later
"""Intervals of measured values, which show how far a result can be trusted."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv, stdtrit

from ..contracts import Interval
from .autocorrelation import effective_size, noise_of

CONFIDENCE = 0.95
METHOD = (
    f"{CONFIDENCE:.0%} interval of the median: the bootstrap over all resamples of as many independent steps as the "
    "autocorrelation leaves; with fewer than 14 of these, Student's interval of the logarithms, with the largest "
    "autocorrelation that so few steps allow"
)

# With fewer independent values than this, the extremes of a sample are too near for a bootstrap.
_MIN_OF_BOOTSTRAP = 14.0
# What few neighbours report their autocorrelation is not enough: it may be larger by so many of its standard errors,
# up to the most that is reckoned with. All three were found with benchmarks/coverage.py.
_DOUBT, _MOST_DOUBTED, _FOR_FEW = 1.8, 0.95, 5.0
# The median of normal values deviates by so much more than their mean: √(π / 2).
_MEDIAN_OVER_MEAN = 1.2533
# A factor that any time or rate can be multiplied by.
_MOST_OFF = np.log(1e30)
# The median absolute deviation of normal values is so much of their standard deviation.
_MAD_OF_NORMAL = 0.6744897501960817


def robust_deviation(values: np.ndarray) -> float:
    """Return the median absolute deviation, scaled to the standard deviation of a normal distribution."""
    return float(np.median(np.abs(values - np.median(values))) / _MAD_OF_NORMAL)


def median_interval(values: np.ndarray) -> Interval | None:
    """Return ``low`` and ``high`` end of the interval of the median of finite values in their order; None for < 3.

    The bootstrap (Efron 1979) of all resamples, without drawing one: the median of a resample of n independent values
    is the value whose place is the middle of n random places, and the middle of n uniform numbers has a beta
    distribution. Neighbours that know of each other are worth fewer than they are (see `autocorrelation`); blocks of
    them, as a block bootstrap draws, give the same where these are many. benchmarks/coverage.py measures both.

    Student's interval of values that are all positive, as times and rates are, is that of their logarithms, so that no
    end of it is below zero.
    """
    size = values.size
    if size < 3:
        return None
    noise = noise_of(values, 0)
    worth = effective_size(size, _most_that_few_show(noise.rho, size))
    outside = (1 - CONFIDENCE) / 2
    if worth < _MIN_OF_BOOTSTRAP:
        middle = float(np.median(values))
        if values.min() > 0:
            off = float(np.exp(min(_half_of_few(np.log(values)), _MOST_OFF)))
            return {"low": middle / off, "high": middle * off}
        half = _half_of_few(values)
        return {"low": middle - half, "high": middle + half}
    middle_place = (worth + 1) / 2
    shares = betaincinv(middle_place, worth - middle_place + 1, np.array([outside, 1 - outside]))
    # Of an even number the ends of both middle places are averaged, as the two move together.
    ordered = np.sort(values)
    places = np.clip((shares * size)[:, None] + (np.array([-0.25, 0.25]) if size % 2 == 0 else 0.0), 0, size - 1)
    low, high = (float(ordered[np.atleast_1d(ends).astype(int)].mean()) for ends in places)
    return {"low": low, "high": high}


def _most_that_few_show(rho: float, size: int) -> float:
    """Return the autocorrelation, limited: few values that rise by chance look fully correlated."""
    return min(rho, 1.0 - 2.0 / size)


def _half_of_few(values: np.ndarray) -> float:
    """Return half of the width of Student's interval of a median."""
    size = values.size
    noise = noise_of(values, 0)
    rho = _most_that_few_show(noise.rho, size)
    freedom = max(2.0, effective_size(size, rho) - 1.0)
    doubted = max(noise.rho, min(_MOST_DOUBTED, noise.rho + _DOUBT / np.sqrt(size)))
    deviation = noise.deviation * np.sqrt((1.0 - noise.rho**2) / (1.0 - doubted**2))
    half = stdtrit(freedom, (1 + CONFIDENCE) / 2) * _MEDIAN_OVER_MEAN * deviation
    half *= (1.0 + _FOR_FEW * rho / size) / np.sqrt(effective_size(size, doubted))
    return 0.0 if half <= 1e-9 * float(np.abs(values).max()) else float(half)
