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
    whose place is the middle of n random places, and the middle of n uniform numbers has a beta distribution. Of the
    two middle ones of an even n the first bounds the interval below, the second above.
    """
    size = values.size
    if size < 3:
        return None
    ordered = np.sort(values)
    outside = (1 - CONFIDENCE) / 2
    first, second = (size + 1) // 2, size // 2 + 1
    low = betaincinv(first, size - first + 1, outside)
    high = betaincinv(second, size - second + 1, 1 - outside)
    return {"low": float(ordered[int(low * size)]), "high": float(ordered[int(high * size)])}
