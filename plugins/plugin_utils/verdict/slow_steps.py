# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that are slow now and then: the median of their steps is that of the others, the mean is not."""

from __future__ import annotations

import typing as t

import numpy as np
from scipy.special import bdtrc

from .intervals import robust_deviation

# A step is slow if its node takes longer than the median node in the same step, by so many standard deviations of all
# nodes and this share at least.
_DEVIATIONS, _SLOW = 4.0, 0.05
# A node is slow now and then with at least this share of slow steps, which delay it by this share of all its time, and
# if a node like the others has that many by chance less often than this, for any number of nodes compared.
_LEAST_SHARE, _LEAST_STEPS, _COSTS, _CHANCE = 0.10, 3, 0.01, 0.002
# A single stretch of fewer steps may be a hiccup.
_LONG_STRETCH = 10


class SlowSteps(t.NamedTuple):
    """The share of a node's steps that are slow, how much slower these are (a fraction, in the median; None without
    any), and whether that is more than chance.
    """

    share: float
    slower: float | None
    unusual: bool


def slow_steps(times: np.ndarray) -> list[SlowSteps]:
    """Return the slow steps of each node, given the step times of all, a row each step and a column each node.

    NaN is a step that a node did not report. Steps that are slow on most nodes, as with a checkpoint, are not
    slow here. What the other nodes have by chance, in stretches of steps in a row, is taken for what any node may have.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        off = times / np.nanmedian(times, axis=1, keepdims=True) - 1.0
    # A node that is always slower is not slow now and then.
    off -= np.maximum(0.0, np.nanmedian(off, axis=0))
    there = np.isfinite(off)
    band = max(_SLOW, _DEVIATIONS * robust_deviation(off[there])) if there.any() else _SLOW
    slow = there & (off > band)
    reported, slows = there.sum(axis=0), slow.sum(axis=0)
    stretches = [_stretches(column) for column in slow.T]
    squares = np.array([float((own**2).sum()) for own in stretches])
    nodes = times.shape[1]
    found = []
    for node, own in enumerate(stretches):
        count, every = int(slows[node]), max(1, int(reported[node]))
        others = float(slows.sum() - count)
        usual = (others + 1.0) / (float(reported.sum() - reported[node]) + 1.0)
        # Steps in a row are as much chance as one is, of which there are so many fewer.
        in_a_row = float(squares.sum() - squares[node]) / others if others else 1.0
        chance = float(
            bdtrc(max(0.0, np.floor(count / in_a_row) - 1.0), max(1, int(every / in_a_row)), min(1.0, usual))
        )
        delays = off[slow[:, node], node]
        unusual = (
            count >= max(_LEAST_STEPS, _LEAST_SHARE * every)
            and float(delays.sum()) > _COSTS * every
            and (own.size > 1 or count >= _LONG_STRETCH)
            and chance * nodes < _CHANCE
        )
        found.append(SlowSteps(count / every, float(np.median(delays)) if count else None, unusual))
    return found


def _stretches(slow: np.ndarray) -> np.ndarray:
    """Return how many slow steps follow each other, of each stretch of them."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], slow, [False]))))
    return (edges[1::2] - edges[::2]).astype(float)
