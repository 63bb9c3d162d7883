# SPDX-License-Identifier: GPL-3.0-or-later
"""How strongly neighbouring steps are correlated, and how many independent steps they are worth.

Noise is taken for an autoregressive process of order 1: each value is ``rho`` times the one before and something new.
"""

from __future__ import annotations

import typing as t
from collections.abc import Callable

import numpy as np

# An estimate beyond this makes any interval endless.
_MOST = 0.97


class Noise(t.NamedTuple):
    """The autocorrelation of neighbours and the standard deviation of noise around what is smooth."""

    rho: float
    deviation: float


def noise_of(values: np.ndarray, degree: int) -> Noise:
    """Return the noise of values around the polynomial of a degree that fits them best.

    The estimate of ``rho`` from few values is too small (Marriott and Pope 1954, Kendall 1954): what it lacks is added,
    (1 + 3 rho) / n for a level, and as much again for each degree. Negative ones are taken for none.
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
    # The fit takes with it what is slow in the noise; what is new in each value it leaves.
    new = residual[1:] - rho * residual[:-1]
    innovation = float(new @ new) / max(1, size - degree - 2)
    return Noise(rho, float(np.sqrt(innovation / (1.0 - rho**2))))


def correlation_of_neighbours(values: np.ndarray) -> float:
    """Return the autocorrelation of neighbours, estimated from their ranks so that a few outliers do not change it.

    The bias of few values is corrected as in `noise_of`; a negative correlation counts as none. Of normal values, ranks
    correlate with r = 6 / π × arcsin(rho / 2).
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

    On which side of the median neighbours lie correlates less than they do: 2 / π × arcsin(rho) for normal values.
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
