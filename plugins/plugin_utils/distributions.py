# SPDX-License-Identifier: GPL-3.0-or-later
"""The chances and quantiles that judging a run needs; loading scipy for them would take longer than judging it.

They come from the regularized incomplete beta function, with a relative error below 1e-10.
"""

from __future__ import annotations

import math
import statistics
import typing as t

_PRECISION: t.Final = 1e-14
# In place of 0, by which the next step would divide.
_TINY: t.Final = 1e-300


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the chance that a value with the beta distribution of ``a`` and ``b``, both above 0, is at most ``x``."""
    if not 0.0 < x < 1.0:
        return float(x >= 1.0)
    # The fraction of the other tail converges faster beyond the mean.
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _lower_tail(b, a, 1.0 - x)
    return _lower_tail(a, b, x)


def _lower_tail(a: float, b: float, x: float) -> float:
    """Return the chance by its continued fraction (Abramowitz and Stegun 26.5.8), evaluated as Lentz (1976) does."""
    logarithm = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    above, below, fraction = 1.0, 0.0, 1.0
    step, change = 0, 0.0
    while abs(change - 1.0) > _PRECISION:
        step += 1
        half = step // 2
        factor = -(a + half) * (a + b + half) if step % 2 else half * (b - half)
        part = factor * x / ((a + step - 1.0) * (a + step))
        above = (1.0 + part / above) or _TINY
        below = 1.0 / ((1.0 + part * below) or _TINY)
        change = above * below
        fraction *= change
    return math.exp(logarithm) / (a * fraction)


def more_than(count: float, trials: float, chance: float) -> float:
    """Return the chance that more than ``count`` of so many independent trials succeed, each with this chance."""
    return incomplete_beta(count + 1.0, trials - count, chance)


def student_quantile(freedom: float, chance: float) -> float:
    """Return the value that Student's t with so many degrees of freedom is below with a chance between 0 and 1.

    It is NaN for no degrees of freedom.
    """
    if freedom <= 0.0:
        return math.nan
    tail = min(chance, 1.0 - chance)
    scale = math.exp(math.lgamma((freedom + 1.0) / 2.0) - math.lgamma(freedom / 2.0)) / math.sqrt(freedom * math.pi)
    # A normal value is below the value that is wanted, and the tail is convex, so Newton's steps never pass it.
    value, step = max(0.0, -statistics.NormalDist().inv_cdf(tail)), 1.0
    while step > _PRECISION * value:
        beyond = incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + value * value)) / 2.0
        step = (beyond - tail) / (scale * (1.0 + value * value / freedom) ** (-(freedom + 1.0) / 2.0))
        value += step
    return math.copysign(value, chance - 0.5)
