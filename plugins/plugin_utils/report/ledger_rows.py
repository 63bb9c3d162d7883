# SPDX-License-Identifier: GPL-3.0-or-later
"""The ledger of a run for people: row by row, nodes with the same evidence together."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from ..contracts import LedgerOfNode, LedgerRow, Verdict
from ..inventory.folded_names import folded, named, nameless
from ..plan.config.words import counted
from ..verdict.reasons import GRAVITY

# How many groups of nodes are shown before they are only counted.
_SHOWN = 6


class Group(t.NamedTuple):
    """Nodes with the same evidence, in words."""

    verdict: Verdict
    evidence: str
    nodes: str


class Row(t.NamedTuple):
    """A row: its gravest verdict, how many of the nodes have evidence, the gravest groups, and how many more."""

    row: LedgerRow
    verdict: Verdict
    passed: int
    nodes: int
    groups: list[Group]
    more: int


def ledger_rows(ledger: Sequence[LedgerOfNode]) -> list[Row]:
    """Return the rows of a ledger in their order."""
    rows = []
    for row in ledger[0]["rows"] if ledger else ():
        found: dict[tuple[Verdict, str], list[str]] = {}
        for of_node in ledger:
            entry = of_node["rows"][row]
            evidence = nameless(entry["evidence"], of_node["node"])
            found.setdefault((entry["verdict"], evidence), []).append(of_node["node"])
        groups = [Group(verdict, named(text, nodes), folded(nodes)) for (verdict, text), nodes in found.items()]
        groups.sort(key=lambda group: GRAVITY.index(group.verdict))
        passed = sum(len(nodes) for (verdict, _evidence), nodes in found.items() if verdict == "PASS")
        rows.append(Row(row, groups[0].verdict, passed, len(ledger), groups[:_SHOWN], len(groups[_SHOWN:])))
    return rows


def ledger_lines(ledger: Sequence[LedgerOfNode]) -> list[str]:
    """Return the ledger for a terminal: the rows with evidence on every node, and which nodes lack the others."""
    rows = ledger_rows(ledger)
    whole = [row.row for row in rows if row.passed == row.nodes]
    lines = [f"Evidence from {counted(len(ledger), 'node')}: {', '.join(whole) or 'none'}"] if rows else []
    for row in rows:
        lacking = [of_node["node"] for of_node in ledger if of_node["rows"][row.row]["verdict"] != "PASS"]
        if lacking:
            lines.append(f"  {row.row}: {row.passed} of {row.nodes}, {row.verdict} on {folded(lacking)}")
    return lines
