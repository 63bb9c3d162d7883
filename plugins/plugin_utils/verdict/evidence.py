# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence for and against a PASS, the facts of a run first: each node's end outranks its logs."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime

from ..contracts import Plan, Status, Verdict
from ..plan.trainers.known import TRAINERS
from ..run.status import ended_well, has_failed, none_began
from .node_end import unreachable_case
from .reasons import ERROR, FAIL, INCONCLUSIVE, PASS, Reasons

if t.TYPE_CHECKING:
    from .seen import Seen


def is_complete(seen: Seen) -> bool:
    """Return whether the facts of the run show that it trained to its end.

    These facts are: exit status 0 on every node, seen by the collection itself; the last planned step; and the
    trainer's closing line. An exit status passed by the user does not count, because it is usually a script's. If a
    script ends in ``tee``, the closing line shows that the trainer really finished.
    """
    if seen.plan.get("logs") or not seen.reached.finished:
        return False
    return all(map(ended_well, seen.statuses)) and not without_end(seen)


def without_end(seen: Seen) -> list[str]:
    """Return the nodes whose job lacks its trainer's closing line, if its trainer prints one.

    One rank of a job prints it. The launcher that the plan starts may say instead, of each node, that it ended well.
    """
    if not seen.grammar.over or (seen.together and any(status["log"]["said_end"] for status in seen.statuses)):
        return []
    return [
        status["node"] for status in seen.statuses if not status["log"]["said_end"] and not _exited(seen.plan, status)
    ]


def _exited(plan: Plan, status: Status) -> bool:
    """Return whether the plan's own launcher said in a node's last lines that it ended well."""
    chosen = plan.get("chosen")
    trainer = TRAINERS.get(chosen["trainer"]["name"]) if chosen and not plan.get("rehearsal") else None
    line = trainer.exit_line if trainer else ""
    return bool(line) and any(last.endswith(line) for last in status["log"]["last_lines"])


def judge_end(seen: Seen, reasons: Reasons) -> None:
    """Note where only an exit status says that the training finished: it may be a script's exit status."""
    exited = {status["node"] for status in seen.statuses if ended_well(status)}
    silent = [node for node in without_end(seen) if node in exited]
    if not silent or not seen.reached.finished:
        return
    line = seen.grammar.over[0].decode()
    if seen.together:
        reasons.argue(INCONCLUSIVE, "no_end_seen", case="every_node", line=line)
        return
    for node in silent:
        reasons.argue(INCONCLUSIVE, "no_end_seen", node, line=line)


# By the state of a node: the verdict that it argues for (None: the verdict of its failure), and its code.
_ENDS: dict[str, tuple[Verdict | None, str]] = {
    "not_started": (ERROR, "node_not_started"),
    "staged": (ERROR, "node_not_started"),
    "exited": (None, "node_failed"),
    "killed": (FAIL, "node_killed"),
    "unreachable": (ERROR, "node_unreachable"),
    "bad_answer": (ERROR, "node_bad_answer"),
    "gone": (ERROR, "node_gone"),
    "stalled": (None, "node_stalled"),
    "running": (ERROR, "node_running"),
    "stopped": (ERROR, "node_stopped"),
}
# Codes whose findings give no cause.
_UNEXPLAINED = frozenset({"node_failed", "node_killed", "node_running"})


def judge_nodes(seen: Seen, reasons: Reasons) -> None:
    """Note which nodes did not take part to the end, and why.

    After somebody interrupts a multi-node run, the other nodes' ends are not failures of the training.
    """
    failure: Verdict = ERROR if seen.interrupted else FAIL
    none_failed = seen.interrupted or not any(has_failed(status) for status in seen.statuses)
    # If a run never began, the nodes that could not start are the reason; the others only waited for them.
    causes = never_began(seen) and any(map(_kept_from_starting, seen.statuses))
    well = 0
    for status in seen.statuses:
        node, found, exit_status = status["node"], status["status"], status["process"]["exit_status"]
        if found == "log_only":
            continue
        if ended_well(status):
            well += 1
            continue
        if found == "exited" and exit_status is None and seen.first and seen.first["node"] != node:
            found = "stopped"
        if causes and not _kept_from_starting(status):
            continue
        verdict, code = _ENDS[found]
        if not none_failed and code in ("node_running", "node_stopped"):
            continue
        case, values = ("", {}) if code in _UNEXPLAINED else _cause_of(status)
        if code == "node_failed":
            values = {"exit_status": exit_status}
        reasons.argue(verdict or failure, code, node, case=case, **values)
    if well == len(seen.statuses):
        reasons.argue(PASS, "nodes", nodes=len(seen.statuses))


