# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes of a run as rows: the evidence for and against each, and its hardware. Equal nodes share a row."""

from __future__ import annotations

import json
import typing as t
from collections import Counter
from collections.abc import Mapping, Sequence

from ...module_utils.node.contracts import Hardware, MachineChanges, Nic
from ...module_utils.node.machine_facts import ROW_OF, is_failure
from ..contracts import LedgerEntry, LedgerOfNode, LedgerRow, Machine, Status, Summary, Verdict
from ..text.catalogue import PROOFS, VERDICT
from ..text.folding import frozen, ranges, without_numbers
from ..text.nodes import folded, named, nameless
from ..text.sentences import Form, filled, form_that_says, of_many
from ..text.words import all_of, counted
from ..verdict.reasons import GRAVITY
from .thresholds import missed_bounds

# The most groups of nodes to show; further groups are only counted.
_SHOWN = 6
# Without a step this row fails, but there is nothing to look at either.
_STEPS: LedgerRow = "steps"


class Group(t.NamedTuple):
    """Nodes with the same evidence, in words."""

    verdict: Verdict
    evidence: str
    nodes: str


class Row(t.NamedTuple):
    """A row: its gravest verdict, the number of nodes with evidence, the gravest groups, and how many more."""

    row: LedgerRow
    verdict: Verdict
    passed: int
    nodes: int
    groups: list[Group]
    more: int


def ledger_rows(ledger: Sequence[LedgerOfNode], known: Mapping[tuple[str, LedgerRow], str] | None = None) -> list[Row]:
    """Return the rows of a ledger in their order.

    ``known`` has texts by node and row, for entries without evidence in the ledger. Evidence that differs only in its
    numbers is one group, with the range of each number.
    """
    rows = []
    for row in ledger[0]["rows"] if ledger else ():
        entries = {of_node["node"]: of_node["rows"][row] for of_node in ledger}
        instead = {} if known is None else {node: known[node, row] for node in entries if (node, row) in known}
        groups = _groups(row, entries, instead)
        groups.sort(key=lambda group: GRAVITY.index(group.verdict))
        passed = sum(entry["verdict"] == "PASS" for entry in entries.values())
        rows.append(Row(row, groups[0].verdict, passed, len(ledger), groups[:_SHOWN], len(groups[_SHOWN:])))
    return rows


def _groups(row: LedgerRow, entries: Mapping[str, LedgerEntry], instead: Mapping[str, str]) -> list[Group]:
    """Return groups of nodes with the same evidence, each number as the range of its values."""
    alike: dict[t.Any, list[str]] = {}
    kind: tuple[Form | None, str]
    many = len({entry["evidence"] for entry in entries.values()}) > _SHOWN
    for node, entry in entries.items():
        of_code = VERDICT.get(entry["code"], {}) if "code" in entry else PROOFS.get(row, {})
        form = form_that_says(entry["evidence"], of_code, entry.get("case", ""), entry.get("values", {}), node)
        if node in instead and entry["verdict"] != "PASS":
            kind = (None, nameless(instead[node], node))
        elif form is None:
            kind = (None, nameless(entry["evidence"], node))
        else:
            with_example = many and "{others" in form.many
            kind = (form, "" if with_example else frozen(without_numbers(entry.get("values", {}))))
        alike.setdefault((entry["verdict"], kind), []).append(node)
    found = []
    for (verdict, (form, text)), nodes in alike.items():
        values = [entries[node].get("values", {}) for node in nodes]
        evidence = _evidence_of(form, values, nodes) if form else named(text, nodes)
        found.append(Group(verdict, evidence, folded(nodes)))
    return found


def _evidence_of(form: Form, values: Sequence[Mapping[str, t.Any]], nodes: Sequence[str]) -> str:
    others = len({frozen(one) for one in values}) - 1
    if "{others" in form.many:
        text = form.many if others else form.one
        return filled(text, {**values[0], "node": folded(nodes), "others": others})
    return filled(of_many(form) if nodes[1:] else form.one, {**ranges(values), "node": folded(nodes)})


def whole_in_words(summary: Summary) -> str:
    """Return one line: how many checks passed on how many nodes, and which failed or lack evidence."""
    ledger, nodes = summary["ledger"], summary["nodes"]
    rows = {
        row: min((of_node["rows"][row]["verdict"] for of_node in ledger), key=GRAVITY.index)
        for row in (ledger[0]["rows"] if ledger else ())
    }
    passed = [row for row, verdict in rows.items() if verdict == "PASS"]
    on = f"on {all_of(len(ledger), 'node').lower()}"
    if len(passed) == len(rows):
        missed = len({bound["metric"] for bound in missed_bounds(summary)})
        but = f", but {counted(missed, 'threshold')} {'was' if missed == 1 else 'were'} missed" if missed else ""
        return f"All {len(rows)} checks passed {on}{but}"
    failed = [row for row, verdict in rows.items() if verdict in ("FAIL", "ERROR")]
    if all(node.get("last_step") is None for node in nodes):
        empty = len(rows) - len(passed) - len([row for row in failed if row != _STEPS])
        return f"The run ended before its first step: {empty} of {len(rows)} checks have nothing to look at"
    undecided = [row for row, verdict in rows.items() if verdict == "INCONCLUSIVE"]
    parts = [f"{len(passed)} of {len(rows)} checks passed {on}"]
    parts += [f"{how}: {', '.join(names)}" for how, names in (("failed", failed), ("open", undecided)) if names]
    return "; ".join(parts)


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


