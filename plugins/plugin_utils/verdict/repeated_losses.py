# SPDX-License-Identifier: GPL-3.0-or-later
"""Losses that a log repeats a stretch of steps later: different batches have different losses."""

from __future__ import annotations

import math
import typing as t

import numpy as np

# A shorter stretch is not looked at, and one among more losses is not looked for further in front.
_LEAST_LOSSES, _MOST_LOSSES = 4, 2000
# How often chance may print such a stretch.
_BY_CHANCE = 1e-4
# A few losses in turn are looked at where they are at least so many of their last digits apart: those that differ by
# less are as often of a model that knows its few batches by heart.
_FAR_APART = 20
_MOST_DIGITS = 8


class Repeated(t.NamedTuple):
    """A stretch of losses that appears twice: the places of its first loss, and its length."""

    first: int
    again: int
    losses: int


def repeated_losses(losses: np.ndarray) -> Repeated | None:
    """Return the longest stretch of losses that appears twice, unless chance explains it.

    Losses with few digits are often the same: how often those in the range of the stretch are tells what chance makes,
    and of those only that differ.
    """
    left = max(0, losses.size - _MOST_LOSSES)
    values = losses[left:]
    if values.size < 2 * _LEAST_LOSSES:
        return None
    # Losses with all their digits hardly ever need the longer search.
    windows = np.lib.stride_tricks.sliding_window_view(values, _LEAST_LOSSES)
    if len(np.unique(windows, axis=0)) == len(windows):
        return None
    best = Repeated(0, 0, 0)
    for lag in range(2, values.size - _LEAST_LOSSES + 1):
        place, length = _longest_run(values[lag:] == values[:-lag])
        if length > best.losses:
            best = Repeated(place, place + lag, length)
    stretch = values[best.first : best.first + best.losses]
    differing = np.unique(stretch).size
    if differing < _LEAST_LOSSES:
        expected = _turns_by_chance(values, best, stretch)
    else:
        alike = values[(values >= stretch.min()) & (values <= stretch.max())]
        pairs, same = _pairs(alike)
        chance = (max(0, same - best.losses) + 1) / (pairs - best.losses + 1)
        expected = values.size**2 / 2 * chance**differing
    return best._replace(first=best.first + left, again=best.again + left) if expected < _BY_CHANCE else None


def _turns_by_chance(values: np.ndarray, repeated: Repeated, stretch: np.ndarray) -> float:
    """Return how many such stretches of two or three losses in turn chance would print."""
    spread = float(np.ptp(stretch)) if stretch.size else 0.0
    digit = _last_digit(values)
    if spread < _FAR_APART * digit:
        return math.inf
    others = np.delete(values, slice(repeated.first, repeated.again + repeated.losses))
    pairs, same = _pairs(others[(others >= stretch.min()) & (others <= stretch.max())])
    return values.size**2 / 2 * max(digit / spread, same / max(pairs, 1)) ** repeated.losses


def _pairs(values: np.ndarray) -> tuple[int, int]:
    """Return how many pairs of values there are, and how many of them are of two values that are the same."""
    _numbers, counts = np.unique(values, return_counts=True)
    return values.size * (values.size - 1) // 2, int((counts * (counts - 1) // 2).sum())


def _last_digit(values: np.ndarray) -> float:
    """Return what one of the last decimal digits that are printed is worth."""
    digits = (
        number for number in range(_MOST_DIGITS) if np.allclose(values, np.round(values, number), rtol=0, atol=1e-9)
    )
    return 10.0 ** -next(digits, _MOST_DIGITS)


def _longest_run(same: np.ndarray) -> tuple[int, int]:
    """Return where the longest run of true values begins, and how long it is."""
    changes = np.flatnonzero(np.diff(np.concatenate(([0], same.astype(np.int8), [0]))))
    if not changes.size:
        return 0, 0
    lengths = changes[1::2] - changes[::2]
    longest = int(np.argmax(lengths))
    return int(changes[::2][longest]), int(lengths[longest])
