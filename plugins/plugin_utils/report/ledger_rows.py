# SPDX-License-Identifier: GPL-3.0-or-later
"""The ledger of a run for people: a row after the other, nodes with the same evidence together."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from ..contracts import LedgerOfNode, Verdict

_GRAVITY: tuple[Verdict, ...] = ("FAIL", "ERROR", "INCONCLUSIVE", "PASS")
# How many nodes are named, and how many groups of nodes are shown, before they are only counted.
_NAMED, _SHOWN = 3, 6


class Group(t.NamedTuple):
    """Nodes with the same evidence, in words."""

    verdict: Verdict
    evidence: str
    nodes: str


class Row(t.NamedTuple):
    """A row: its gravest verdict, how many of the nodes have evidence, the gravest groups, and how many more."""

    row: str
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
            found.setdefault((entry["verdict"], entry["evidence"]), []).append(of_node["node"])
        groups = [Group(verdict, evidence, _named(nodes)) for (verdict, evidence), nodes in found.items()]
        groups.sort(key=lambda group: _GRAVITY.index(group.verdict))
        passed = sum(len(nodes) for (verdict, _evidence), nodes in found.items() if verdict == "PASS")
        rows.append(Row(row, groups[0].verdict, passed, len(ledger), groups[:_SHOWN], len(groups[_SHOWN:])))
    return rows


def ledger_lines(ledger: Sequence[LedgerOfNode]) -> list[str]:
    """Return the ledger for a terminal: on how many nodes each row has evidence, and on which it has not."""
    rows = ledger_rows(ledger)
    width = max((len(row.row) for row in rows), default=0)
    lines = []
    for row in rows:
        lacking = [of_node["node"] for of_node in ledger if _verdict(of_node, row.row) != "PASS"]
        told = f"; {row.verdict} on {_named(lacking)}" if lacking else ""
        lines.append(f"  {row.row:<{width}}  {row.passed} of {row.nodes}{told}")
    return [f"Evidence by node{'' if len(ledger) == 1 else 's'}:", *lines] if rows else []


def _verdict(of_node: LedgerOfNode, row: str) -> Verdict:
    return next(entry["verdict"] for name, entry in of_node["rows"].items() if name == row)


def _named(nodes: Sequence[str]) -> str:
    if len(nodes) <= _NAMED:
        return ", ".join(nodes)
    return f"{', '.join(nodes[:_NAMED])} and {len(nodes) - _NAMED} more"
