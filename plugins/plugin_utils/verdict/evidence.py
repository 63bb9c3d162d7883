# SPDX-License-Identifier: GPL-3.0-or-later
"""What argues for and against a PASS. Each function looks at one kind of evidence."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime

from ...module_utils.logs.record import in_words
from ..contracts import Plan, Status, Verdict
from ..plan.config.words import all_of, counted
from ..plan.job.bounds import bound_in_words
from ..run.status import has_failed
from .reasons import ERROR, FAIL, INCONCLUSIVE, PASS, Reasons
from .thresholds import is_met

if t.TYPE_CHECKING:
    from ..contracts import Statistics
    from .seen import Seen

MIN_SAMPLES = 3
# More steps than this, and a larger part of all of them, are no compilation and no filling of caches.
_LONG_WARM_UP, _LARGE_WARM_UP = 10, 0.25
# What noise makes of a pace is less than that.
_SLOW_WARM_UP = 0.10


# By what became of a node: the verdict that it argues for, that of a failure where it is None, its code and message.
_ENDS: dict[str, tuple[Verdict | None, str, str]] = {
    "not_started": (ERROR, "node_not_started", "{node} did not start training{message}."),
    "staged": (ERROR, "node_not_started", "{node} did not start training{message}."),
    "exited": (None, "node_failed", "{node} ended with exit status {exit_status}."),
    "killed": (FAIL, "node_killed", "The training on {node} was killed."),
    "unreachable": (ERROR, "node_unreachable", "{node} could not be reached{message}."),
    "bad_answer": (ERROR, "node_bad_answer", "{node} gave an unusable answer{message}."),
    "gone": (ERROR, "node_gone", "How the training on {node} ended is not known{message}."),
    "stalled": (None, "node_stalled", "The training on {node} hung{message}."),
    "running": (ERROR, "node_running", "{node} was still training when it last answered."),
    "stopped": (ERROR, "node_stopped", "{node} was stopped before it finished{message}."),
}


def judge_nodes(seen: Seen, reasons: Reasons) -> None:
    """Note which nodes did not take part until the end, and why.

    After somebody interrupted a multi-node run, what the other nodes did is no failure of the training.
    """
    failure: Verdict = ERROR if seen.interrupted else FAIL
    none_failed = seen.interrupted or not any(has_failed(status) for status in seen.statuses)
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
        verdict, code, text = _ENDS[found]
        if none_failed or code not in ("node_running", "node_stopped"):
            message = text.format(node=node, message=_with_message(status), exit_status=exit_status)
            evidence = {"exit_status": exit_status} if code == "node_failed" else {}
            reasons.add(verdict or failure, code, message, node, **evidence)
    if ended_well == len(seen.statuses):
        reasons.add(PASS, "nodes", f"{all_of(len(seen.statuses), 'node')} took part and ended with exit status 0.")


def judge_outages(seen: Seen, reasons: Reasons) -> None:
    """Note how long nodes were out of contact before they came back, and what happened to a log being written."""
    for status in seen.statuses:
        node, outages = status["node"], status.get("outages", [])
        if outages:
            first, seconds = outages[0]["since"], sum(outage["seconds"] for outage in outages)
            since = f"{datetime.fromtimestamp(first, tz=UTC):%H:%M:%S} UTC"
            times = f"for {seconds:.0f} s from {since}"
            if outages[1:]:
                times = f"{len(outages)} times from {since}, {seconds:.0f} s in total"
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
        message = f"How the training on {where} ended is not known: {lacking} the exit status."
        reasons.add(INCONCLUSIVE, "exit_status_unknown", f"{message} Set training_exit_status if you know it.")


def _with_message(status: Status) -> str:
    message = str(status.get("message") or "").strip().rstrip(".")
    return f": {message}" if message else ""


def judge_last_step(seen: Seen, reasons: Reasons) -> None:
    """Note where the last step is missing: a failure if the training ended by itself, else an open question."""
    reached = seen.reached
    ended = {
        status["node"]
        for status in seen.statuses
        if status["status"] == "exited" and not seen.interrupted and not status.get("log_problem")
    }
    if not reached.by_node:
        reasons.add(INCONCLUSIVE, "no_steps", "No node's log has a training step.")
    if reached.goal is None:
        what = "The planned number of steps is not known: neither a log nor a training config states it."
        reasons.add(INCONCLUSIVE, "last_step_unknown", what)
    for node, step in reached.by_node.items():
        if step is None:
            reasons.add(INCONCLUSIVE, "no_steps", f"The log of {node} has no training step.", node)
        elif reached.last_line is not None and step < reached.last_line:
            verdict: Verdict = FAIL if node in ended else INCONCLUSIVE
            message = f"{node} reached only step {step} of {reached.goal}."
            reasons.add(verdict, "last_step_missing", message, node, last_step=step, goal=reached.goal)
    for status in seen.statuses:
        node, step = status["node"], reached.by_node.get(status["node"])
        if status.get("began_anew") and step is not None:
            message = f"The training on {node} restarted after step {step}, but its log has no step since."
            reasons.add(INCONCLUSIVE, "began_anew", message, node, last_step=step)
    if reached.finished:
        last = reached.last_line
        which = f"step, {last}" if last == reached.goal else f"logged step, {last} of {reached.goal}"
        reasons.add(PASS, "last_step", f"The last {which}, was reached.")


def judge_samples(seen: Seen, reasons: Reasons) -> None:
    """Note where too few values are left after the warm-up, and a warm-up that is too long to be one."""
    warm_up, judged = seen.warm_up, seen.judged_metrics
    counts = {node: samples_of(found) for node, found in seen.by_node.items()}
    for node, found in seen.by_node.items():
        needed = f"after the warm-up of {warm_up.steps}; {MIN_SAMPLES} are needed to judge."
        if counts[node] < MIN_SAMPLES:
            message = f"{node} has {counted(counts[node], 'step')} {needed}"
            reasons.add(INCONCLUSIVE, "too_few_samples", message, node, samples=counts[node])
            continue
        for metric in (metric for metric in judged if metric in found):
            count = found[metric]["samples"]
            if count < MIN_SAMPLES:
                message = f"{node} has {count} values of {metric} {needed}"
                reasons.add(INCONCLUSIVE, "too_few_samples", message, node, samples=count)
    if counts and min(counts.values()) >= MIN_SAMPLES:
        after = f"after a warm-up of {counted(warm_up.steps, 'step')}"
        message = f"At least {min(counts.values())} steps per node are counted, {after}."
        reasons.add(PASS, "samples", message, samples=counts)
    if counts:
        reasons.note("warm_up" if warm_up.steady else "not_steady", warm_up.reason)
    most = max(map(len, seen.attempts.values()), default=0)
    is_long = warm_up.steps > max(_LONG_WARM_UP, _LARGE_WARM_UP * most)
    if is_long and warm_up.detected and warm_up.steady and warm_up.apart > _SLOW_WARM_UP:
        message = (
            f"{warm_up.reason} {warm_up.steps} of {most} steps is too long for a warm-up: the training was slow at "
            "first. If it was one, set training_warmup_steps."
        )
        reasons.add(INCONCLUSIVE, "long_warm_up", message, warm_up=warm_up.steps, steps=most)


def judge_lacks(plan: Plan, reasons: Reasons) -> None:
    """Note what the plan says is unknown about the run; only plans made from logs have such gaps."""
    for lack in plan.get("not_known", []):
        reasons.add(INCONCLUSIVE, lack["code"], lack["message"])


def samples_of(found: dict[str, Statistics]) -> int:
    """Return how many steps of a node count."""
    return max((statistics["samples"] for statistics in found.values()), default=0)


def judge_thresholds(seen: Seen, reasons: Reasons) -> None:
    """Note which thresholds were met by the worst node, which were missed, and what was not measured."""
    for bound in seen.bounds:
        metric, wanted = bound["metric"], f"to be {bound_in_words(bound)}"
        if bound["kind"] == "info":
            continue
        for node in () if bound["optional"] else bound["missing"]:
            reasons.add(INCONCLUSIVE, "metric_missing", f"{metric} was not measured on {node}; it had {wanted}.", node)
        if bound["measured"] is None:
            if bound["optional"]:
                reasons.note("metric_missing", f"{metric} was not measured; it is optional.")
            continue
        what = f"{metric} is {in_words(metric, bound['measured'])} ({bound['statistic']} of {bound['node']})"
        if is_met(bound["measured"], bound["least"], bound["greatest"]):
            reasons.add(PASS, "threshold_met", f"{what}; it has {wanted}.", bound=bound)
        elif bound["statistic"] == "last" and not seen.reached.finished:
            message = f"{what}, but the training did not finish; it had {wanted}."
            reasons.add(INCONCLUSIVE, "threshold_open", message, bound=bound)
        else:
            reasons.add(FAIL, "threshold_missed", f"{what}; it had {wanted}.", bound=bound)
    if seen.plan["record_only"]:
        why = "this was a rehearsal" if seen.plan.get("rehearsal") else "the run is only recorded"
        reasons.add(PASS, "thresholds_not_judged", f"Thresholds were not judged ({why}).")


def judge_logs(seen: Seen, reasons: Reasons) -> None:
    """Note whether each node's log belongs to this run: the launch script writes the run's name on its first line.

    Logs that a user names to be judged are taken as named.
    """
    if seen.plan.get("logs"):
        reasons.note("logs_as_named", "The logs are taken as named: nothing in them identifies their run.")
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
