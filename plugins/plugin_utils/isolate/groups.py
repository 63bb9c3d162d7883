# SPDX-License-Identifier: GPL-3.0-or-later
"""Groups of nodes: how all nodes are split into groups that work at the same time, and the evidence on each node.

The whole set, its halves and its quarters are such groups. A node that is slow only in groups makes each of its groups
slow, so it is their common member. Splits of the smallest size are therefore dealt like cards so that no two nodes are
together in all of them: nodes that were together so far go to different groups. The number of splits grows with the
logarithm of the number of nodes. The first split of each size keeps inventory neighbours together, because they mostly
share a switch.

A group is compared with the others that worked at the same time, and a node by how much its groups exceed the others.
The largest excess of each node is left out: one odd measurement makes nobody slow. The node with the largest excess is
taken out first, because it makes its partners look slow, then the largest without it, and so on.
"""

from __future__ import annotations

import math
import typing as t
from collections.abc import Callable, Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import count as counting
from itertools import pairwise

import numpy as np

from .measured import Measured
from .robust import Values

Split = list[list[str]]

# Fewer nodes than this are hardly a group: pairs say as much.
LEAST_GROUP = 4
# One group can be compared with nothing.
LEAST_NODES_OF_GROUPS = 2 * LEAST_GROUP
_PARTS = (2, 4)
# Those of eight nodes: all of them, and five splits into halves.
LEAST_SPLITS = 6
# Splits beyond those that keep any two nodes apart: one odd measurement must not point to another node.
_SPARE = 2
# One split of neighbours, and one of nodes that are far from each other.
_FOR_SIZE = 2


def planned_splits(nodes: Sequence[str]) -> list[Split]:
    """Return the splits of some nodes, the largest groups first; none if there are no two groups of a size."""
    parts = [number for number in _PARTS if len(nodes) // number >= LEAST_GROUP]
    if not parts:
        return []
    counts = [*[_FOR_SIZE] * (len(parts) - 1), apart_after(len(nodes), parts[-1]) + _SPARE]
    smaller = [
        split for number, count in zip(parts, counts, strict=True) for split in splits_into(nodes, number, count)
    ]
    return [[list(nodes)], *smaller]


def apart_after(nodes: int, parts: int) -> int:
    """Return after how many splits no two nodes were together in all of them."""
    return next(splits for splits in counting() if parts**splits >= nodes)


def splits_into(nodes: Sequence[str], parts: int, count: int) -> list[Split]:
    """Return ``count`` splits of nodes into so many groups, whose sizes differ by one at most."""
    place = {node: number for number, node in enumerate(nodes)}
    so_far: dict[str, list[int]] = {node: [] for node in nodes}
    apart, splits = apart_after(len(nodes), parts), []
    for number in range(count):
        if 0 < number < apart:
            groups = _dealt(sorted(nodes, key=so_far.__getitem__), parts)
        else:
            groups = _in_a_row(sorted(nodes, key=lambda node: _check_digit(so_far[node], number - apart, parts)), parts)
        for part, group in enumerate(groups):
            for node in group:
                so_far[node].append(part)
        splits.append([sorted(group, key=place.__getitem__) for group in groups])
    return splits


def _dealt(nodes: Sequence[str], parts: int) -> Split:
    """Return groups after dealing out nodes in turn; nodes that were together so far follow each other."""
    return [list(nodes[part::parts]) for part in range(parts)]


def _in_a_row(nodes: Sequence[str], parts: int) -> Split:
    ends = [part * len(nodes) // parts for part in range(parts + 1)]
    return [list(nodes[first:last]) for first, last in pairwise(ends)]


def _check_digit(so_far: Sequence[int], number: int, parts: int) -> int:
    """Return a group that differs for nodes that were together in all splits so far but one, as check digits do."""
    return sum((1 + number * place) * group for place, group in enumerate(so_far)) % parts


def with_proven(suspects: Sequence[str], proven: Sequence[str], size: int, count: int) -> list[Split]:
    """Return splits with each suspect ``count`` times in a group of proven nodes, and other groups without suspects.

    A group has ``size`` nodes, or as many as there are. Its proven nodes differ from split to split.
    """
    size = min(size, (1 + len(proven)) // 2)
    if size < 2:
        return []
    at_once = max(1, (len(proven) - size) // (size - 1))
    splits = []
    for number in range(count):
        for first in range(0, len(suspects), at_once):
            tested = suspects[first : first + at_once]
            # The step differs each time, so that a suspect gets other partners.
            start = number * size % len(proven)
            left = [*proven[start:], *proven[:start]]
            groups = [[node, *left[place * (size - 1) :][: size - 1]] for place, node in enumerate(tested)]
            splits.append([*groups, left[len(tested) * (size - 1) :][:size]])
    return splits


_MOST_SLOW = 16


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
    """Return by how much each of a node's groups exceeds its split, leaving out groups with other slow nodes.

    The values are logarithms. A group that is the whole set has nothing to compare with.
    """
    excesses = []
    for split in splits_of(found):
        there = [one for one in split if one.samples and not slow & set(one.nodes)]
        others = [one.cost for one in there if node not in one.nodes]
        excesses += [one.cost - float(np.median(others)) for one in there if others and node in one.nodes]
    return excesses


class Splits:
    """Who worked with whom in which split: for each split, the group of each node, or -1 if it had none."""

    def __init__(self, splits: Sequence[Sequence[Collection[int]]], nodes: int) -> None:
        """Lay them out as a table with a row for each split and a column for each node."""
        self.parts = max(map(len, splits), default=0)
        self.group = np.full((len(splits), nodes), -1)
        for number, groups in enumerate(splits):
            for part, group in enumerate(groups):
                self.group[number, list(group)] = part

    def fit(self, costs: Values, stands_out: Callable[[float, Values], bool]) -> Values:
        """Return the delay that each node adds to its groups, given the logarithms of costs: a row for each split.

        A missing group is NaN. ``stands_out`` tells whether an effect is far enough from the effects of other nodes,
        measured without it, to be taken out.
        """
        slow: dict[int, float] = {}
        effects = self._effects(costs)
        for _number in range(min(_MOST_SLOW, len(effects) // self.parts)):
            rest = [-math.inf if node in slow else float(effect) for node, effect in enumerate(effects)]
            worst = int(np.argmax(rest))
            without = self._effects(self._without(costs, {**slow, worst: rest[worst]}))
            others = [float(effect) for node, effect in enumerate(without) if node != worst and node not in slow]
            if not stands_out(rest[worst], np.array(others)):
                break
            slow[worst] = rest[worst]
            # Each effect is measured with the other effects taken out.
            for node in slow:
                other_effects = {other: by for other, by in slow.items() if other != node}
                slow[node] = float(self._effects(self._without(costs, other_effects))[node])
            effects = self._effects(self._without(costs, slow))
        for node, by in slow.items():
            effects[node] = by
        return effects

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


def _excess(row: Values) -> Values:
    """Return how much each group exceeds the others of its split, NaN if there is no other."""
    found = np.full(len(row), np.nan)
    for place in np.flatnonzero(np.isfinite(row)):
        others = np.delete(row, place)
        if np.isfinite(others).any():
            found[place] = row[place] - np.nanmedian(others)
    return found
