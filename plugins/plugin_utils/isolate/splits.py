# SPDX-License-Identifier: GPL-3.0-or-later
"""Splits of all nodes into groups that work at the same time: the whole set, its halves and its quarters.

Whoever is slow only in groups makes each of its groups slow, so it is what they have in common. Splits of the smallest
size are therefore dealt so that no two nodes are together in all of them: what was together so far goes to different
groups, as with cards. The number of splits grows with the logarithm of the number of nodes. The first
split of each size has neighbours in the inventory together, which mostly share a switch.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count as counting
from itertools import pairwise

Split = list[list[str]]

# Fewer nodes than this are hardly a group: pairs say as much.
LEAST_GROUP = 4
# One group can be compared with nothing.
LEAST_NODES_OF_GROUPS = 2 * LEAST_GROUP
_PARTS = (2, 4)
# Splits beyond those that keep any two nodes apart: one odd measurement must not point to another node.
_SPARE = 2
# One split of neighbours, and one of nodes that are far from each other.
_FOR_SIZE = 2


def planned_splits(nodes: Sequence[str]) -> list[Split]:
    """Return the splits of some nodes, the largest groups first; none where there are not two groups of a size."""
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
    """Return groups to which nodes are dealt in turn; those that were together so far follow each other."""
    return [list(nodes[part::parts]) for part in range(parts)]


def _in_a_row(nodes: Sequence[str], parts: int) -> Split:
    ends = [part * len(nodes) // parts for part in range(parts + 1)]
    return [list(nodes[first:last]) for first, last in pairwise(ends)]


def _check_digit(so_far: Sequence[int], number: int, parts: int) -> int:
    """Return a group that differs for nodes that were together in all splits so far but one, as check digits do."""
    return sum((1 + number * place) * group for place, group in enumerate(so_far)) % parts


def with_proven(suspects: Sequence[str], proven: Sequence[str], size: int, count: int) -> list[Split]:
    """Return splits in which each suspect is ``count`` times in a group of proven nodes, and others are without any.

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
