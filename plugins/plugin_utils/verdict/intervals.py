# SPDX-License-Identifier: GPL-3.0-or-later
"""Intervals for what was measured, which tell how far a result can be trusted."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv

CONFIDENCE = 0.95
METHOD = (
    f"{CONFIDENCE:.0%} percentile bootstrap of the median, over all resamples there are; the steps are taken as "
    "independent of each other"
)


def median_interval(values: np.ndarray) -> dict[str, float] | None:
    """Return ``low`` and ``high`` end of the interval of the median of finite values; None for fewer than 3.

    The percentile bootstrap (Efron 1979) of all resamples, without drawing one: the median of a resample is the value
    whose place is the middle of n random places, and the middle of n uniform numbers has a beta distribution. Of an
    even n the ends of its two middle places are averaged, as the two move together.
    """
    size = values.size
    if size < 3:
        return None
    ordered = np.sort(values)
    middles = np.array([(size + 1) // 2, size // 2 + 1])
    outside = (1 - CONFIDENCE) / 2
    low, high = (betaincinv(middles, size - middles + 1, share) * size for share in (outside, 1 - outside))
    return {"low": float(ordered[low.astype(int)].mean()), "high": float(ordered[high.astype(int)].mean())}
