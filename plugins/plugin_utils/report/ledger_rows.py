# SPDX-License-Identifier: GPL-3.0-or-later
"""The ledger of a run for people: row by row, nodes with the same evidence together."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from ..contracts import LedgerOfNode, LedgerRow, Verdict
from ..text.nodes import folded, named, nameless
from ..text.number_ranges import in_ranges
from ..text.words import all_of, counted
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


def ledger_rows(ledger: Sequence[LedgerOfNode], told: Mapping[tuple[str, LedgerRow], str] | None = None) -> list[Row]:
    """Return the rows of a ledger in their order.

    ``told`` is what is known, by node and row, where the ledger itself has no evidence. Evidence that differs in its
    numbers only is one group, with the range of each number.
    """
    rows = []
    for row in ledger[0]["rows"] if ledger else ():
        found: dict[tuple[Verdict, str], list[str]] = {}
        for of_node in ledger:
            entry, node = of_node["rows"][row], of_node["node"]
            evidence = (told or {}).get((node, row), entry["evidence"]) if entry["verdict"] != "PASS" else None
            text = nameless(entry["evidence"] if evidence is None else evidence, node)
            found.setdefault((entry["verdict"], text), []).append(node)
        groups = [Group(verdict, named(text, nodes), folded(nodes)) for verdict, text, nodes in _in_ranges(found)]
        groups.sort(key=lambda group: GRAVITY.index(group.verdict))
        passed = sum(len(nodes) for (verdict, _evidence), nodes in found.items() if verdict == "PASS")
        rows.append(Row(row, groups[0].verdict, passed, len(ledger), groups[:_SHOWN], len(groups[_SHOWN:])))
    return rows


def _in_ranges(found: Mapping[tuple[Verdict, str], list[str]]) -> list[tuple[Verdict, str, list[str]]]:
    """Return groups of nodes whose evidence differs only in numbers as one, each number as the range of its values."""
    shared = in_ranges(text for _verdict, text in found)
    merged: dict[tuple[Verdict, str], list[str]] = {}
    for (verdict, text), nodes in found.items():
        merged.setdefault((verdict, shared[text]), []).extend(nodes)
    return [(verdict, text, nodes) for (verdict, text), nodes in merged.items()]


def whole_in_words(ledger: Sequence[LedgerOfNode]) -> str:
    """Return in one line how many checks passed on how many nodes, and which did not."""
    rows = ledger_rows(ledger)
    passed = [row for row in rows if row.verdict == "PASS"]
    on = f"on {all_of(len(ledger), 'node').lower()}"
    if len(passed) == len(rows):
        return f"All {len(rows)} checks passed {on}"
    if not any(row.passed for row in rows):
        return f"No check passed {on}"
    lacking = ", ".join(row.row for row in rows if row.verdict != "PASS")
    return f"{len(passed)} of {len(rows)} checks passed {on}; not {lacking}"


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
