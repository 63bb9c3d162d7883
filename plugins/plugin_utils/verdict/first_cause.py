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
from ..contracts import Echo, EndedBy, FirstFailure, Machine, NodeLog, Status
from ..run.status import has_failed, stops_short
from ..text.failures import ENDS, end_in_words
from ..text.problems import UNREACHABLE, remedy_of
from .hung_ranks import Lagging, lagging, unresponsive
from .machine_events import broken_links, broken_links_in_words
from .missing_ranks import Late, missing_ranks
from .reasons import as_json

# Where a node's log has no failure text, its end is what is known. On the scale of the log signatures: a process
# that was killed from outside or a node that is gone is nearer to a cause than the program; a bare exit status says
# less than any text.
_KILLED = 25
# Nearer than a log that says no more than that something was killed.
_BY_THE_MACHINE = 13
_LOST = 26
_STALLED = 59
# The class of failure that other states of a node are.
_LOST_OTHERWISE = {"bad_answer": "bad_answer", "gone": "run_folder_gone"}
_EXIT_STATUS = 99

_FIRST_OF_NETWORK = 50
# Echoes that come from another node. The others, of launchers and launch scripts, come from a process of this one.
_OF_A_PEER = frozenset({"watchdog", "peer_died", "coordinator_died"})
_HANGS = frozenset({"stalled", "watchdog"})
_EXIT_STATUS_OF_SIGKILL = 128 + signal.SIGKILL


def first_failure(
    statuses: Iterable[Status],
    unfinished: Collection[str] = (),
    together: bool = True,
    goal: int | None = None,
    addresses: Mapping[str, str] | None = None,
) -> FirstFailure | None:
    """Return the first failure of a run, or None where no node failed.

    A failure that a log shows has its ``line``; how a node ended has a ``case`` and ``values``, see `text.failures`.
    ``message`` is that line or sentence. ``evidence`` are lines, ``rank`` is blamed by the line, or the one that
    printed it, or None, ``exit_code`` the node's exit status, or None, and ``echoes`` are failures of other nodes that
    only follow from it; separate jobs (not ``together``) have none. The ``unfinished`` are the nodes that ended with
    exit status 0 without reaching the last step, which is the ``goal``.
    ``addresses`` are the names of the nodes by their addresses.
    """
    statuses = list(statuses)
    hangs = any(status["status"] == "stalled" for status in statuses)
    seen = {status["node"]: status["hang"] for status in statuses if together}
    recorded = missing_ranks(seen)
    silent, report = unresponsive(seen.values(), addresses or {})
    last = (recorded.late or lagging(statuses, goal) or recorded.silent or silent) if together and hangs else None
    causes = [cause for status in statuses if (cause := _cause(status, status["node"] in unfinished, last))]
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
        first = {**first, **_watched(recorded.late, statuses)}
        others = [other for other in causes if other["node"] != first["node"]]
    return {
        **echo_of(first),
        "node_rank": first["node_rank"],
        "origin": "unknown" if together and first["class"] == "stalled" and not last else "node",
        "evidence": [*first["evidence"], *([] if first["own"] else broken_links_in_words(statuses))],
        "rank": first["rank"],
        "remedy": first["remedy"],
        "exit_code": first["exit_code"],
        "echoes": [echo_of(other) for other in others if together],
    }


def echo_of(failure: Mapping[str, t.Any]) -> Echo:
    """Return what is kept of a failure that follows from another one."""
    kept = ("node", "class", "message", "line", "case", "values")
    return t.cast("Echo", {name: failure[name] for name in kept if failure.get(name) is not None})


def _unfit(statuses: list[Status]) -> FirstFailure | None:
    """Return the failure of nodes on which the run could not begin although it could on others: the config is fine."""
    unfit = [status for status in statuses if status["unfit"]]
    if not unfit or len(unfit) == len(statuses):
        return None
    first, *others = unfit
    return {
        **_not_ready(first),
        "node_rank": first["node_rank"],
        "origin": "node",
        "evidence": [],
        "rank": None,
        "remedy": remedy_of(first["problems"]),
        "exit_code": None,
        "echoes": [_not_ready(other) for other in others],
    }


