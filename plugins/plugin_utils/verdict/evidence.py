# SPDX-License-Identifier: GPL-3.0-or-later
"""What argues for and against a PASS. Each function looks at one kind of evidence."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime

from ..contracts import Plan, Status, Verdict
from ..run.status import has_failed, none_began
from ..text.durations import duration
from ..text.words import counted
from ..unreachable import unreachable_because
from .reasons import ERROR, FAIL, INCONCLUSIVE, PASS, Reasons

if t.TYPE_CHECKING:
    from .seen import Seen

# By what became of a node: the verdict that it argues for, that of a failure where it is None, its code and message.
_ENDS: dict[str, tuple[Verdict | None, str, str]] = {
    "not_started": (ERROR, "node_not_started", "{node} did not start training{message}."),
    "staged": (ERROR, "node_not_started", "{node} did not start training{message}."),
    "exited": (None, "node_failed", "{node} ended with exit status {exit_status}."),
    "killed": (FAIL, "node_killed", "The training on {node} was killed."),
    "unreachable": (ERROR, "node_unreachable", "{node} could not be reached{message}."),
    "bad_answer": (ERROR, "node_bad_answer", "{node} gave an unusable answer{message}."),
    "gone": (ERROR, "node_gone", "It is unknown how the training on {node} ended{message}."),
    "stalled": (None, "node_stalled", "The training on {node} hung{message}."),
    "running": (ERROR, "node_running", "{node} was still training when it last answered."),
    "stopped": (ERROR, "node_stopped", "{node} was stopped before the training finished{message}."),
}


def judge_nodes(seen: Seen, reasons: Reasons) -> None:
    """Note which nodes did not take part until the end, and why.

    After somebody interrupted a multi-node run, what the other nodes did is no failure of the training.
    """
    failure: Verdict = ERROR if seen.interrupted else FAIL
    none_failed = seen.interrupted or not any(has_failed(status) for status in seen.statuses)
    # If a run never began, the nodes that could not start are the reason; the others only waited for them.
    causes = _never_began(seen) and any(map(_kept_from_starting, seen.statuses))
    ended_well = 0
    for status in seen.statuses:
        node, found, exit_status = status["node"], status["status"], status.get("exit_status")
        if found == "log_only":
            continue
        if found == "exited" and exit_status == 0:
            ended_well += 1
            continue
        if found == "exited" and exit_status is None and seen.first and seen.first["node"] != node:
            found = "stopped"
        if causes and not _kept_from_starting(status):
            continue
        verdict, code, text = _ENDS[found]
        if none_failed or code not in ("node_running", "node_stopped"):
            message = text.format(node=node, message=_with_message(status), exit_status=exit_status)
            evidence = {"exit_status": exit_status} if code == "node_failed" else {}
            reasons.add(verdict or failure, code, message, node, **evidence)
    if ended_well == len(seen.statuses):
        reasons.argue(PASS, "nodes", nodes=len(seen.statuses))


def note_taken_up(seen: Seen, reasons: Reasons) -> None:
    """Note that the training was not started by the command that followed it last."""
    if not any(status.get("taken_up") for status in seen.statuses):
        return
    ended_at = max(filter(None, (status.get("ended_at") for status in seen.statuses)), default=None)
    if ended_at is not None:
        when = f"{datetime.fromtimestamp(ended_at, tz=UTC):%Y-%m-%d %H:%M:%S} UTC"
        reasons.remark("taken_up", ended_at=when)


def judge_outages(seen: Seen, reasons: Reasons) -> None:
    """Note how long nodes were out of contact before they came back, and what happened to a log being written."""
    for status in seen.statuses:
        node, outages = status["node"], status.get("outages", [])
        if outages:
            first, seconds = outages[0]["since"], sum(outage["seconds"] for outage in outages)
            since = f"{datetime.fromtimestamp(first, tz=UTC):%H:%M:%S} UTC"
            times = f"for {duration(seconds)} from {since}"
            if outages[1:]:
                times = f"{len(outages)} times from {since}, {duration(seconds)} in total"
            message = f"{node} did not answer {times}; following resumed afterwards."
            reasons.note("node_outage", message, node, outages=len(outages), seconds=seconds)
        problem = status.get("log_problem")
        if problem:
            message = f"The log of {node} may be incomplete: {problem}."
            reasons.add(INCONCLUSIVE, "log_cut", message, node)


def judge_log_only(seen: Seen, reasons: Reasons) -> None:
    """Note whether the logs of nodes that nobody followed end with a failure, or do not show how they ended."""
    unknown = []
    for status in seen.statuses:
        node = status["node"]
        if status["status"] == "log_only" and has_failed(status):
            reasons.add(FAIL, "failure_in_log", f"The log of {node} ends with a failure.", node)
        elif status["status"] == "log_only":
            unknown.append(node)
    if unknown:
        where, lacking = (
            (unknown[0], "its log lacks") if len(unknown) == 1 else (f"{len(unknown)} nodes", "their logs lack")
        )
        message = f"It is unknown how the training on {where} ended: {lacking} the exit status."
        reasons.add(INCONCLUSIVE, "exit_status_unknown", f"{message} Set training_exit_status if you know it.")


def _kept_from_starting(status: Status) -> bool:
    return has_failed(status) or bool(_said(status))


def _with_message(status: Status) -> str:
    message = _said(status)
    return f": {message}" if message else ""


def _said(status: Status) -> str:
    said = str(status.get("message") or "").strip().rstrip(".")
    return unreachable_because(said) if status["status"] == "unreachable" else said


def _never_began(seen: Seen) -> bool:
    has_started = any(status.get("started_at") is not None for status in seen.statuses)
    return none_began((status["status"] for status in seen.statuses), has_started)


def judge_last_step(seen: Seen, reasons: Reasons) -> None:
    """Note where the last step is missing: a failure if the training ended by itself, else an open question."""
    reached = seen.reached
    ended = {
        status["node"]
        for status in seen.statuses
        if status["status"] == "exited" and not seen.interrupted and not status.get("log_problem")
    }
    if _never_began(seen):
        return
    if not reached.by_node:
        reasons.add(INCONCLUSIVE, "no_steps", "No node's log has a training step.")
    if reached.goal is None:
        what = "The planned number of steps is unknown: neither a log nor a training config states it."
        reasons.add(INCONCLUSIVE, "last_step_unknown", what)
    for node, step in reached.by_node.items():
        if step is None:
            reasons.add(INCONCLUSIVE, "no_steps", f"The log of {node} has no training step.", node)
        elif reached.last_line is not None and step < reached.last_line:
            verdict: Verdict = FAIL if node in ended else INCONCLUSIVE
            reasons.argue(verdict, "last_step_missing", node, step=step, goal=reached.goal)
    for status in seen.statuses:
        node, step = status["node"], reached.by_node.get(status["node"])
        if status.get("began_anew") and step is not None:
            message = f"The training on {node} restarted after step {step}, but its log has no step since."
            reasons.add(INCONCLUSIVE, "began_anew", message, node, last_step=step)
    if reached.finished:
        case = "" if reached.last_line == reached.goal else "logged"
        reasons.argue(PASS, "last_step", case=case, step=reached.last_line, goal=reached.goal)


def judge_lacks(plan: Plan, reasons: Reasons) -> None:
    """Note what the plan says is unknown about the run; only plans made from logs have such gaps."""
    for lack in plan.get("not_known", []):
        reasons.add(INCONCLUSIVE, lack["code"], lack["message"])


def judge_logs(seen: Seen, reasons: Reasons) -> None:
    """Note whether each node's log belongs to this run: the launch script writes the run's name on its first line.

    Logs that a user names to be judged are taken as named.
    """
    if seen.plan.get("logs"):
        return
    run_id = seen.plan["run_id"]
    read = [status for status in seen.statuses if status.get("last_step") is not None or status["status"] == "exited"]
    for status in read:
        found = status.get("log_run_id")
        if found != run_id:
            whose = f"belongs to run {found}" if found else "does not name its run"
            message = f"The log of {status['node']} {whose}."
            reasons.add(INCONCLUSIVE, "other_log", message, status["node"], log_run_id=found)
    if read and all(status.get("log_run_id") == run_id for status in read):
        reasons.add(PASS, "logs", f"The logs of {counted(len(read), 'node')} belong to this run.")
