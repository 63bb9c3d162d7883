# SPDX-License-Identifier: GPL-3.0-or-later
"""Slowness that many nodes share: all nodes in a place in the network, such as a rack, or about half of the fleet.

Where most nodes of a place are bad, the place is what to look at, and sixteen names are no help. Where about half of
the nodes are slow, nobody is the last, so nobody is accused; but the slower ones lie far beyond the faster ones. Nodes
may have a second level of speed for a moment, so the same nodes have to be slow when all are tested again.
"""

from __future__ import annotations

import math
import statistics
import typing as t
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from typing_extensions import TypedDict

from .means import MEAN
from .measured import Measured, Stage, Suspect
from .score import Scored, scores_of

_STAGES: tuple[Stage, ...] = ("sweep", "confirmation")
_LEAST_NODES = 3
_MOST = 3 / 4
_FEW = 4
# Fewer than this part of the nodes are the bad ones, and are accused by themselves.
_LEAST_PART = 1 / 4


class SlowTogether(TypedDict):
    """Nodes that are slow together, by a fraction of the others' time in a probe.

    ``places`` are where most of them are, empty if nothing is known of that, and ``of`` how many nodes were tested
    there, or anywhere.
    """

    places: list[str]
    nodes: list[str]
    of: int
    probe: str
    slower_by: float


def slow_places(suspects: Iterable[Suspect], places: Mapping[str, str]) -> list[SlowTogether]:
    """Return the places most of whose nodes are suspects, given where each tested node is: ``spine1/rack3``."""
    slow: dict[str, Suspect] = {}
    for one in suspects:
        if one["other"] is None and one["slower_by"] is not None:
            slow.setdefault(one["node"], one)
    return [
        SlowTogether(
            places=[place],
            nodes=(bad := [node for node in nodes if node in slow]),
            of=len(nodes),
            probe=Counter(slow[node]["probe"] for node in bad).most_common(1)[0][0],
            slower_by=statistics.median(t.cast("float", slow[node]["slower_by"]) for node in bad),
        )
        for place, nodes in _places_of(slow, places).items()
    ]


def slow_part(measured: Sequence[Measured], places: Mapping[str, str], least: float) -> SlowTogether | None:
    """Return the slower part of the nodes that is as slow when they are tested again, if there is one."""
    sweep, again = (part_of(scores_of(measured, stage, least), places, least) for stage in _STAGES)
    return sweep if sweep and again and sweep["nodes"] == again["nodes"] else None


def part_of(scored: Mapping[str, Scored], places: Mapping[str, str], least: float) -> SlowTogether | None:
    """Return the slower part of the nodes, if about as many are as much faster; by themselves, in any reading.

    The two parts are farther apart than the nodes of either, and by at least the fraction ``least``.
    """
    found: list[tuple[float, str, list[str], int]] = []
    for probe, of_probe in scored.items():
        effects: dict[str, float] = {}
        for score in of_probe.scores if of_probe.of == "nodes" else ():
            if math.isfinite(score.effect):
                node = score.unit.nodes[0]
                effects[node] = max(effects.get(node, -math.inf), score.effect)
        ordered = sorted(effects.values())
        fewest = max(_LEAST_NODES, math.ceil(_LEAST_PART * len(ordered)))
        for place in range(fewest, len(ordered) - fewest + 1):
            fast, slow = ordered[:place], ordered[place:]
            # Few nodes seldom show how far apart nodes of their kind can be.
            widest = max(fast[-1] - fast[0], slow[-1] - slow[0]) * (1 + _FEW / min(len(fast), len(slow)))
            if slow[0] - fast[-1] >= max(math.log1p(least), widest):
                by = statistics.median(slow) - statistics.median(fast)
                nodes = sorted(node for node, effect in effects.items() if effect >= slow[0])
                found.append((by, probe, nodes, len(ordered)))
    if not found:
        return None
    # A single reading says more than the mean of all.
    by, probe, nodes, count = max(found, key=lambda one: (one[1] != MEAN, one[0]))
    there = _places_of(nodes, places)
    covered = {node for of_place in there.values() for node in of_place}
    known = len(covered & {*nodes}) >= _MOST * len(nodes)
    return SlowTogether(
        places=list(there) if known else [],
        nodes=nodes,
        of=len(covered) if known else count,
        probe=probe,
        slower_by=math.expm1(by),
    )


def _places_of(nodes: Collection[str], places: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the outermost places most of whose nodes are among these, each with its nodes, but not everywhere."""
    there: dict[str, list[str]] = {}
    for node, place in places.items():
        levels = [level for level in place.split("/") if level]
        for depth in range(len(levels)):
            there.setdefault("/".join(levels[: depth + 1]), []).append(node)
    found: dict[str, list[str]] = {}
    for place, members in sorted(there.items(), key=lambda one: -len(one[1])):
        if any(place.startswith(f"{outer}/") for outer in found) or not _LEAST_NODES <= len(members) < len(places):
            continue
        if len({*members} & {*nodes}) >= _MOST * len(members):
            found[place] = members
    return found
