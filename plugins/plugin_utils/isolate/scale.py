# SPDX-License-Identifier: GPL-3.0-or-later
"""Slowness at scale only: groups that are slow although all smaller ones, and all of their nodes, are not.

No node is at fault for that, but the network, its settings, or its routing. So no node is accused; the result is the
size from which groups are slow, and by how much.
"""

from __future__ import annotations

import math
import typing as t
from collections.abc import Iterable, Sequence

import numpy as np
from typing_extensions import TypedDict

from .groups import Split, by_size
from .measured import Measured, Stage, Suspect
from .readings import OF_SCALE
from .robust import deviations_needed, spread
from .score import FALSE_ACCUSATIONS

# Some of it is normal: a larger group is more likely to wait for somebody. Operators hardly look into less than this.
_ACCEPTED = math.log(1.1)
_LEAST_GROUPS = 3


class GroupFound(TypedDict):
    """The nodes of a group, the number of its split, and the fraction that it took longer than its size usually does.

    The fraction is None if the group failed.
    """

    nodes: list[str]
    split: int
    slower_by: float | None


class SizeFound(TypedDict):
    """What groups with so many ``nodes`` usually take: seconds, and the fraction more than the smallest groups do.

    Both are None if all of them failed.
    """

    nodes: int
    groups: int
    seconds: float | None
    slower_by: float | None


class SlowAtScale(TypedDict):
    """Groups of so many nodes are slower than smaller groups, by a fraction; None where they fail."""

    probe: str
    nodes: int
    than: int
    slower_by: float | None


def groups_of(probe: str, measured: Iterable[Measured]) -> list[GroupFound]:
    """Return the groups of a probe in the order of their tests."""
    sizes = by_size(_of(probe, measured))
    splits = [(split, _usual(splits)) for splits in sizes.values() for split in splits]
    return [
        {
            "nodes": list(one.nodes),
            "split": number,
            "slower_by": math.expm1(one.cost - usual) if one.samples and usual is not None else None,
        }
        for number, (split, usual) in enumerate(splits, 1)
        for one in split
    ]


def sizes_of(probe: str, measured: Iterable[Measured]) -> list[SizeFound]:
    """Return the time of a probe in groups of each size, the smallest first."""
    sizes = dict(reversed(by_size(_of(probe, measured)).items()))
    usual = {size: _usual(splits) for size, splits in sizes.items()}
    least = next(iter(usual.values()), None)
    return [
        {
            "nodes": size,
            "groups": sum(map(len, splits)),
            "seconds": None if (cost := usual[size]) is None else math.exp(cost),
            "slower_by": None if cost is None or least is None else math.expm1(cost - least),
        }
        for size, splits in sizes.items()
    ]


def at_scale(measured: Sequence[Measured], suspects: Iterable[Suspect]) -> list[SlowAtScale]:
    """Return by probe the size from which groups are slow: twice, and without an accused node or link."""
    bad = [{one["node"], one["other"] or one["node"]} for one in suspects]
    good = [one for one in measured if not any(nodes <= set(one.nodes) for nodes in bad)]
    found: list[SlowAtScale] = []
    for probe, slow in _slow_sizes(good).items():
        again = _of(probe, good, "confirmation")
        larger = [_cost(one) for one in again if _near(len(one.nodes), slow.size)]
        smaller = [one.cost for one in again if _near(len(one.nodes), slow.than) and one.samples]
        excess_again = float(np.median(larger) - np.median(smaller)) if larger and smaller else -math.inf
        if excess_again >= _ACCEPTED:
            least = min(slow.excess, excess_again)
            by = math.expm1(least) if math.isfinite(least) else None
            found.append({"probe": probe, "nodes": slow.size, "than": slow.than, "slower_by": by})
    return found


def again_at_scale(measured: Sequence[Measured], planned: Sequence[Split]) -> list[Split]:
    """Return the tests to repeat if groups of a size are slow: a split of that size, and one of the smallest."""
    slow = list(_slow_sizes(measured).values())
    if not slow:
        return []
    first = min(slow, key=lambda one: one.size)
    of_size = [[split for split in planned if _near(max(map(len, split)), size)] for size in (first.size, first.than)]
    return [splits[0] for splits in of_size if splits]


class _Slow(t.NamedTuple):
    """A size of groups that takes longer than the smallest one, by the logarithm of how many times as long."""

    size: int
    than: int
    excess: float


def _slow_sizes(measured: Sequence[Measured]) -> dict[str, _Slow]:
    """Return by probe the smallest size of groups that is slow in the sweep."""
    found = {probe: _slow_size(_of(probe, measured, "sweep")) for probe in OF_SCALE}
    return {probe: slow for probe, slow in found.items() if slow}


def _slow_size(measured: Sequence[Measured]) -> _Slow | None:
    sizes = [(size, [one for split in splits for one in split]) for size, splits in by_size(measured).items()]
    if len(sizes) < 2:
        return None
    (than, smallest), *larger = reversed(sizes)
    costs = np.array([one.cost for one in smallest if one.samples])
    if len(costs) < _LEAST_GROUPS:
        return None
    needed = spread(costs) * deviations_needed(len(larger), FALSE_ACCUSATIONS / len(OF_SCALE), len(costs))
    for size, groups in larger:
        excess = float(np.median([_cost(one) for one in groups]) - np.median(costs))
        if excess >= max(_ACCEPTED, needed):
            return _Slow(size, than, excess)
    return None


def _of(probe: str, measured: Iterable[Measured], stage: Stage = "sweep") -> list[Measured]:
    return [one for one in measured if one.probe == probe and one.stage == stage and len(one.nodes) > 2]


def _usual(splits: Iterable[Iterable[Measured]]) -> float | None:
    costs = [one.cost for split in splits for one in split if one.samples]
    return float(np.median(costs)) if costs else None


def _cost(one: Measured) -> float:
    return one.cost if one.samples else math.inf


def _near(nodes: int, size: int) -> bool:
    """Return whether a group of so many nodes counts as one of a size; some nodes may have been missing."""
    return abs(math.log2(nodes / size)) < 0.5