def note_taken_up(seen: Seen, reasons: Reasons) -> None:
    """Note that another command than the last one to follow the training started it."""
    if not any(status["following"]["taken_up"] for status in seen.statuses):
        return
    ended_at = max(filter(None, (status["process"]["ended_at"] for status in seen.statuses)), default=None)
    if ended_at is not None:
        when = f"{datetime.fromtimestamp(ended_at, tz=UTC):%Y-%m-%d %H:%M:%S} UTC"
        reasons.remark("taken_up", ended_at=when)


def judge_outages(seen: Seen, reasons: Reasons) -> None:
    """Note how long nodes were out of contact before they came back, and what happened to a log being written."""
    for status in seen.statuses:
        node, outages = status["node"], status["following"]["outages"]
        if outages:
            first, seconds = outages[0]["since"], sum(outage["seconds"] for outage in outages)
            since = f"{datetime.fromtimestamp(first, tz=UTC):%H:%M:%S} UTC"
            case = "several" if outages[1:] else ""
            reasons.remark("node_outage", node, case=case, outages=len(outages), seconds=float(seconds), since=since)
        problem = status["log"]["problem"]
        if problem:
            reasons.argue(INCONCLUSIVE, "log_cut", node, problem=problem)


def judge_log_only(seen: Seen, reasons: Reasons) -> None:
    """Note whether the logs of nodes that nobody followed end with a failure, or do not show how they ended."""
    unknown = []
    for status in seen.statuses:
        node = status["node"]
        if status["status"] == "log_only" and has_failed(status):
            reasons.argue(FAIL, "failure_in_log", node, case="at_end")
        elif status["status"] == "log_only":
            unknown.append(node)
    if unknown:
        reasons.argue(INCONCLUSIVE, "exit_status_unknown", case="several" if unknown[1:] else "", nodes=unknown)


def _kept_from_starting(status: Status) -> bool:
    return has_failed(status) or bool(_cause_of(status)[0])


def _cause_of(status: Status) -> tuple[str, dict[str, t.Any]]:
    """Return the case and values of why a node ended as it did; the case is empty if nothing is known."""
    if status["status"] == "unreachable":
        case, values = unreachable_case(status)
    else:
        said = status["message"].strip().rstrip(".")
        case, values = ("said", {"said": said}) if said else ("", {})
    problems = status["problems"]
    return case, {**values, "problems": problems} if problems else values


def never_began(seen: Seen) -> bool:
    """Return whether no node began to train, so that only the cause matters."""
    has_started = any(status["process"]["started_at"] is not None for status in seen.statuses)
    return none_began((status["status"] for status in seen.statuses), has_started)


def judge_last_step(seen: Seen, reasons: Reasons) -> None:
    """Note where the last step is missing: a failure if the training ended by itself, else an open question."""
    reached = seen.reached
    ended = {
        status["node"]
        for status in seen.statuses
        if status["status"] == "exited" and not seen.interrupted and not status["log"]["problem"]
    }
    if never_began(seen):
        return
    if not reached.by_node:
        reasons.argue(INCONCLUSIVE, "no_steps", case="every_node")
    if reached.goal is None:
        reasons.argue(INCONCLUSIVE, "last_step_unknown")
    for node, step in reached.by_node.items():
        if step is None:
            reasons.argue(INCONCLUSIVE, "no_steps", node)
        elif reached.last_line is not None and step < reached.last_line:
            verdict: Verdict = FAIL if node in ended else INCONCLUSIVE
            reasons.argue(verdict, "last_step_missing", node, step=step, goal=reached.goal)
    for status in seen.statuses:
        node, step = status["node"], reached.by_node.get(status["node"])
        if status["steps"]["began_anew"] and step is not None:
            reasons.argue(INCONCLUSIVE, "began_anew", node, case="no_step_since", last_step=step)
    if reached.finished:
        case = "" if reached.last_line == reached.goal else "logged"
        reasons.argue(PASS, "last_step", case=case, step=reached.last_line, goal=reached.goal)


def judge_lacks(plan: Plan, reasons: Reasons) -> None:
    """Note the plan's gaps about the run; only plans made from logs have them."""
    for lack in plan.get("not_known", []):
        reasons.take_over(INCONCLUSIVE, lack)


def judge_logs(seen: Seen, reasons: Reasons) -> None:
    """Note whether each node's log belongs to this run: the launch script writes the run's name on its first line.

    Logs that a user passes for judging are accepted as they are.
    """
    if seen.plan.get("logs"):
        return
    run_id = seen.plan["run_id"]
    read = [
        status for status in seen.statuses if status["steps"]["last_step"] is not None or status["status"] == "exited"
    ]
    for status in read:
        found = status["log"]["run_id"]
        if found != run_id:
            case = "other_run" if found else "unnamed"
            reasons.argue(INCONCLUSIVE, "other_log", status["node"], case=case, log_run_id=found)
    if read and all(status["log"]["run_id"] == run_id for status in read):
        reasons.argue(PASS, "logs", nodes=len(read))
