# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the loss falls over the run: a training that learns nothing computes nothing of worth."""

from __future__ import annotations

import typing as t

import numpy as np
from scipy import stats

FALLING, RISING, FLAT, UNKNOWN = "falling", "rising", "flat", "unknown"

# Below this nothing is told at all, below the next a flat loss is not held against a run: a smoke test is too short.
MIN_LOSSES = 8
MIN_LOSSES_OF_FLAT = 20
# A slope that is certain, but changes the loss by less than this part of it over the whole run, is none.
_NEGLIGIBLE = 0.01
_MOST_POINTS = 400

Trend = dict[str, t.Any]


def loss_trend(steps: np.ndarray, losses: np.ndarray) -> Trend:
    """Return how the loss of one attempt develops over its steps; both arrays are of one length, and finite.

    ``direction`` is ``falling``, ``rising``, ``flat`` or ``unknown``; ``slope`` is per step, with its 95 % ``interval``
    (``low`` and ``high``), ``change`` the slope over all steps as a fraction of the median loss, ``samples`` how many
    losses these rest on, ``first_step`` and ``last_step`` of which steps, ``first_loss`` and ``last_loss`` those there.

    The slope is the median of the slopes between all pairs of steps (Theil 1950, Sen 1968), which one wild value does
    not move, and its interval Sen's. Of more than 400 losses, medians of equal
    groups of neighbours are looked at. Neighbouring losses are taken as independent, which they are not quite.
    """
    trend: Trend = {
        "direction": UNKNOWN,
        "slope": None,
        "interval": None,
        "change": None,
        "samples": int(losses.size),
        "first_step": int(steps[0]) if steps.size else None,
        "last_step": int(steps[-1]) if steps.size else None,
        "first_loss": float(losses[0]) if losses.size else None,
        "last_loss": float(losses[-1]) if losses.size else None,
    }
    if losses.size < MIN_LOSSES:
        return trend
    if losses.size > _MOST_POINTS:
        steps, losses = _medians(steps), _medians(losses)
    slope, _intercept, low, high = map(float, stats.theilslopes(losses, steps))
    level = abs(float(np.median(losses))) or 1.0
    change = slope * float(steps[-1] - steps[0]) / level
    if high < 0:
        direction = FALLING
    elif low > 0 and change > _NEGLIGIBLE:
        direction = RISING
    else:
        direction = FLAT
    return {**trend, "direction": direction, "slope": slope, "interval": {"low": low, "high": high}, "change": change}


def _medians(values: np.ndarray) -> np.ndarray:
    """Return the medians of as many groups of neighbours as are looked at; the first are larger by one, if any is."""
    size, larger = divmod(values.size, _MOST_POINTS)
    first, rest = np.split(values, [larger * (size + 1)])
    groups = (first.reshape(larger, size + 1), rest.reshape(_MOST_POINTS - larger, size))
    return np.concatenate([np.median(group, axis=1) for group in groups])
