# SPDX-License-Identifier: GPL-3.0-or-later
"""Which probes are done on the nodes: those that are named, or all that every node can do and the budget allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...module_utils.node.probes.known import PROBES, Probe
from .answers import FoundHere
from .planned import Cost

# Of a round trip that asks for tests.
_ROUND_TRIP_SECONDS = 2


@dataclass(frozen=True)
class Chosen:
    """The probes that are done on all nodes, by their names, and what those that have units measure."""

    names: tuple[str, ...]
    units: Mapping[str, list[str]] = field(default_factory=dict)

    def probes(self, *, of_pairs: bool) -> list[Probe]:
        """Return the probes of single nodes, or of pairs."""
        return [PROBES[name] for name in self.names if PROBES[name].of_pairs is of_pairs]

    def cost(self) -> Cost:
        """Return what tests take at most, including the round trip that asks for them."""
        return Cost(single=self._seconds(of_pairs=False), pair=self._seconds(of_pairs=True))

    def _seconds(self, *, of_pairs: bool) -> float:
        probes = self.probes(of_pairs=of_pairs)
        seconds = sum(probe.seconds + probe.more * len(self.units.get(probe.name, ())) for probe in probes)
        return seconds + _ROUND_TRIP_SECONDS if probes else 0


BUILT_IN = Chosen(tuple(probe.name for probe in PROBES.values() if probe.by_default and not probe.needs))


def looked_for(named: Sequence[str], rehearsal: bool) -> list[str]:
    """Return the probes of which nodes have to be asked whether they can do them."""
    asked = named or ([] if rehearsal else [probe.name for probe in PROBES.values() if probe.by_default])
    return [name for name in asked if PROBES[name].needs]


def chosen(
    named: Sequence[str], found: Mapping[str, Mapping[str, FoundHere]], fits: Callable[[Chosen], bool]
) -> tuple[Chosen, list[str]]:
    """Return the probes that are done, given what each node has ``found``, and sentences about those left out.

    Without ``named`` ones, a probe is left out if any node cannot do it, or if the tests would not fit with it. One
    that is named is done, and fails on the nodes that cannot do it.
    """
    asked = dict.fromkeys(name for of_node in found.values() for name in of_node)
    units = {
        name: _of_most([of_node[name]["units"] for of_node in found.values() if name in of_node]) for name in asked
    }
    if named:
        return Chosen(tuple(named), units), []
    choice, notes = BUILT_IN, []
    for name in asked:
        lacking = {node: one[name]["lacks"] for node, one in found.items() if name in one and one[name]["lacks"]}
        more = Chosen((*choice.names, name), {**choice.units, name: units[name]})
        if len(lacking) == len(found):
            continue
        if lacking:
            node, lacks = next(iter(lacking.items()))
            others = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            notes.append(f"{name} is left out, as not all nodes can do it: {node}{others}: {lacks}")
        elif not fits(more):
            notes.append(f"{name} is left out, as isolate_budget does not allow it")
        else:
            choice = more
    return choice, notes


def _of_most(units: Iterable[Sequence[str]]) -> list[str]:
    """Return the units that at least half of the nodes have: one that a node lacks is a fault of that node."""
    lists = list(units)
    counts = Counter(unit for of_node in lists for unit in of_node)
    return [unit for unit, count in counts.items() if 2 * count >= len(lists)]