def _not_ready(status: Status) -> Echo:
    said, problems = _said(status), status["problems"]
    case = problems[0]["code"] if problems else "said" if said else ""
    values = {**({"said": said} if said else {}), **({"problems": problems} if problems else {})}
    return echo_of({"node": status["node"], "class": "not_ready", **_with_sentence("not_ready", case, values)})


def _with_sentence(failure_class: str, case: str, values: Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {"case": case, "values": as_json(dict(values)), "message": end_in_words(failure_class, case, values)}


def was_interrupted(statuses: Iterable[Status]) -> bool:
    """Return whether somebody stopped the run, or a node of it, while it was followed."""
    return any(status["following"]["interrupted"] for status in statuses)


def _cause(status: Status, unfinished: bool, last: Lagging | Late | None) -> dict[str, t.Any] | None:
    """Return the most likely cause in a node's log and end, and the node's place in the order."""
    failed = has_failed(status) or unfinished
    process, log, machine = status["process"], status["log"], status["machine"]
    texts = texts_of(log, machine)
    if not failed:
        # What ended well has no failure, whatever its log says; of what we stopped, only its own causes count.
        texts = [text for text in texts if status["status"] != "exited" and is_own(text)]
    end = _end_of(status, last) if failed else None
    found_in: list[EndedBy] = [*t.cast("list[EndedBy]", texts), *([end] if end else [])]
    found = min(found_in, key=_nearness, default=None)
    if found is None:
        return None
    ended_at = process["ended_at"] or math.inf
    order: tuple[float, ...]
    if is_own(found):
        order = (1, found["blame"] // 10, not failed, found["blame"], ended_at)
    else:
        tier = 3 if any(text["class"] in _OF_A_PEER for text in texts) else 2
        order = (tier, not broken_links(machine), ended_at, found["blame"])
    last_lines = log["last_lines"]
    is_ours = "case" in found
    evidence = [*map(_rank_in_words, status["hang"]["ranks"]), *last_lines]
    return {
        "node": status["node"],
        "node_rank": status["node_rank"],
        "class": found["class"],
        "message": found["line"],
        "line": None if is_ours else found["line"],
        "case": found.get("case"),
        "values": found.get("values"),
        "evidence": evidence if is_ours else _around(found["line"], last_lines),
        "rank": found.get("rank"),
        "remedy": found["remedy"],
        "exit_code": process["exit_status"],
        "failed": failed,
        "own": is_own(found),
        "order": order,
    }


def texts_of(log: NodeLog, machine: Machine) -> list[Failure]:
    """Return the failures that may be the cause: of the log and the kernel, else what the log warns of or ends with."""
    changes = machine["changes"]
    known = [*log["failures"], *(changes["kernel_failures"] if changes else [])]
    errors = [failure for failure in known if not is_warning(failure)]
    last = [*(log["failures_at_end"] or []), *log["unusual_at_end"]]
    # That a launcher stops its processes follows from a cause, which another line may suggest.
    says_more = any(failure["class"] != "sigterm" for failure in known)
    return errors or (known if says_more else [*known, *last])


def is_own(failure: Failure) -> bool:
    """Return whether a failure lies on the node that printed it, not on the network or a peer."""
    return not failure["echo"] and failure["blame"] < _FIRST_OF_NETWORK


def _nearness(failure: Failure) -> tuple[bool, bool, int]:
    """Order the failures of one node: its own causes, then those of a peer, then that one of its processes failed."""
    return failure["echo"], failure["class"] not in _OF_A_PEER, failure["blame"]


def _end_of(status: Status, last: Lagging | Late | None) -> EndedBy:
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
    """Return the class of the failure that an end is, how near it is to a cause, its case and values."""
    case, values, state = "", dict[str, t.Any](), status["status"]
    process, problem = status["process"], status["log"]["problem"]
    if process["booted"]:
        failure_class, blame = "rebooted", _BY_THE_MACHINE
    elif process["full_disk"]:
        failure_class, blame, values = "disk_full", _KILLED, {"path": process["full_disk"]}
    elif process["engine_problem"]:
        failure_class, blame, values = "engine_stopped", _KILLED, {"said": _plain(process["engine_problem"])}
    elif process["oom_killed"]:
        failure_class, blame = "host_memory", _BY_THE_MACHINE
    elif state == "killed" or process["exit_status"] == _EXIT_STATUS_OF_SIGKILL:
        failure_class, blame = "killed", _KILLED
    elif state == "unreachable":
        failure_class, blame = state, _LOST
        case, values = unreachable_case(status)
    elif state in _LOST_OTHERWISE:
        failure_class, blame, said = _LOST_OTHERWISE[state], _LOST, _said(status)
        case, values = ("said", {"said": said}) if said else ("", {})
    elif state == "stalled" and problem:
        failure_class, blame, values = "log_moved", _LOST, {"said": _plain(problem)}
    elif state == "stalled":
        failure_class, blame = state, _STALLED
        case, values = _held_up(last, said=_said(status) or "nothing more is known")
    else:
        failure_class, blame = "exit_status", _EXIT_STATUS
        case, values = _exit_status(status)
    return failure_class, blame, case, values


def unreachable_case(status: Status) -> tuple[str, dict[str, t.Any]]:
    """Return the case and values of why a node did not answer: the cause if ssh said one, else what was said."""
    for one in status["problems"]:
        if one["code"] in UNREACHABLE:
            return one["code"], one["values"]
    said = _said(status)
    return ("said", {"said": said}) if said else ("", {})


def _rank_in_words(rank: RankSeen) -> str:
    """Return what a rank was doing while the run hung, innermost frame first."""
    parts = [f"rank {rank['rank']}: state {rank['state']}", f"{rank['busy']:.0%} of a processor"]
    parts += [rank["waits_in"]] if rank["waits_in"] else []
    return ", ".join([*parts, " < ".join(rank["stack"] or ["no stack"])])


def _held_up(last: Lagging | Late | None, **values: t.Any) -> tuple[str, dict[str, t.Any]]:
    """Return the case and values of who keeps the other ranks waiting; the case is empty where nothing shows it."""
    if last is None:
        return "", values
    who = last.node if last.rank is None else f"Rank {last.rank} on {last.node}"
    case = "held_up"
    if isinstance(last, Late):
        who, case = last.who, "held_up_by_several" if last.several else case
    return case, {**values, "node": last.node, "rank": last.rank, "who": who, "evidence": last.evidence}


def _watched(late: Late, statuses: Iterable[Status]) -> dict[str, t.Any]:
    """Return what is known of a hang that a watchdog ended: of the ranks that waited, none is to blame."""
    status = next(status for status in statuses if status["node"] == late.node)
    case, values = _held_up(late)
    return {
        "node": late.node,
        "node_rank": status["node_rank"],
        "rank": late.rank,
        "exit_code": status["process"]["exit_status"],
        "remedy": ENDS["watchdog"][case].remedy,
        **_with_sentence("watchdog", case, values),
    }


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
    # A shell reports a process that a signal ended as 128 + its number.
    name = next((number.name for number in signal.Signals if 128 + number == exit_status), "")
    return ("signal", {**values, "signal": name}) if name else ("", values)


def _said(status: Status) -> str:
    return _plain(status["message"])


def _plain(said: str) -> str:
    return said.strip().rstrip(".")


def _around(line: str, last_lines: list[str]) -> list[str]:
    """Return the last lines of a log if they contain the evidence, else the evidence alone."""
    return last_lines if any(line in " ".join(candidate.split()) for candidate in last_lines) else [line]
