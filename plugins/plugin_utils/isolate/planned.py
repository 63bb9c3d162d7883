# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of an isolation: which tests are done on which nodes, what that takes, and whether the budget allows it."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import TypedDict

from .rounds import Pair, rounds_of_pairs

# With three partners a node that is slow stands out against one slow link and against one slow partner.
LEAST_ROUNDS = 3
# Seven rounds are all pairs of eight nodes. More find little more, see benchmarks/isolate_power.py.
USUAL_ROUNDS = 7
# Suspects are tested once more by themselves, and meet two proven nodes.
CONFIRMING_ROUNDS = 2
LEAST_NODES = 3
MOST_MINUTES = 1440


class PlanError(ValueError):
    """No tests can be planned for these nodes, this budget and these probes."""


@dataclass(frozen=True)
class Cost:
    """How many seconds a test of each kind takes: all probes of single nodes, and all of a round of pairs."""

    single: float
    pair: float


class PlannedTests(TypedDict):
    """The tests of an isolation.

    ``pairs`` are rounds, each of disjoint pairs that are tested at the same time. ``seconds`` and ``node_minutes`` are
    those of ``sweep`` and ``confirmation``; the latter is as if there were one suspect in eight nodes, or as many as a
    run has, and is left out where nobody is suspected. ``links`` is the fraction of all links that is tested,
    ``confirming`` the most rounds of pairs that the budget leaves for suspects, ``probes`` are done by each test.
    """

    singles: list[str]
    pairs: list[list[Pair]]
    confirming: int
    links: float
    seconds: dict[str, float]
    node_minutes: dict[str, float]
    probes: t.NotRequired[list[str]]


def plan_tests(
    nodes: Sequence[str], cost: Cost, budget_minutes: float, rounds: int = 0, suspects: int = 0
) -> PlannedTests:
    """Return the tests of some nodes that fit into the budget, with ``rounds`` of pairs (0: as many as are worth it).

    So many ``suspects`` are tested again in any case. Without a probe of pairs there are no rounds. PlanError for too
    few nodes, or for a budget that is too small or none.
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
    confirming = cost.single + CONFIRMING_ROUNDS * cost.pair
    fixed = cost.single + confirming
    possible = len(nodes) - 1 + len(nodes) % 2 if cost.pair else 0
    least = min(rounds or LEAST_ROUNDS, possible)
    affordable = math.floor((60 * budget_minutes - fixed) / (cost.pair or math.inf) + 1e-9)
    if affordable < least:
        needed = math.ceil((fixed + least * cost.pair) / 6) / 10
        raise PlanError(
            f"{budget_minutes:g} minutes are too few: the tests of {len(nodes)} nodes with {least} rounds of pairs, "
            f"and their confirmation, take {needed:g} minutes"
        )
    pairs = rounds_of_pairs(nodes, min(rounds or USUAL_ROUNDS, affordable, possible))
    tested = sum(map(len, pairs))
    suspects = max(1, len(nodes) // 8, suspects)
    return {
        "singles": list(nodes),
        "pairs": pairs,
        "confirming": CONFIRMING_ROUNDS + affordable - len(pairs),
        "links": tested / (len(nodes) * (len(nodes) - 1) / 2),
        "seconds": {"sweep": cost.single + len(pairs) * cost.pair, "confirmation": confirming},
        "node_minutes": {
            "sweep": (len(nodes) * cost.single + 2 * tested * cost.pair) / 60,
            "confirmation": suspects * (2 * cost.single + 2 * CONFIRMING_ROUNDS * cost.pair) / 60,
        },
    }


def planned_in_words(tests: PlannedTests) -> list[str]:
    """Return what will be done, a line for each kind of test, with minutes and node-minutes."""
    nodes = len(tests["singles"])
    lines = [f"Every node by itself, {nodes} at the same time"]
    if tests["pairs"]:
        lines.append(
            f"{len(tests['pairs'])} rounds of pairs, up to {max(map(len, tests['pairs']))} pairs at the same time: "
            f"{_percent(tests['links'])} of all links"
        )
    if "probes" in tests:
        lines.append(f"Probes: {', '.join(tests['probes'])}")
    lines.append("Suspects are tested again, against nodes that are not suspected")
    for stage, when in (("sweep", "for all nodes"), ("confirmation", "more where a node is suspected")):
        minutes, node_minutes = tests["seconds"][stage] / 60, tests["node_minutes"][stage]
        lines.append(f"At most {minutes:.1f} minutes and {node_minutes:.1f} node-minutes {when}")
    return lines


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else f"{100 * share:.1g} %"
