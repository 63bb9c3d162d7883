# SPDX-License-Identifier: GPL-3.0-or-later
"""What is remembered of nodes over many isolations: how each stands to the others now, and to itself before."""

from __future__ import annotations

import statistics
import typing as t
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from .probe_store import ProbeRow

# Each node is compared with this many of its earlier isolations, which are also drawn.
_COMPARED = 20
Part = tuple[str, str]


class Drift(t.NamedTuple):
    """How much longer a part of a node takes than in earlier isolations, the first of which was ``since`` then.

    ``by`` is a fraction of the median of ``values`` but the last, in seconds, or of what is usual for pairs.
    """

    probe: str
    part: str
    by: float
    since: datetime
    values: list[float]


class NodeMemory(t.NamedTuple):
    """A node: its ``rank`` among all, the fastest first, by the mean of what it ``excess``-ively takes (a fraction).

    ``slowest`` is the probe and the part in which it is furthest behind, and by how much; ``drifts`` are the furthest
    first. What is None was not measured.
    """

    node: str
    rank: int | None
    excess: float | None
    slowest: tuple[str, str, float] | None
    drifts: list[Drift]
    verdict: str
    tested: datetime
    isolation: str
    isolations: int


def memory_of(rows: Sequence[ProbeRow]) -> list[NodeMemory]:
    """Return what is remembered of each node, the slowest first; ``rows`` are in the order of their isolations."""
    of_nodes: dict[str, list[ProbeRow]] = {}
    for row in rows:
        of_nodes.setdefault(row["node"], []).append(row)
    found = [_of_node(node, own) for node, own in of_nodes.items()]
    fastest_first = sorted((one for one in found if one.excess is not None), key=lambda one: one.excess or 0.0)
    ranks = {one.node: rank for rank, one in enumerate(fastest_first, 1)}
    ranked = [one._replace(rank=ranks.get(one.node)) for one in found]
    # Broken nodes have no rank, and come first.
    return sorted(ranked, key=lambda one: -(one.rank or len(ranked) + 1))


def usual_drifts(nodes: Iterable[NodeMemory], isolation: str, probes: Collection[str]) -> dict[str, float]:
    """Return how much longer the nodes of an isolation usually take by some probes than in their own earlier ones.

    It is the median of their drifts, as a fraction: what changed for all of them, such as a driver or a limit of power,
    shows only here.
    """
    found: dict[str, list[float]] = {}
    for node in nodes:
        for drift in node.drifts if node.isolation == isolation else ():
            if drift.probe in probes:
                found.setdefault(drift.probe, []).append(drift.by)
    return {probe: statistics.median(by) for probe, by in sorted(found.items())}


def _of_node(node: str, rows: Sequence[ProbeRow]) -> NodeMemory:
    last = rows[-1]
    latest = [row for row in rows if row["isolation"] == last["isolation"]]
    excesses = [(row["probe"], row["part"], row["excess"]) for row in latest if row["excess"] is not None]
    broken = len(excesses) < len(latest)
    return NodeMemory(
        node=node,
        rank=None,
        excess=None if broken or not excesses else statistics.fmean(by for _probe, _part, by in excesses),
        slowest=max(excesses, key=lambda one: one[2], default=None),
        drifts=sorted(_drifts(rows, last["isolation"]), key=lambda one: -abs(one.by)),
        verdict=last["verdict"],
        tested=last["at"],
        isolation=last["isolation"],
        isolations=len({row["isolation"] for row in rows}),
    )


def _drifts(rows: Iterable[ProbeRow], latest: str) -> t.Iterator[Drift]:
    of_parts: dict[Part, list[ProbeRow]] = {}
    for row in rows:
        if _value(row) is not None:
            of_parts.setdefault((row["probe"], row["part"]), []).append(row)
    for (probe, part), own in of_parts.items():
        *earlier, last = own[-_COMPARED - 1 :]
        if earlier and last["isolation"] == latest:
            values = [t.cast("float", _value(row)) for row in (*earlier, last)]
            yield Drift(probe, part, values[-1] / statistics.median(values[:-1]) - 1, earlier[0]["at"], values)


def _value(row: ProbeRow) -> float | None:
    """Return by what a node is compared with itself: seconds, or how many times as long as usual a pair takes.

    None where nothing was measured, or no time at all, which is nothing to compare with.
    """
    excess = row["excess"]
    value = row["seconds"] if row["seconds"] is not None or excess is None else 1 + excess
    return value if value and value > 0 else None
