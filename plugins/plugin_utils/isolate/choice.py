# SPDX-License-Identifier: GPL-3.0-or-later
"""Which probes are done on the nodes: those that are named, or all that every node can do and the budget allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...module_utils.node.probes.known import PROBES, Of, Probe
from .answers import FoundHere
from .groups import LEAST_SPLITS
from .planned import LEAST_ROUNDS, Cost, PlanError

# Asking a node for its tests takes this long at most.
_ROUND_TRIP_SECONDS = 2


@dataclass(frozen=True)
class Chosen:
    """The probes that run on all nodes, by name, and the quantity that each probe with a unit measures."""

    names: tuple[str, ...]
    units: Mapping[str, list[str]] = field(default_factory=dict)

    def probes(self, of: Of) -> list[Probe]:
        """Return the probes of single nodes, of pairs or of groups."""
        return [PROBES[name] for name in self.names if PROBES[name].of == of]

    def cost(self) -> Cost:
        """Return the longest time that tests take, including the round trip of their request."""
        return Cost(self.seconds("nodes"), self.seconds("pairs"), self.seconds("groups"))

    def seconds(self, of: Of) -> float:
        """Return the longest time that all probes of single nodes, of a pair or of a group take."""
        probes = self.probes(of)
        seconds = sum(probe.seconds + probe.more * len(self.units.get(probe.name, ())) for probe in probes)
        return seconds + _ROUND_TRIP_SECONDS if probes else 0


BUILT_IN = Chosen(
    tuple(probe.name for probe in PROBES.values() if probe.by_default and not (probe.needs or probe.instead_of))
)


def looked_for(named: Sequence[str], rehearsal: bool) -> list[str]:
    """Return the probes that need nodes to be asked whether they can run them."""
    asked = named or ([] if rehearsal else [probe.name for probe in PROBES.values() if probe.by_default])
    return [name for name in asked if name in PROBES and PROBES[name].needs]


def instead(asked: Sequence[str]) -> list[str]:
    """Return the default probes to use when some that need asking cannot run."""
    return [probe.name for probe in PROBES.values() if probe.instead_of in asked and not probe.needs]


def chosen(
    named: Sequence[str],
    asked: Sequence[str],
    found: Mapping[str, Mapping[str, FoundHere]],
    fits: Callable[[Chosen], bool],
) -> tuple[Chosen, list[str]]:
    """Return the probes to run, given what each node has ``found``, and sentences about skipped ones.

    Nodes were ``asked`` for these probes. If no probes are ``named``, a probe is skipped when any node cannot run it,
    or when the tests would not fit with it: the one that proves least for its time first. A named probe runs on the
    nodes that can run it; PlanError if none can.
    At least one node must have answered, unless none was asked for anything.
    """
    choice = Chosen(tuple(named)) if named else BUILT_IN
    notes: list[str] = []
    impossible: dict[str, str] = {}
    unfit: list[str] = []
    for name in sorted(asked, key=lambda name: (0.0, 0.0) if named else _order(name, found)):
        if not named and PROBES[name].instead_of in choice.names:
            continue
        lacking = _lacking(name, found)
        able = [of_node[name]["units"] for node, of_node in found.items() if node not in lacking]
        units = {**choice.units, name: _of_most(able)}
        more = Chosen(choice.names if named else (*choice.names, name), units)
        if not able:
            impossible[name] = f"no node can do it: {_first(lacking)}"
        elif not PROBES[name].readings(units[name]):
            impossible[name] = "no adapter has the same name on half of the nodes"
        elif named:
            choice = more
        elif lacking:
            unfit.append(name)
            notes.append(f"{name} is skipped: some nodes cannot run it ({_first(lacking)})")
        elif not fits(more):
            notes.append(
                f"{name} is skipped: isolate_budget does not allow it, and the others prove more for their minutes"
            )
        else:
            choice = more
    unfit += impossible
    for name in [] if named else instead(asked):
        more = Chosen((*choice.names, name), choice.units)
        # Where the budget has no room for groups of GPUs, groups over TCP prove less than the time is worth.
        if PROBES[name].instead_of in unfit and fits(more):
            choice = more
    if named and impossible:
        raise PlanError(". ".join(f"isolate_probes contains {name}, but {why}" for name, why in impossible.items()))
    return choice, [*(f"{name} is skipped: {why}" for name, why in impossible.items()), *notes]


# How often a sweep does a test, at least.
_TIMES: dict[Of, int] = {"nodes": 1, "pairs": LEAST_ROUNDS, "groups": LEAST_SPLITS}


def _order(name: str, found: Mapping[str, Mapping[str, FoundHere]]) -> tuple[float, float]:
    """Return the place of a probe among others: those that prove most for their time first, substitutes last."""
    return float(bool(PROBES[name].instead_of)), _seconds_of_a_reading(name, found)


def _seconds_of_a_reading(name: str, found: Mapping[str, Mapping[str, FoundHere]]) -> float:
    """Return the seconds of a sweep for each reading of a probe: the more, the less it proves for its time."""
    probe = PROBES[name]
    units = max((len(of_node[name]["units"]) for of_node in found.values() if name in of_node), default=0)
    readings = max(units, 1) * (1 + len(probe.more_readings))
    return _TIMES[probe.of] * (probe.seconds + probe.more * units) / readings


def unable(named: Sequence[str], found: Mapping[str, Mapping[str, FoundHere]]) -> dict[str, str]:
    """Return the nodes that lack a requirement of the ``named`` probes, each with its missing requirement."""
    lacks: dict[str, list[str]] = {}
    for name in named:
        for node, why in _lacking(name, found).items() if PROBES[name].needs else ():
            lacks.setdefault(node, []).append(f"{name}: {why}")
    return {node: "; ".join(why) for node, why in lacks.items()}


def _lacking(name: str, found: Mapping[str, Mapping[str, FoundHere]]) -> dict[str, str]:
    """Return the requirements that nodes lack for a probe; a node that was asked and did not answer lacks it too."""
    lacks = {node: one[name]["lacks"] if name in one else "it said nothing of that" for node, one in found.items()}
    return {node: why for node, why in lacks.items() if why}


def _first(lacking: Mapping[str, str]) -> str:
    node, lacks = next(iter(lacking.items()))
    others = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
    return f"{node}{others}: {lacks}"


def _of_most(units: Iterable[Sequence[str]]) -> list[str]:
    """Return the units that at least half of these nodes have: one that a node lacks is a fault of that node."""
    lists = list(units)
    counts = Counter(unit for of_node in lists for unit in of_node)
    return [unit for unit, count in counts.items() if 2 * count >= len(lists)]
