# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of an isolation: which tests run on which nodes, how long they take, and whether the budget allows it."""

from __future__ import annotations

import math
import typing as t
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import TypedDict

from ..text.words import counted, listed
from .groups import LEAST_NODES_OF_GROUPS, Split, planned_splits
from .pairs import Pair, rounds_of_pairs

# With three partners a slow node stands out against one slow link and against one slow partner.
LEAST_ROUNDS = 3
# Seven rounds are all pairs of eight nodes. More find little more, see benchmarks/isolate_power.py; and with more nodes
# to compare with, fewer rounds find as much.
_MOST_ROUNDS = 7
_FEW_NODES = 16
# Suspects are tested once more by themselves, and again if there is time for it. They meet two proven nodes, and are in
# two groups of proven nodes.
CONFIRMING_ROUNDS = 2
LEAST_NODES = 3
MOST_MINUTES = 1440


class PlanError(ValueError):
    """No tests can be planned for these nodes, this budget and these probes."""


@dataclass(frozen=True)
class Cost:
    """How many seconds a test of each kind takes: all probes of single nodes, of a round of pairs, and of groups."""

    single: float
    pair: float
    group: float = 0.0


class PlannedTests(TypedDict):
    """The tests of an isolation.

    ``pairs`` are rounds, each of disjoint pairs that are tested at the same time, and ``groups`` the same for groups.
    ``seconds`` and ``node_minutes`` are the cost of ``sweep`` and ``confirmation``; the latter assumes one suspect in
    eight nodes, or as many as a run has, and is left out if nobody is suspected. ``links`` is the fraction of all links
    that is tested, ``confirming`` the most rounds of pairs, and ``confirming_groups`` of groups, that the budget leaves
    for suspects. ``spare`` are the seconds of the budget beyond ``seconds``; an earlier version wrote none. Each test
    runs the ``probes``.
    """

    singles: list[str]
    pairs: list[list[Pair]]
    groups: list[Split]
    confirming: int
    confirming_groups: int
    spare: t.NotRequired[float]
    links: float
    seconds: dict[str, float]
    node_minutes: dict[str, float]
    probes: t.NotRequired[list[str]]


def plan_tests(
    nodes: Sequence[str], cost: Cost, budget_minutes: float, rounds: int = 0, suspects: int = 0
) -> PlannedTests:
    """Return the tests of some nodes that fit into the budget, with ``rounds`` of pairs (0: as many as are worth it).

    This many ``suspects`` are tested again in any case. Rounds of pairs or groups need a probe of pairs or groups.
    PlanError for too few nodes, or for a budget that is missing or too small.
    """
    if len(nodes) < LEAST_NODES:
        raise PlanError(
            f"{len(nodes)} nodes cannot be compared: at least {LEAST_NODES} are needed, as of two nobody knows which "
            "one is slow"
        )
    if not 0 < budget_minutes <= MOST_MINUTES:
        raise PlanError(
            f"isolate_budget is {budget_minutes:g}, but must be more than 0 and up to {MOST_MINUTES} minutes"
        )
    groups = planned_splits(nodes) if cost.group else []
    if cost.group and not groups:
        raise PlanError(
            f"{len(nodes)} nodes make no groups that can be compared: at least {LEAST_NODES_OF_GROUPS} are needed; "
            "leave the probes of groups out of isolate_probes"
        )
    confirming = cost.single + CONFIRMING_ROUNDS * (cost.pair + (cost.group if groups else 0))
    fixed = cost.single + confirming + len(groups) * cost.group
    possible = len(nodes) - 1 + len(nodes) % 2 if cost.pair else 0
    least = min(rounds or LEAST_ROUNDS, possible)
    left = 60 * budget_minutes - fixed + 1e-9
    affordable = math.floor(left / cost.pair) if cost.pair else 0
    if left < 0 or affordable < least:
        needed = math.ceil((fixed + least * cost.pair) / 6) / 10
        rounds_of = {"pairs": least, "groups": len(groups)}
        rest = " and ".join(f"{count} rounds of {what}" for what, count in rounds_of.items() if count)
        tests = f"the tests of {len(nodes)} nodes{f' with {rest}' if rest else ''}"
        raise PlanError(
            f"{budget_minutes:g} minutes are too few: {tests}, and their confirmation, take {needed:g} minutes"
        )
    pairs = rounds_of_pairs(nodes, min(rounds or usual_rounds(len(nodes)), affordable, possible))
    tested = sum(map(len, pairs))
    suspects = max(1, len(nodes) // 8, suspects)
    return {
        "singles": list(nodes),
        "pairs": pairs,
        "groups": groups,
        "confirming": CONFIRMING_ROUNDS + affordable - len(pairs),
        "confirming_groups": CONFIRMING_ROUNDS if groups else 0,
        "spare": left - len(pairs) * cost.pair,
        "links": tested / (len(nodes) * (len(nodes) - 1) / 2),
        "seconds": {
            "sweep": cost.single + len(pairs) * cost.pair + len(groups) * cost.group,
            "confirmation": confirming,
        },
        "node_minutes": {
            "sweep": (len(nodes) * (cost.single + len(groups) * cost.group) + 2 * tested * cost.pair) / 60,
            "confirmation": (
                # Each with one proven node beside it.
                suspects * 2 * (cost.single + CONFIRMING_ROUNDS * cost.pair)
                # All nodes are at most in a group of a suspect, or in one without any.
                + (len(nodes) * CONFIRMING_ROUNDS * cost.group if groups else 0)
            )
            / 60,
        },
    }


def usual_rounds(nodes: int) -> int:
    """Return how many rounds of pairs are worth their time: 7 for up to 16 nodes, 5 for 32, 3 from 64 on."""
    return max(LEAST_ROUNDS, _MOST_ROUNDS - round(2 * math.log2(max(nodes / _FEW_NODES, 1))))


def planned_in_words(tests: PlannedTests) -> list[str]:
    """Return the planned tests, a line for each kind, with minutes and node-minutes."""
    nodes = len(tests["singles"])
    lines = [f"Every node by itself, {nodes} at the same time"]
    if tests["pairs"]:
        lines.append(
            f"{len(tests['pairs'])} rounds of pairs, up to {max(map(len, tests['pairs']))} pairs at the same time: "
            f"{_percent(tests['links'])} of all links"
        )
    if tests["groups"]:
        lines.append(groups_in_words(tests))
    if "probes" in tests:
        lines.append(f"Probes: {', '.join(tests['probes'])}")
    lines.append("Suspects are tested again, against nodes that are not suspected")
    for stage, when in (("sweep", "for all nodes"), ("confirmation", "more where a node is suspected")):
        minutes, node_minutes = tests["seconds"][stage] / 60, tests["node_minutes"][stage]
        lines.append(f"At most {minutes:.1f} minutes and {node_minutes:.1f} node-minutes {when}")
    return lines


def smallest_group(tests: PlannedTests) -> int:
    """Return how many nodes the smallest groups have, 0 without groups."""
    return min((len(group) for groups in tests["groups"] for group in groups), default=0)


def groups_in_words(tests: PlannedTests) -> str:
    """Return how many rounds of groups there are, and of how many nodes: ``7 rounds of groups: 1 of 16 nodes, …``."""
    sizes = Counter((len(groups), max(map(len, groups))) for groups in tests["groups"])
    of_sizes = [
        f"{counted(rounds, 'split')} into {parts} of {size}" if parts > 1 else f"all {size} nodes together"
        for (parts, size), rounds in sizes.items()
    ]
    return f"{len(tests['groups'])} rounds of groups: {listed(of_sizes)}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else f"{100 * share:.1g} %"
