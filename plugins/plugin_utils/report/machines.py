# SPDX-License-Identifier: GPL-3.0-or-later
"""The hardware of a run's nodes and what happened on them, as rows of the page: identical nodes share one."""

from __future__ import annotations

import json
import typing as t
from collections import Counter
from collections.abc import Sequence

from ...module_utils.node.contracts import Hardware, MachineChanges, Nic
from ...module_utils.node.machine_facts import ROW_OF, is_failure
from ..contracts import Machine, Status
from ..text.nodes import folded

Row = dict[str, t.Any]

_UNKNOWN: Hardware = {"os": None, "kernel": None, "cpu": None, "accelerators": None, "nics": []}


def hardware_rows(statuses: Sequence[Status]) -> list[Row]:
    """Return a row for each kind of node about which something is known, most nodes first.

    ``nodes`` are their names in short, ``accelerators``, ``driver``, ``firmware``, ``nics`` (a list), ``system`` and
    ``image`` (the digest that was started) what they have, in words, or None.
    """
    alike: dict[str, list[Status]] = {}
    for status in statuses:
        machine = status["machine"]
        if machine["hardware"] or machine["image_id"]:
            made_of = json.dumps([machine["hardware"], machine["image_id"]], sort_keys=True)
            alike.setdefault(made_of, []).append(status)
    groups = sorted(alike.values(), key=len, reverse=True)
    return [_hardware_row([status["node"] for status in group], group[0]["machine"]) for group in groups]


def _hardware_row(nodes: Sequence[str], machine: Machine) -> Row:
    hardware = machine["hardware"] or _UNKNOWN
    gpus = hardware["accelerators"]
    firmware = gpus["firmware"].items() if gpus else ()
    return {
        "nodes": folded(nodes),
        "accelerators": f"{gpus['count']} × {gpus['name'] or 'unknown'}" if gpus else None,
        "driver": _joined(gpus["driver"], gpus["driver_version"]) if gpus else None,
        "firmware": ", ".join(f"{name} {version}" for name, version in firmware) or None,
        "nics": _nics(hardware["nics"]),
        "system": _joined(hardware["os"], f"kernel {hardware['kernel']}" if hardware["kernel"] else None, ", "),
        "cpu": hardware["cpu"],
        "image": machine["image_id"],
    }


def _nics(nics: Sequence[Nic]) -> list[str]:
    """Return the RDMA devices in words, identical ones counted."""
    kinds = Counter(
        _joined(_joined(nic["driver"], nic["driver_version"]), f"firmware {nic['firmware']}, {nic['rate']}", ", ")
        for nic in nics
    )
    return [f"{count} × {kind}" for kind, count in kinds.items()]


def _joined(first: str | None, second: str | None, between: str = " ") -> str | None:
    return between.join(part for part in (first, second) if part) or None


def machine_change_rows(statuses: Sequence[Status]) -> list[Row]:
    """Return a row for each kind of change, what takes a node out of service first; none if nothing changed.

    ``nodes`` are their names in short, ``booted`` says whether they rebooted, ``counters`` are words such as
    ``mlx5_0/1 symbol_error +7`` and ``mlx5_0/1 has no link``, ``faults`` and ``notes`` what the kernel's messages mean,
    ``kernel_log`` lines, and ``more`` counts the lines that were not kept.
    """
    alike: dict[str, tuple[Row, list[str]]] = {}
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


def _change_row(changes: MachineChanges) -> Row:
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
