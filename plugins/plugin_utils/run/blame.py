# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts of a play a run failed on: those are failed or unreachable for Ansible, and no others."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Mapping

from ...module_utils.node.phase import NodeError
from ..contracts import Summary
from .node_errors import NodeLostError
from .retry import second_faults

FAILED: t.Final = "failed"
UNREACHABLE: t.Final = "unreachable"
_WAITED = frozenset({"node_not_started", "node_running", "node_stopped"})


class Blame(t.TypedDict):
    """What became of a host, `FAILED` or `UNREACHABLE`, and why."""

    state: str
    reason: str


def blame_of_errors(errors: Mapping[str, NodeError]) -> dict[str, Blame]:
    """Return the blame of nodes that could not do their part of a phase."""
    return {
        name: Blame(state=UNREACHABLE if isinstance(error, NodeLostError) else FAILED, reason=f"{error}.")
        for name, error in errors.items()
    }


def blame_of_verdict(summary: Summary, hosts: Collection[str], *, together: bool) -> dict[str, Blame]:
    """Return the blame of the ``hosts`` that made a run fail; empty where none of them is known to have done so.

    Where nodes train ``together``, one that fails makes the others fail as well: only the first failure and what
    cannot have followed from it count. A node that was stopped or not started waited for others. Where no node failed,
    the slow ones explain a FAIL.
    """
    if summary["verdict"] not in ("FAIL", "ERROR"):
        return {}
    first = summary["first_failure"]
    blamed: dict[str, Blame] = {}
    if not (first and together):
        for reason in summary["reasons"]:
            if reason.get("node") and reason.get("verdict") in ("FAIL", "ERROR") and reason["code"] not in _WAITED:
                blamed.setdefault(reason["node"], Blame(state=_state_of(reason["code"]), reason=reason["message"]))
    if first:
        for failure in (*second_faults(first["echoes"]), t.cast("dict[str, str]", first)):
            state, message = _state_of(failure["class"]), f"{failure['class']}: {failure['message']}"
            blamed[failure["node"]] = Blame(state=state, reason=message)
    if not blamed and summary["verdict"] == "FAIL":
        slow = summary["stragglers"]
        blamed = {one["node"]: Blame(state=FAILED, reason=slow["message"]) for one in slow["nodes"]}
    return {name: blame for name, blame in blamed.items() if name in hosts}


def _state_of(code: str) -> str:
    return UNREACHABLE if code in ("unreachable", "node_unreachable") else FAILED
