# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts of a play a run failed on: those are failed or unreachable for Ansible, and no others."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Iterable, Mapping

from ...module_utils.node.phase import NodeError
from ..contracts import Echo, FirstFailure, JudgedBound, Origin, PreflightRow, Summary
from ..text.problems import UNREACHABLE as SSH_CAUSES
from ..text.problems import cause_of
from .board import Board
from .node_errors import NodeLostError
from .retry import second_faults

FAILED: t.Final = "failed"
UNREACHABLE: t.Final = "unreachable"
_SPEEDS = ("tokens_per_sec_per_gpu", "tflops_per_gpu")
_WAITED = frozenset({"node_not_started", "node_running", "node_stopped"})


class Blame(t.TypedDict):
    """What became of a host, `FAILED` or `UNREACHABLE`, and why.

    ``cause`` is the code of why ssh did not reach it; empty for any other reason.
    """

    state: str
    reason: str
    cause: str


def blame_of_errors(errors: Mapping[str, NodeError]) -> dict[str, Blame]:
    """Return the blame of nodes that could not do their part of a phase."""
    return {
        name: Blame(
            state=UNREACHABLE if isinstance(error, NodeLostError) else FAILED,
            reason=f"{error}.",
            cause=cause_of(error.problems),
        )
        for name, error in errors.items()
    }


def origin_of(failure: FirstFailure) -> Origin:
    """Return the origin of a failure. Earlier versions did not record it: a hang that they judged has none."""
    return failure.get("origin", "unknown" if failure["class"] == "stalled" else "node")


def blame_of_red(red: Iterable[PreflightRow]) -> dict[str, Blame]:
    """Return the blame of nodes with red cells of a preflight; a node that was not reached is unreachable."""
    checks: dict[str, list[PreflightRow]] = {}
    for row in red:
        checks.setdefault(row["node"], []).append(row)
    return {
        node: Blame(
            state=UNREACHABLE if any(row["code"] == UNREACHABLE for row in rows) else FAILED,
            reason=f"Its preflight is red: {', '.join(row['check'] for row in rows)}.",
            cause="",
        )
        for node, rows in checks.items()
    }


def nobody_is_blamed(failure: FirstFailure) -> bool:
    """Return whether no single node is at fault; the failure's node is then arbitrary.

    Either a run hung without a sign of which node blocks the others, or all nodes failed alike.
    """
    return origin_of(failure) != "node"


def blame_of_run(board: Board, summary: Summary, hosts: Collection[str]) -> dict[str, Blame]:
    """Return the blame of the ``hosts`` that made a run fail, by its summary and their statuses in its folder."""
    refused = {}
    for name in {node["node"] for node in summary["nodes"]} & set(hosts):
        status = board.status(name)
        if status["status"] == "not_started" and status["message"]:
            refused[name] = status["message"]
    return blame_of_verdict(summary, hosts, refused, together=board.plan()["mode"] == "multi_node")


def blame_of_verdict(
    summary: Summary, hosts: Collection[str], refused: Mapping[str, str], *, together: bool
) -> dict[str, Blame]:
    """Return the blame of the ``hosts`` that made a run fail; empty if none is known to have done so.

    Where nodes train ``together``, one that fails makes the others fail as well: only the first failure and failures
    that cannot follow from it count. A node that was stopped or not started waited for others, unless it ``refused`` to
    start: if some nodes refused, they are at fault; if all did, the run is. If no node failed, a slow one is at fault
    if the run would have met every threshold at the pace of the others. A hang without a known origin is nobody's
    fault, nor is an error that all nodes have alike.
    """
    if summary["verdict"] not in ("FAIL", "ERROR"):
        return {}
    first = summary["first_failure"]
    if first and nobody_is_blamed(first):
        return {}
    blamed: dict[str, Blame] = {}
    if not (first and together):
        for reason in summary["reasons"]:
            if reason.get("node") and reason.get("verdict") in ("FAIL", "ERROR") and reason["code"] not in _WAITED:
                state, cause = _state_of(reason["code"]), _cause_of(reason["code"], reason)
                blamed.setdefault(reason["node"], Blame(state=state, reason=reason["message"], cause=cause))
    if first:
        for failure in (*second_faults(first["echoes"]), t.cast(Echo, first)):
            state, message = _state_of(failure["class"]), failure["message"]
            if failure["class"] != UNREACHABLE:
                message = f"{failure['class']}: {message}"
            cause = _cause_of(failure["class"], failure)
            blamed[failure["node"]] = Blame(state=state, reason=message, cause=cause)
    if not blamed and len(refused) < len(summary["nodes"]):
        blamed = {name: Blame(state=FAILED, reason=f"{reason}.", cause="") for name, reason in refused.items()}
    if not blamed:
        blamed = _blame_of_slow(summary)
    return {name: blame for name, blame in blamed.items() if name in hosts}


def _blame_of_slow(summary: Summary) -> dict[str, Blame]:
    slower = {one["node"]: one["slower"] for one in summary["stragglers"]["nodes"]}
    blamed = {}
    for reason in summary["reasons"]:
        if reason.get("verdict") in ("FAIL", "ERROR"):
            bound = reason.get("values", {}).get("bound")
            if not bound or bound["node"] not in slower or not _would_be_met(bound, 1 + slower[bound["node"]]):
                return {}
            blamed[bound["node"]] = Blame(state=FAILED, reason=reason["message"], cause="")
    return blamed


def _would_be_met(bound: JudgedBound, faster: float) -> bool:
    if bound["measured"] is None:
        return False
    if bound["metric"] == "step_time_ms":
        return bound["greatest"] is not None and bound["measured"] / faster <= bound["greatest"]
    return bound["metric"] in _SPEEDS and bound["least"] is not None and bound["measured"] * faster >= bound["least"]


def _state_of(code: str) -> str:
    return UNREACHABLE if code in ("unreachable", "node_unreachable") else FAILED


def _cause_of(code: str, finding: Mapping[str, t.Any]) -> str:
    case = finding.get("case", "")
    return str(case) if _state_of(code) == UNREACHABLE and case in SSH_CAUSES else ""
