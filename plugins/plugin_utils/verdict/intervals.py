# SPDX-License-Identifier: GPL-3.0-or-later
"""Intervals for what was measured, which tell how far a result can be trusted."""

from __future__ import annotations

import numpy as np

CONFIDENCE = 0.95
RESAMPLES = 2000
SEED = 20260101
METHOD = (
    f"{CONFIDENCE:.0%} percentile bootstrap of the median, {RESAMPLES} resamples, seed {SEED}; the steps are taken as "
    "independent of each other"
)


def median_interval(values: np.ndarray) -> dict[str, float] | None:
    """Return ``low`` and ``high`` end of the interval of the median of finite values; None for fewer than 3.

    The percentile bootstrap (Efron 1979): the medians of many samples drawn with replacement, of which the outer 2.5 %
    on either side are cut off. The median of a sample of n values drawn from n sorted ones is the one whose place is
    the middle of n random places; the middle of n uniform numbers has a beta distribution, so that the place is drawn
    as such, in a time that does not depend on n. For an even n the second of the two middle places is the least of
    those above the first.
    """
    size = values.size
    if size < 3:
        return None
    generator = np.random.default_rng(SEED)
    ordered = np.sort(values)
    middle = (size + 1) // 2
    first = generator.beta(middle, size - middle + 1, RESAMPLES)
    medians = ordered[_place(first, size)]
    if size % 2 == 0:
        above = size - middle
        second = first + (1 - first) * (1 - generator.random(RESAMPLES) ** (1 / above))
        medians = (medians + ordered[_place(second, size)]) / 2
    outside = (1 - CONFIDENCE) / 2
    low, high = np.quantile(medians, [outside, 1 - outside])
    return {"low": float(low), "high": float(high)}


def _place(uniform: np.ndarray, size: int) -> np.ndarray:
    places: np.ndarray = np.minimum((uniform * size).astype(int), size - 1)
    return places