HardwareRow = dict[str, t.Any]

_UNKNOWN: Hardware = {"os": None, "kernel": None, "cpu": None, "accelerators": None, "nics": []}


def hardware_rows(statuses: Sequence[Status]) -> list[HardwareRow]:
    """Return a row for each kind of node with known hardware, most nodes first.

    ``nodes`` are their folded names; ``accelerators``, ``driver``, ``firmware``, ``nics`` (a list), ``system`` and
    ``image`` (the digest that was started) are in words, or None.
    """
    alike: dict[str, list[Status]] = {}
    for status in statuses:
        machine = status["machine"]
        if machine["hardware"] or machine["image_id"]:
            made_of = json.dumps([machine["hardware"], machine["image_id"]], sort_keys=True)
            alike.setdefault(made_of, []).append(status)
    groups = sorted(alike.values(), key=len, reverse=True)
    return [_hardware_row([status["node"] for status in group], group[0]["machine"]) for group in groups]


def _hardware_row(nodes: Sequence[str], machine: Machine) -> HardwareRow:
    hardware = machine["hardware"] or _UNKNOWN
    gpus = hardware["accelerators"]
    firmware = gpus["firmware"].items() if gpus else ()
    return {
        "nodes": folded(nodes),
        "accelerators": f"{gpus['count']} × {gpus['name'] or 'unknown'}" if gpus else None,
        "driver": _joined(gpus["driver"], gpus["driver_version"]) if gpus else None,
        "firmware": ", ".join(f"{name} {version}" for name, version in firmware) or None,
        "nics": _nics(hardware["nics"]),
        "system": _joined(hardware["os"], f"kernel {hardware['kernel']}" if hardware["kernel"] else None, between=", "),
        "cpu": hardware["cpu"],
        "image": machine["image_id"],
    }


def _nics(nics: Sequence[Nic]) -> list[str]:
    """Return the RDMA devices in words, with a count for identical ones."""
    kinds = Counter(
        _joined(
            _joined(nic["driver"], nic["driver_version"]),
            f"firmware {nic['firmware']}" if nic["firmware"] else None,
            nic["rate"],
            between=", ",
        )
        for nic in nics
    )
    return [f"{count} × {kind or 'unknown'}" for kind, count in kinds.items()]


def _joined(*parts: str | None, between: str = " ") -> str | None:
    return between.join(filter(None, parts)) or None


def machine_change_rows(statuses: Sequence[Status]) -> list[HardwareRow]:
    """Return a row for each kind of change, faults that take a node out of service first; none if nothing changed.

    ``nodes`` are their folded names, ``booted`` tells whether they rebooted, ``counters`` are texts such as ``mlx5_0/1
    symbol_error +7`` and ``mlx5_0/1 has no link``, ``faults`` and ``notes`` explain the kernel's messages,
    ``kernel_log`` has lines, and ``more`` counts the lines that were not kept.
    """
    alike: dict[str, tuple[HardwareRow, list[str]]] = {}
    for status in statuses:
        changes = status["machine"]["changes"]
        if changes and any(changes.get(name) for name in ("booted", "counters", "links_down", "kernel_log", "facts")):
            row = _change_row(changes)
            alike.setdefault(json.dumps(row, sort_keys=True), (row, []))[1].append(status["node"])
    found = sorted(alike.values(), key=lambda kind: (not kind[0]["booted"], not kind[0]["faults"], -kind[0]["lines"]))
    return [{**row, "nodes": folded(nodes)} for row, nodes in found]


def unread_kernel_logs(statuses: Sequence[Status]) -> str:
    """Return the nodes, in short, whose kernel log could not be read; empty if there are none."""
    looked_at = ((status["node"], status["machine"]["changes"]) for status in statuses)
    return folded([node for node, changes in looked_at if changes and changes["kernel_log"] is None])


def _change_row(changes: MachineChanges) -> HardwareRow:
    kept = changes["kernel_log"] or []
    down = [f"{link} has no link" for link in changes.get("links_down", [])]
    facts = changes.get("facts", [])
    return {
        "booted": changes["booted"],
        "counters": [*down, *(f"{name} +{growth}" for name, growth in sorted(changes["counters"].items()))],
        "faults": list(dict.fromkeys(ROW_OF[fact["fact"]].means for fact in facts if is_failure(fact))),
        "notes": list(dict.fromkeys(ROW_OF[fact["fact"]].means for fact in facts if not is_failure(fact))),
        "kernel_log": kept,
        "lines": changes["kernel_lines"],
        "more": changes["kernel_lines"] - len(kept),
    }
