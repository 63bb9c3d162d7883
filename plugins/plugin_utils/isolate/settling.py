# SPDX-License-Identifier: GPL-3.0-or-later
"""Settling, on reserved nodes, which probes run, and so which tests fit into the budget."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ...module_utils.node.phase import NodeError
from ...module_utils.node.probes.known import PROBES
from ...module_utils.node.probes.torch.running import SCRIPT
from .choice import BUILT_IN, Chosen, chosen, instead, looked_for, unable
from .groups import LEAST_NODES_OF_GROUPS
from .options import Options
from .planned import MOST_MINUTES, PlanError, PlannedTests, groups_in_words, plan_tests, planned_in_words
from .prober import Prober

_SCRIPT = Path(__file__).parents[2] / "module_utils/node/probes/torch/script.py"


def staged_files() -> dict[str, str]:
    """Return the files that probes need in the folder of each node."""
    return {SCRIPT: _SCRIPT.read_text(encoding="utf-8")}


def planned_with(
    choice: Chosen, arguments: Mapping[str, t.Any], hosts: Sequence[str], suspects: int = 0
) -> PlannedTests:
    """Return the tests of some hosts, so many of them suspects of a run; PlanError if the budget is too small."""
    tests = plan_tests(hosts, choice.cost(), arguments["budget"], arguments["rounds"], suspects)
    return {**tests, "probes": list(choice.names)}


def more_in_words(arguments: Mapping[str, t.Any], hosts: Sequence[str]) -> list[str]:
    """Return, as lines, the probes that are added once nodes were asked for their programs."""
    more = [] if arguments["probes"] else _asked(arguments, hosts)
    if not more:
        return []
    others = [name for name in more if PROBES[name].of != "groups"]
    lines = [f"With more probes if all nodes can do them and isolate_budget allows it: {', '.join(others)}"]
    for name in (name for name in [*more, *instead(more)] if PROBES[name].of == "groups"):
        cost = Chosen((*BUILT_IN.names, name)).cost()
        tests = plan_tests(hosts, cost, MOST_MINUTES)
        if len(lines) == 1:
            lines.append(f"Then, where the budget has room for them, {groups_in_words(tests)}")
        minutes = len(tests["groups"]) * cost.group / 60
        where = f", done where {PROBES[name].instead_of} is not" if PROBES[name].instead_of else ""
        lines.append(
            f"At most {minutes:.1f} minutes and {len(hosts) * minutes:.1f} node-minutes more with {name}{where}"
        )
    return lines


def _asked(arguments: Mapping[str, t.Any], hosts: Sequence[str]) -> list[str]:
    """Return the probes that nodes are asked about; probes of groups run only among enough nodes."""
    asked = looked_for(arguments["probes"], arguments["rehearsal"])
    return [name for name in asked if len(hosts) >= LEAST_NODES_OF_GROUPS or PROBES[name].of != "groups"]


def settled(
    prober: Prober, nodes: Sequence[str], options: Options, say: Callable[[str], None], suspects: int = 0
) -> tuple[PlannedTests, dict[str, NodeError]]:
    """Return the tests with the probes that all the nodes can do, or those that are named, and who cannot do these.

    What is new is said, and the prober does the probes from now on. PlanError if no node can do one that is named.
    """
    arguments = options.arguments
    named = arguments["probes"]
    asked = _asked(arguments, options.hosts)
    found = prober.tools(nodes, asked)
    if not found:
        # Nodes that do not answer say nothing against a probe. The tests give the reason for each node.
        asked = []

    def fits(choice: Chosen) -> bool:
        without = Chosen(tuple(name for name in choice.names if PROBES[name].of != "groups"), choice.units)
        try:
            planned = planned_with(choice, arguments, options.hosts)
        except PlanError:
            return False
        # Groups come last: they take no round from pairs.
        return len(planned["pairs"]) == len(planned_with(without, arguments, options.hosts)["pairs"])

    choice, notes = chosen(named, asked, found, fits)
    tests = planned_with(choice, arguments, options.hosts, suspects)
    if choice != (Chosen(tuple(named)) if named else prober.chosen):
        notes += planned_in_words(tests)
    prober.chosen = choice
    if notes:
        say("\n".join([*(f"{note}." for note in notes), ""]))
    return tests, {node: NodeError(lacks) for node, lacks in unable(named, found).items()}
