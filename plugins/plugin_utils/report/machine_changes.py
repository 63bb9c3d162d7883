# SPDX-License-Identifier: GPL-3.0-or-later
"""What happened on the machines during a run, as rows of the page: nodes to which the same happened share one."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Sequence

from ..contracts import MachineChanges, Status
from ..inventory.folded_names import folded

Row = dict[str, t.Any]


def machine_change_rows(statuses: Sequence[Status]) -> list[Row]:
    """Return a row for each kind of change, those with most lines of the kernel first; none where nothing changed.

    ``nodes`` are their names in short, ``booted`` says whether they did, ``counters`` are words such as
    ``mlx5_0/1 symbol_error +7``, ``kernel_log`` lines, and ``more`` counts the lines that were not kept.
    """
    alike: dict[str, tuple[MachineChanges, list[str]]] = {}
    for status in statuses:
        changes = status.get("machine_changes")
        if changes and (changes["booted"] or changes["counters"] or changes["kernel_log"]):
            alike.setdefault(json.dumps(changes, sort_keys=True), (changes, []))[1].append(status["node"])
    found = sorted(alike.values(), key=lambda kind: (not kind[0]["booted"], -kind[0]["kernel_lines"]))
    return [_row(changes, nodes) for changes, nodes in found]


def unread_kernel_logs(statuses: Sequence[Status]) -> str:
    """Return the nodes, in short, whose kernel log could not be read; empty where it could be on each."""
    looked_at = [status for status in statuses if status.get("machine_changes")]
    unread = [status["node"] for status in looked_at if status["machine_changes"]["kernel_log"] is None]
    return folded(unread)


def _row(changes: MachineChanges, nodes: list[str]) -> Row:
    kept = changes["kernel_log"] or []
    return {
        "nodes": folded(nodes),
        "booted": changes["booted"],
        "counters": [f"{name} +{growth}" for name, growth in sorted(changes["counters"].items())],
        "kernel_log": kept,
        "more": changes["kernel_lines"] - len(kept),
    }
