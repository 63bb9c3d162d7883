# SPDX-License-Identifier: GPL-3.0-or-later
"""The first cause of a failed run: which node failed first, and how, among all that failed after it.

Failures in logs have a blame on the scale of the log signatures: below 50 a cause on the node itself (GPU or host
fault, out of memory, NaN, the program), from 50 the network, which also fails on healthy nodes when a peer goes away,
then echoes. The nodes are ordered like this:

1. nodes with a cause of their own, by its kind; within a kind, failed nodes before nodes that we stopped, then by
   blame, then by time,
2. nodes that failed otherwise, by time: a bare exit status here may cause a network error elsewhere,
3. nodes whose log says that they waited for a peer, by time.

Within 2. and 3. a node with a link that went down during the run comes first. A bare exit status 0 is never named if
another node has a nonzero one.

A node that we stopped is not to blame, but its log may hold the cause: a launcher takes time to end after a rank has
failed, and other nodes may end before it. If somebody interrupted the run, the failures of 2. and 3. are consequences.
"""

from __future__ import annotations

import math
import signal
import typing as t
from collections.abc import Collection, Iterable, Mapping

from ...module_utils.logs.severity import ERROR
from ...module_utils.logs.signature import Failure, is_warning
from ...module_utils.node.contracts import RankSeen
from ..contracts import FirstFailure, Status
from ..run.status import has_failed, stops_short
from ..unreachable import why_unreachable
from .broken_links import broken_links, broken_links_in_words
from .lagging import Lagging, lagging
from .missing_ranks import Late, missing_ranks
from .not_ready import remedy_of
from .unresponsive import unresponsive

# Where a node's log has no failure text, its end is what is known. On the scale of the log signatures: a process
# that was killed from outside or a node that is gone is nearer to a cause than the program; a bare exit status says
# less than any text.
_KILLED = 25
# Nearer than a log that says no more than that something was killed.
_BY_THE_MACHINE = 13
_LOST = 26
_STALLED = 59
_EXIT_STATUS = 99

_FIRST_OF_NETWORK = 50
# Echoes that come from another node. The others, of launchers and launch scripts, come from a process of this one.
_OF_A_PEER = frozenset({"watchdog", "peer_died", "coordinator_died"})
_HANGS = frozenset({"stalled", "watchdog"})
_REMEDY_OF_HANG = "Check that rank and its node first."
_REMEDY_WITHOUT_A_NAME = (
    "Compare the last lines of the nodes. With py-spy installed on the nodes, the stacks of their ranks are compared, "
    "too, which shows who is missing."
)
_EXIT_STATUS_OF_SIGKILL = 128 + signal.SIGKILL


def first_failure(
    statuses: Iterable[Status],
    unfinished: Collection[str] = (),
    together: bool = True,
    goal: int | None = None,
    addresses: Mapping[str, str] | None = None,
) -> FirstFailure | None:
    """Return the first failure of a run, or None where no node failed.

    ``node``, ``node_rank``, ``class``, ``message``, ``evidence`` (lines), ``rank`` (blamed by the message, or the one
    that printed it, or None), ``remedy``, ``exit_code`` (the node's exit status, or None), and ``echoes``: failures of
    other nodes that only follow from it; separate jobs (not ``together``) have none. The ``unfinished`` are the nodes
    that ended with exit status 0 without reaching the last step, which is the ``goal``.
    ``addresses`` are the names of the nodes by their addresses.
    """
    statuses = list(statuses)
    hangs = any(status["status"] == "stalled" for status in statuses)
    recorded = missing_ranks(statuses if together else [])
    silent, report = unresponsive(statuses if together else [], addresses or {})
    last = (recorded.late or lagging(statuses, goal) or recorded.silent or silent) if together and hangs else None
    held_up = _held_up_by(last) if together and hangs else ""
    causes = [cause for status in statuses if (cause := _cause(status, status["node"] in unfinished, held_up))]
    for cause in causes:
        if last and last.node == cause["node"] and cause["class"] == "stalled":
            cause["order"] = (*cause["order"][:1], 0.0)
    if together and was_interrupted(statuses):
        causes = [cause for cause in causes if cause["own"]]
    if not any(cause["failed"] for cause in causes):
        return _unfit(statuses)
    causes.sort(key=lambda cause: cause["order"])
    if causes[0]["class"] == "exit_status" and causes[0]["exit_code"] == 0:
        causes.sort(key=lambda cause: cause["class"] != "exit_status" or not cause["exit_code"])
    first, *others = causes
    if first["class"] in _HANGS:
        first = {**first, "evidence": [*recorded.lines, *report, *first["evidence"]]}
    if first["class"] == "watchdog" and recorded.late:
        first = {**first, **_watched(first, recorded.late, statuses)}
        others = [other for other in causes if other["node"] != first["node"]]
    return {
        "node": first["node"],
        "node_rank": first["node_rank"],
        "class": first["class"],
        "origin": "unknown" if together and first["class"] == "stalled" and not held_up else "node",
        "message": first["message"],
        "evidence": [*first["evidence"], *([] if first["own"] else broken_links_in_words(statuses))],
        "rank": first["rank"],
        "remedy": first["remedy"],
        "exit_code": first["exit_code"],
        "echoes": [{name: other[name] for name in ("node", "class", "message")} for other in others if together],
    }


