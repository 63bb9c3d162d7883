# SPDX-License-Identifier: GPL-3.0-or-later
"""How a node ended, in the shape of a failure in its log."""

from __future__ import annotations

import signal
import typing as t
from collections.abc import Mapping

from ...module_utils.logs.severity import ERROR
from ..contracts import EndedBy, Status
from ..run.status import stops_short
from ..text.failures import ENDS, end_in_words
from ..text.problems import UNREACHABLE
from .hung_ranks import Lagging
from .missing_ranks import Late
from .reasons import as_json

# If a node's log has no failure text, only its end is known. On the scale of the log signatures, a process killed from
# outside or a lost node is nearer to a cause than the program; a bare exit status says less than any text.
_KILLED = 25
# Nearer to a cause than a log that only says that something was killed.
_BY_THE_MACHINE = 13
_LOST = 26
_STALLED = 59
# The failure class of a node's other states.
_LOST_OTHERWISE = {"bad_answer": "bad_answer", "gone": "run_folder_gone"}
_EXIT_STATUS = 99
_EXIT_STATUS_OF_SIGKILL = 128 + signal.SIGKILL


def end_of_node(status: Status, last: Lagging | Late | None) -> EndedBy:
    """Return how a failed node ended, in the shape of a failure in its log, with a case and values of its own."""
    if ended_by := status["process"]["ended_by"]:
        return ended_by
    failure_class, blame, case, values = _how_ended(status, last)
    return {
        "class": failure_class,
        "blame": blame,
        "echo": blame == _EXIT_STATUS,
        "case": case,
        "values": as_json(values),
        "line": end_in_words(failure_class, case, values),
        "remedy": ENDS[failure_class][case].remedy,
        "rank": None,
        "exit_code": None,
        "severity": ERROR,
        "step": None,
    }


def _how_ended(status: Status, last: Lagging | Late | None) -> tuple[str, int, str, dict[str, t.Any]]:
    """Return the failure class of a node's end, its distance from a cause, its case and values."""
    case, values, state = "", dict[str, t.Any](), status["status"]
    process, problem = status["process"], status["log"]["problem"]
    if process["booted"]:
        failure_class, blame = "rebooted", _BY_THE_MACHINE
    elif process["full_disk"]:
        failure_class, blame, values = "disk_full", _KILLED, {"path": process["full_disk"]}
    elif process["engine_problem"]:
        failure_class, blame, values = "engine_stopped", _KILLED, {"said": _plain(process["engine_problem"])}
    elif process["container_removed"]:
        failure_class, blame = "container_removed", _KILLED
    elif process["oom_killed"]:
        failure_class, blame = "host_memory", _BY_THE_MACHINE
    elif state == "killed" or process["exit_status"] == _EXIT_STATUS_OF_SIGKILL:
        failure_class, blame = "killed", _KILLED
    elif state == "unreachable":
        failure_class, blame = state, _LOST
        case, values = unreachable_case(status)
    elif state in _LOST_OTHERWISE:
        failure_class, blame, said = _LOST_OTHERWISE[state], _LOST, said_of_node(status)
        case, values = ("said", {"said": said}) if said else ("", {})
    elif state == "stalled" and problem:
        failure_class, blame, values = "log_moved", _LOST, {"said": _plain(problem)}
    elif state == "stalled":
        failure_class, blame = state, _STALLED
        case, values = held_up(last, said=said_of_node(status) or "nothing more is known")
    else:
        failure_class, blame = "exit_status", _EXIT_STATUS
        case, values = _exit_status(status)
    return failure_class, blame, case, values


def unreachable_case(status: Status) -> tuple[str, dict[str, t.Any]]:
    """Return the case and values of why a node did not answer: the cause if ssh gave one, else ssh's message."""
    for one in status["problems"]:
        if one["code"] in UNREACHABLE:
            return one["code"], one["values"]
    said = said_of_node(status)
    return ("said", {"said": said}) if said else ("", {})


def held_up(last: Lagging | Late | None, **values: t.Any) -> tuple[str, dict[str, t.Any]]:
    """Return the case and values for the rank that blocks the others; the case is empty if nothing shows that rank."""
    if last is None:
        return "", values
    who = last.node if last.rank is None else f"Rank {last.rank} on {last.node}"
    case = "held_up"
    if isinstance(last, Late):
        who, case = last.who, "held_up_by_several" if last.several else case
    return case, {**values, "node": last.node, "rank": last.rank, "who": who, "evidence": last.evidence}


def with_sentence(failure_class: str, case: str, values: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the case and values of an end as JSON, with their sentence."""
    return {"case": case, "values": as_json(dict(values)), "message": end_in_words(failure_class, case, values)}


def _exit_status(status: Status) -> tuple[str, dict[str, t.Any]]:
    exit_status = status["process"]["exit_status"]
    if exit_status is None:
        return "unknown", {}
    values: dict[str, t.Any] = {"exit_status": exit_status}
    steps = status["steps"]
    if stops_short(status["log"], steps):
        return "short", {**values, "last_step": steps["last_step"], "steps_total": steps["steps_total"]}
    if exit_status == 0:
        return "before_last_step", values
    # If a signal ends a process, a shell reports 128 + the signal's number.
    name = next((number.name for number in signal.Signals if 128 + number == exit_status), "")
    return ("signal", {**values, "signal": name}) if name else ("", values)


def said_of_node(status: Status) -> str:
    """Return the message of a node without its full stop."""
    return _plain(status["message"])


def _plain(said: str) -> str:
    return said.strip().rstrip(".")
