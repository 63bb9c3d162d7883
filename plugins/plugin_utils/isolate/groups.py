# SPDX-License-Identifier: GPL-3.0-or-later
"""What groups of nodes say of each node: who is slow makes all of its groups slow, and is what they have in common.

A group is compared with the others that worked at the same time, and a node by how much its groups exceed those. The
largest excess of each node is left out: one odd measurement makes nobody slow. Who exceeds most is taken out first, as
it makes its partners look slow, then who exceeds most without it, and so on.
"""

from __future__ import annotations

import math
import typing as t
from collections.abc import Callable, Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from .measured import Measured
from .robust import Values, spread

_MOST_SLOW = 16
# The variance of the median of one, two or three groups, as a share of that of a group.
_OF_MEDIAN = {1: 1.0, 2: 0.5, 3: 0.449}


class GroupFit(t.NamedTuple):
    """What each node adds to its groups, the standard error of that, and from how many values both were found."""

    nodes: Values
    error: float
    values: int


def splits_of(found: Iterable[Measured]) -> list[list[Measured]]:
    """Return the groups that were tested at the same time, given all in their order: until a node comes again."""
    splits: list[list[Measured]] = []
    seen: set[str] = set()
    for one in found:
        if not splits or seen & set(one.nodes):
            splits.append([])
            seen = set()
        splits[-1].append(one)
        seen.update(one.nodes)
    return splits


def by_size(found: Sequence[Measured]) -> dict[int, list[list[Measured]]]:
    """Return the splits by the size of their groups, the largest first; sizes that hardly differ are the same."""
    most = max((len(one.nodes) for one in found), default=0)
    levels: dict[int, list[list[Measured]]] = {}
    for split in splits_of(found):
        largest = max(len(one.nodes) for one in split)
        levels.setdefault(round(math.log2(most / largest)), []).append(split)
    return {max(len(one.nodes) for split in levels[level] for one in split): levels[level] for level in sorted(levels)}


def excesses_of(node: str, found: Iterable[Measured], slow: AbstractSet[str]) -> list[float]:
    """Return by how much each group of a node exceeds those of the same split, without any with others that are slow.

    It is in logarithms. Groups of nothing but a whole set say nothing.
    """
    excesses = []
    for split in splits_of(found):
        there = [one for one in split if one.samples and not slow & set(one.nodes)]
        others = [one.cost for one in there if node not in one.nodes]
        excesses += [one.cost - float(np.median(others)) for one in there if others and node in one.nodes]
    return excesses


class Splits:
    """Who worked with whom in which split: of each split the group of each node, and none (-1) where it had none."""

    def __init__(self, splits: Sequence[Sequence[Collection[int]]], nodes: int) -> None:
        """Lay them out as a table with a row for each split and a column for each node."""
        self.parts = max(map(len, splits), default=0)
        self.group = np.full((len(splits), nodes), -1)
        for number, groups in enumerate(splits):
            for part, group in enumerate(groups):
                self.group[number, list(group)] = part

    def fit(self, costs: Values, stands_out: Callable[[float, int], bool]) -> GroupFit:
        """Return what the logarithms of the costs say, a row for each split, NaN for a group that is not there.

        ``stands_out`` says whether an effect of so many standard errors, of so many values, is worth taking out.
        """
        slow: dict[int, float] = {}
        effects = self._effects(costs)
        for _number in range(min(_MOST_SLOW, len(effects) // self.parts)):
            rest = [-math.inf if node in slow else float(effect) for node, effect in enumerate(effects)]
            worst = int(np.argmax(rest))
            without = self._without(costs, {**slow, worst: rest[worst]})
            error, values = self._error(without)
            if not stands_out(rest[worst] / error, values):
                break
            slow[worst] = rest[worst]
            # The effect of each is measured with those of the others taken out.
            for node in slow:
                others = {other: by for other, by in slow.items() if other != node}
                slow[node] = float(self._effects(self._without(costs, others))[node])
            effects = self._effects(self._without(costs, slow))
        for node, by in slow.items():
            effects[node] = by
        return GroupFit(effects, *self._error(self._without(costs, slow)))

    def _effects(self, costs: Values) -> Values:
        excess = np.array([_excess(row) for row in costs])
        of_nodes = np.where(self.group >= 0, np.take_along_axis(excess, np.maximum(self.group, 0), axis=1), np.nan)
        counts = np.isfinite(of_nodes).sum(axis=0)
        largest = np.nanmax(np.where(np.isfinite(of_nodes), of_nodes, -math.inf), axis=0)
        # A node with a single group has nothing to leave out, and says nothing either.
        sums = np.nansum(of_nodes, axis=0) - np.where(counts > 1, largest, 0.0)
        return t.cast("Values", np.where(counts > 1, sums / np.maximum(counts - 1, 1), 0.0))

    def _without(self, costs: Values, slow: dict[int, float]) -> Values:
        """Return the costs as if some nodes added nothing: a group is as slow as its slowest node."""
        added = np.zeros_like(costs)
        for node, by in slow.items():
            for number, part in enumerate(self.group[:, node]):
                if part >= 0:
                    added[number, part] = max(added[number, part], by)
        return costs - added

    def _error(self, costs: Values) -> tuple[float, int]:
        rest = costs - np.nanmean(costs, axis=1, keepdims=True)
        parts = np.isfinite(costs).sum(axis=1)
        values = int((parts - 1).clip(0).sum())
        centred = rest[np.isfinite(rest)] * math.sqrt(self.parts / max(self.parts - 1, 1))
        splits = max(int((parts > 1).sum()), 2)
        of_median = 1 + _OF_MEDIAN.get(self.parts - 1, 0.5)
        return spread(centred) * math.sqrt(of_median / (splits - 1)), values


def _excess(row: Values) -> Values:
    """Return how much each group exceeds the others of its split, NaN where there is no other."""
    found = np.full(len(row), np.nan)
    for place in np.flatnonzero(np.isfinite(row)):
        others = np.delete(row, place)
        if np.isfinite(others).any():
            found[place] = row[place] - np.nanmedian(others)
    return found