def _unfit(statuses: list[Status]) -> FirstFailure | None:
    """Return the failure of nodes on which the run could not begin although it could on others: the config is fine."""
    unfit = [status for status in statuses if status.get("unfit")]
    if not unfit or len(unfit) == len(statuses):
        return None
    first, *others = unfit
    return {
        "node": first["node"],
        "node_rank": first.get("node_rank"),
        "class": "not_ready",
        "origin": "node",
        "message": _sentence(first.get("message")),
        "evidence": [],
        "rank": None,
        "remedy": remedy_of(first.get("message") or ""),
        "exit_code": None,
        "echoes": [
            {"node": other["node"], "class": "not_ready", "message": _sentence(other.get("message"))}
            for other in others
        ],
    }


class _End(Failure):
    """What the end of a node says, with the lines that show it."""

    evidence: list[str]


def was_interrupted(statuses: Iterable[Status]) -> bool:
    """Return whether somebody stopped the run, or a node of it, while it was followed."""
    return any(status.get("interrupted") for status in statuses)


def _cause(status: Status, unfinished: bool, held_up: str) -> dict[str, t.Any] | None:
    """Return the most likely cause in a node's log and end, and the node's place in the order."""
    failed = has_failed(status) or unfinished
    texts = texts_of(status)
    if not failed:
        # What ended well has no failure, whatever its log says; of what we stopped, only its own causes count.
        texts = [text for text in texts if status["status"] != "exited" and is_own(text)]
    end = _end_of(status, held_up) if failed else None
    found = min([*texts, *([end] if end else [])], key=_nearness, default=None)
    if found is None:
        return None
    ended_at = status.get("ended_at") or math.inf
    order: tuple[float, ...]
    if is_own(found):
        order = (1, found["blame"] // 10, not failed, found["blame"], ended_at)
    else:
        tier = 3 if any(text["class"] in _OF_A_PEER for text in texts) else 2
        order = (tier, not broken_links(status), ended_at, found["blame"])
    return {
        "node": status["node"],
        "node_rank": status.get("node_rank"),
        "class": found["class"],
        "message": found["line"],
        "evidence": end["evidence"] if end and found is end else _around(found["line"], status.get("last_lines", [])),
        "rank": found.get("rank"),
        "remedy": found["remedy"],
        "exit_code": status.get("exit_status"),
        "failed": failed,
        "own": is_own(found),
        "order": order,
    }


def texts_of(status: Status) -> list[Failure]:
    """Return the failures that may be the cause: of the log and the kernel, else what the log warns of or ends with."""
    changes = status.get("machine_changes")
    known = [*status.get("failures", []), *(changes["kernel_failures"] if changes else [])]
    errors = [failure for failure in known if not is_warning(failure)]
    last = [*status.get("failures_at_end", []), *status.get("unusual_at_end", [])]
    # That a launcher stops its processes follows from a cause, which another line may suggest.
    says_more = any(failure["class"] != "sigterm" for failure in known)
    return errors or (known if says_more else [*known, *last])


def is_own(failure: Failure) -> bool:
    """Return whether a failure lies on the node that printed it, not on the network or a peer."""
    return not failure["echo"] and failure["blame"] < _FIRST_OF_NETWORK


def _nearness(failure: Failure) -> tuple[bool, bool, int]:
    """Order the failures of one node: its own causes, then those of a peer, then that one of its processes failed."""
    return failure["echo"], failure["class"] not in _OF_A_PEER, failure["blame"]


def _end_of(status: Status, held_up: str) -> _End:
    """Return how a failed node ended, in the shape of a failure in its log."""
    if ended_by := status.get("ended_by"):
        return {**ended_by, "evidence": [ended_by["line"], *status.get("last_lines", [])]}
    if status.get("booted"):
        failure_class, blame = "rebooted", _BY_THE_MACHINE
        message = "The node rebooted during the training."
        remedy = "Check the log of the previous boot (journalctl --boot=-1), the BMC event log and the power supply."
    elif status.get("full_disk"):
        failure_class, blame = "disk_full", _KILLED
        message = f"The disk of {status['full_disk']} is full: neither the log nor the exit status could be written."
        remedy = "Free space there (df, du), or put log_dir on another disk."
    elif status.get("engine_problem"):
        failure_class, blame = "engine_stopped", _KILLED
        message = f"The container engine cannot say how the training ended: {_sentence(status['engine_problem'])}"
        remedy = (
            "Find out why the engine stopped (systemctl status, journalctl --unit of docker or podman), and start it."
        )
    elif status.get("oom_killed"):
        failure_class, blame = "killed", _BY_THE_MACHINE
        message = "The kernel killed a training process because memory ran out."
        remedy = (
            "Give the container or the Slurm job (--mem) more memory, or make the training use less: fewer data "
            "workers, a smaller cache."
        )
    elif status["status"] == "killed" or status.get("exit_status") == _EXIT_STATUS_OF_SIGKILL:
        failure_class, blame = "killed", _KILLED
        message = "The training was killed (SIGKILL)."
        remedy = "Check that node for the out-of-memory killer (dmesg), another user or a scheduler."
    elif status["status"] == "unreachable":
        failure_class, blame = "unreachable", _LOST
        reason, remedy = why_unreachable(status.get("message") or "")
        message = f"{reason}."
    elif status["status"] == "bad_answer":
        failure_class, blame = "bad_answer", _LOST
        message = f"The node gave an unusable answer: {_sentence(status.get('message'))}"
        remedy = "Find out what alters its answers: its Python, its shell's output, or a user with root."
    elif status["status"] == "gone":
        failure_class, blame = "run_folder_gone", _LOST
        message = f"The node lost the state of the run: {_sentence(status.get('message'))}"
        remedy = "Find out what removed it, such as a clean-up job, and put log_dir where nothing is cleaned up."
    elif status["status"] == "stalled" and status.get("log_problem"):
        failure_class, blame = "log_moved", _LOST
        message = f"The log could no longer be followed: {_sentence(status['log_problem'])}"
        remedy = "Exclude the logs of runs from rotation and clean-up: the training keeps writing to the old file."
    elif status["status"] == "stalled":
        failure_class, blame = "stalled", _STALLED
        message = f"The training hung: {_sentence(status.get('message'))} {held_up}".rstrip()
        remedy = _REMEDY_OF_HANG if held_up else _REMEDY_WITHOUT_A_NAME
    else:
        failure_class, blame = "exit_status", _EXIT_STATUS
        message = f"The training ended with {_exit_in_words(status)}."
        remedy = "Read the last lines of its log."
    return {
        "class": failure_class,
        "blame": blame,
        "echo": blame == _EXIT_STATUS,
        "line": message,
        "evidence": [*map(_rank_in_words, status.get("ranks_seen", [])), *status.get("last_lines", [])],
        "remedy": remedy,
        "rank": None,
        "exit_code": None,
        "severity": ERROR,
        "step": None,
    }


def _rank_in_words(rank: RankSeen) -> str:
    """Return what a rank was doing while the run hung, innermost frame first."""
    parts = [f"rank {rank['rank']}: state {rank['state']}", f"{rank['busy']:.0%} of a processor"]
    parts += [rank["waits_in"]] if rank["waits_in"] else []
    return ", ".join([*parts, " < ".join(rank["stack"] or ["no stack"])])


def _held_up_by(last: Lagging | Late | None) -> str:
    """Return who keeps the other ranks waiting; empty where nothing shows it."""
    if last is None:
        return ""
    who = last.node if last.rank is None else f"Rank {last.rank} on {last.node}"
    who = last.who if isinstance(last, Late) else who
    verb = "hold" if who.startswith("Ranks ") else "holds"
    return f"{who} {verb} the others up: {last.evidence}."


def _watched(first: Mapping[str, t.Any], late: Late, statuses: Iterable[Status]) -> dict[str, t.Any]:
    """Return what is known of a hang that a watchdog ended: of the ranks that waited, none is to blame."""
    status = next(status for status in statuses if status["node"] == late.node)
    return {
        "node": late.node,
        "node_rank": status.get("node_rank"),
        "rank": late.rank,
        "exit_code": status.get("exit_status"),
        "message": f"{_sentence(first['message'])} {_held_up_by(late)}",
        "remedy": _REMEDY_OF_HANG,
    }


def _exit_in_words(status: Status) -> str:
    exit_status = status.get("exit_status")
    if exit_status is None:
        return "an unknown exit status"
    if stops_short(status):
        return f"exit status {exit_status} at step {status['last_step']} of {status['steps_total']}"
    if exit_status == 0:
        return "exit status 0 before the last step"
    # A shell reports a process that a signal ended as 128 + its number.
    names = {128 + number: f" ({number.name})" for number in signal.Signals}
    return f"exit status {exit_status}{names.get(exit_status, '')}"


def _sentence(message: str | None) -> str:
    return f"{message.strip().rstrip('.')}." if message else "nothing more is known."


def _around(line: str, last_lines: list[str]) -> list[str]:
    """Return the last lines of a log if they contain the evidence, else the evidence alone."""
    return last_lines if any(line in " ".join(candidate.split()) for candidate in last_lines) else [line]
