# SPDX-License-Identifier: GPL-3.0-or-later
"""The measurements of tests and the conclusions from them: plain values passed between steps of an isolation."""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass

from typing_extensions import TypedDict

from .robust import Ending

# The logarithm of a ratio that no probe measures, and that a float can represent.
_MOST = 100.0
# A sweep tests every node; a confirmation tests those again that it made suspect, against nodes that it did not.
Stage: t.TypeAlias = t.Literal["sweep", "confirmation"]


@dataclass(frozen=True)
class Unit:
    """What is judged: a part of a node, or with two nodes the link between them, perhaps only from first to second."""

    nodes: tuple[str, ...]
    part: str
    one_way: bool = False


def ends_of(link: Unit) -> tuple[Unit, ...]:
    """Return the parts of the nodes at the ends of a link, or in a group; one way they are what sends and receives."""
    roles = (", sending", ", receiving") if link.one_way else [""] * len(link.nodes)
    return tuple(Unit((node,), f"{link.part}{role}") for node, role in zip(link.nodes, roles, strict=True))


@dataclass(frozen=True)
class Measured:
    """What one test found on one node, on a pair of nodes or on a group.

    Of a pair measured ``one_way`` the first node sends, and the second one receives. ``samples`` are seconds for the
    same work, whatever a tool prints: the more, the slower. ``part`` is the tested part of the node, such as ``cpu`` or
    ``gpu 3``; ``problem`` says why there is no sample. With neither, the test found no problem and measures nothing
    else.
    """

    probe: str
    part: str
    nodes: tuple[str, ...]
    samples: tuple[float, ...]
    stage: Stage = "sweep"
    problem: str = ""
    one_way: bool = False

    @property
    def ends(self) -> tuple[Unit, ...]:
        """Return the part of each node that took part: what sends may be slow where what receives is not."""
        return ends_of(self.link)

    @property
    def link(self) -> Unit:
        """Return what lies between the two nodes of a pair, or the part of a single node."""
        return Unit(self.nodes, self.part, self.one_way)

    @property
    def cost(self) -> float:
        """Return the natural logarithm of the median sample, so that differences are ratios; NaN without samples."""
        if not self.samples:
            return math.nan
        ordered, half = sorted(self.samples), len(self.samples) // 2
        return math.log(ordered[half] if len(ordered) % 2 else math.sqrt(ordered[half - 1] * ordered[half]))


@dataclass(frozen=True)
class Score:
    """How far a unit is from the others of a probe.

    ``effect`` is the logarithm of how many times as long it takes, ``spread`` the robust standard deviation of all
    units, and ``needed`` how many of these it takes; ``ending`` is where good units end. ``broken`` says why it could
    not be measured.
    """

    probe: str
    unit: Unit
    effect: float
    spread: float
    needed: float
    ending: Ending
    broken: str = ""

    def enough(self, share: float = 1.0) -> float:
        """Return the effect that makes a unit bad, or a share of it: more than noise, and than the last good unit."""
        return max(share * self.needed * self.spread, self.ending.last + share * self.ending.gap)

    @property
    def proof(self) -> float | None:
        """Return the least fraction by which the unit would have to be slower to be accused; None if nothing would."""
        return math.expm1(min(self.enough(), _MOST)) if math.isfinite(self.enough()) else None

    @property
    def nearness(self) -> float:
        """Return how near the unit is to an accusation, which begins at 1."""
        return min(self.effect / self.spread / self.needed, self.ending.share(self.effect))


class Fact(TypedDict):
    """A finding about a node that no probe measured, in the form of a `contracts.Reason`."""

    code: str
    case: t.NotRequired[str]
    node: str
    values: dict[str, t.Any]
    message: str


class Suspect(TypedDict):
    """A node, or the link between two, that was found to be slow or broken.

    A link that is ``one_way`` is bad from ``node`` to ``other`` alone. ``slower_by`` is a fraction of the others' time,
    ``interval`` its lower and upper bound at 95 %; both are None if it is broken. ``values`` belong to the
    ``evidence``, see `text.isolation`; an earlier version wrote none. A ``fact`` is a fault that no probe measured.
    One that others ``occupied`` meanwhile may be slow for that, so it is no proof of a fault.
    """

    node: str
    other: str | None
    part: str
    probe: str
    verdict: t.Literal["slow", "broken"]
    slower_by: float | None
    interval: tuple[float, float] | None
    evidence: str
    values: t.NotRequired[dict[str, t.Any]]
    one_way: t.NotRequired[bool]
    fact: t.NotRequired[Fact]
    occupied: t.NotRequired[bool]


class Unproved(TypedDict):
    """A node or link that was slow in both tests, by too little to accuse it among so few nodes.

    ``slower_by`` is a fraction of the others' time, None if it is broken, and ``proof`` the least that would be proof.
    One that was not ``tested_again`` had no place in the budget.
    """

    node: str
    other: str | None
    part: str
    probe: str
    slower_by: float | None
    proof: float
    one_way: t.NotRequired[bool]
    tested_again: t.NotRequired[bool]
