# SPDX-License-Identifier: GPL-3.0-or-later
"""The measurements of tests and the conclusions from them: plain values passed between steps of an isolation."""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass

from typing_extensions import TypedDict

# A sweep tests every node; a confirmation tests those again that it made suspect, against nodes that it did not.
Stage: t.TypeAlias = t.Literal["sweep", "confirmation"]


@dataclass(frozen=True)
class Measured:
    """What one test found on one node, or on a pair of nodes.

    ``samples`` are seconds for the same work, whatever a tool prints: the more, the slower. ``part`` is the tested part
    of the node, such as ``cpu`` or ``gpu 3``; ``problem`` says why there is no sample. With neither, the test found no
    problem and measures nothing else.
    """

    probe: str
    part: str
    nodes: tuple[str, ...]
    samples: tuple[float, ...]
    stage: Stage = "sweep"
    problem: str = ""

    @property
    def cost(self) -> float:
        """Return the natural logarithm of the median sample, so that differences are ratios; NaN without samples."""
        if not self.samples:
            return math.nan
        ordered, half = sorted(self.samples), len(self.samples) // 2
        return math.log(ordered[half] if len(ordered) % 2 else math.sqrt(ordered[half - 1] * ordered[half]))


@dataclass(frozen=True)
class Unit:
    """What is judged: a part of a node, or with two nodes the link between them."""

    nodes: tuple[str, ...]
    part: str


@dataclass(frozen=True)
class Score:
    """How far a unit is from the others of a probe.

    ``effect`` is the logarithm of how many times as long it takes, ``spread`` the robust standard deviation of all
    units, and ``needed`` how many of these it takes; ``broken`` says why it could not be measured.
    """

    probe: str
    unit: Unit
    effect: float
    spread: float
    needed: float
    broken: str = ""

    @property
    def proof(self) -> float | None:
        """Return the least fraction by which the unit would have to be slower to be accused; None if nothing would."""
        return math.expm1(self.needed * self.spread) if math.isfinite(self.needed) else None

    @property
    def nearness(self) -> float:
        """Return the deviations from the others as a part of those that are needed: an accusation begins at 1."""
        return self.effect / self.spread / self.needed


class Suspect(TypedDict):
    """A node, or the link between two, that was found to be slow or broken.

    ``slower_by`` is a fraction of the others' time, ``interval`` its lower and upper bound at 95 %; both are None if it
    is broken. ``values`` belong to the ``evidence``, see `text.isolation`; an earlier version wrote none.
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


class Unproved(TypedDict):
    """A node or link that was slow in both tests, by too little to accuse it among so few nodes.

    ``slower_by`` is a fraction of the others' time, and ``proof`` the least that would be proof.
    """

    node: str
    other: str | None
    part: str
    probe: str
    slower_by: float
    proof: float
