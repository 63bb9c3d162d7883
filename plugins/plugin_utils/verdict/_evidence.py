# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What speaks for a pass of a run, and what against it. Each function looks at one kind of evidence."""

from __future__ import annotations

import typing as t

import numpy as np

from ansible_collections.trainops.cluster.plugins.module_utils.logs._record import METRICS, in_words
from ansible_collections.trainops.cluster.plugins.plugin_utils.run._status import has_failed
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict._reasons import (
    ERROR,
    FAIL,
    INCONCLUSIVE,
    PASS,
    Reasons,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict._thresholds import is_met

if t.TYPE_CHECKING:
    import pandas as pd

    from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict._last_step import Reached
    from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict._statistics import Statistics

MIN_SAMPLES = 3

_CANONICAL = list(METRICS)
_SIGNS = {"min": "≥", "max": "≤"}


def judge_nodes(statuses: list[dict[str, t.Any]], interrupted: bool, reasons: Reasons) -> None:
    """Note which nodes did not take part to the end, and how.

    Where somebody ``interrupted`` a run over all nodes, what the others did then is no failure of the training.
    """
    failure = ERROR if interrupted else FAIL
    none_failed = interrupted or not any(has_failed(status) for status in statuses)
    ended_well = 0
    for status in _followed(statuses):
        node, found, told = status["node"], status["status"], _told(status)
        if found in ("not_started", "staged"):
            reasons.add(ERROR, "node_not_started", f"{node} did not start to train{told}.", node)
        elif found == "exited" and status.get("exit_status") == 0:
            ended_well += 1
        elif found == "exited":
            reasons.add(failure, "node_failed", f"{node} ended with exit status {status.get('exit_status')}.", node)
        elif found == "killed":
            reasons.add(FAIL, "node_killed", f"The training on {node} was killed.", node)
        elif found == "unreachable":
            reasons.add(ERROR, "node_unreachable", f"{node} could not be reached{told}.", node)
        elif found == "stalled":
            reasons.add(failure, "node_stalled", f"The training on {node} hung{told}.", node)
        elif found == "running":
            if none_failed:
                reasons.add(ERROR, "node_running", f"{node} was still training when it was last heard of.", node)
        elif none_failed:
            reasons.add(ERROR, "node_stopped", f"{node} was stopped before it had finished.", node)
    if ended_well == len(statuses):
        reasons.add(PASS, "nodes", f"All {len(statuses)} nodes took part and ended with exit status 0.")


def judge_log_only(statuses: list[dict[str, t.Any]], reasons: Reasons) -> None:
    """Note what the logs of nodes that nobody followed say of their end: that it was a failure, or nothing."""
    unknown = []
    for node, failed in ((status["node"], has_failed(status)) for status in statuses if status["status"] == "log_only"):
        if failed:
            reasons.add(FAIL, "failure_in_log", f"The log of {node} ends with a failure.", node)
        else:
            unknown.append(node)
    if unknown:
        where, told = (unknown[0], "its log does") if len(unknown) == 1 else (f"{len(unknown)} nodes", "their logs do")
        message = f"How the training on {where} ended is not known: {told} not tell the exit status."
        reasons.add(INCONCLUSIVE, "exit_status_unknown", f"{message} Say training_exit_status where it is known.")


def _followed(statuses: list[dict[str, t.Any]]) -> list[dict[str, t.Any]]:
    return [status for status in statuses if status["status"] != "log_only"]


def _told(status: dict[str, t.Any]) -> str:
    message = str(status.get("message") or "").strip().rstrip(".")
    return f": {message}" if message else ""


def judge_last_step(statuses: list[dict[str, t.Any]], reached: Reached, interrupted: bool, reasons: Reasons) -> None:
    """Note where the last step was not seen: a failure of a training that ended by itself, else an open question."""
    ended = {status["node"] for status in statuses if status["status"] == "exited" and not interrupted}
    if not reached.by_node:
        reasons.add(INCONCLUSIVE, "no_steps", "No node's log has a single training step.")
    if reached.goal is None:
        what = "How many steps the training was to take is not known: neither a log nor a training config tells."
        reasons.add(INCONCLUSIVE, "last_step_unknown", what)
    for node, step in reached.by_node.items():
        if step is None:
            reasons.add(INCONCLUSIVE, "no_steps", f"The log of {node} has no training step.", node)
        elif reached.goal is not None and step < reached.goal:
            verdict = FAIL if node in ended else INCONCLUSIVE
            reasons.add(verdict, "last_step_missing", f"{node} got to step {step} of {reached.goal}.", node)
    if reached.finished:
        reasons.add(PASS, "last_step", f"The last step, {reached.goal}, was seen.")


def judge_finite(steps: pd.DataFrame, records: pd.DataFrame, reasons: Reasons) -> None:
    """Note what is NaN or infinite in the last attempt, but for skipped iterations, and what Megatron counts as NaN."""
    last_attempts = steps.groupby("node", sort=False)["attempt"].max()
    last = records[records["attempt"] == records["node"].map(last_attempts)]
    skipped = last[(last["metric"] == "skipped_iterations") & (last["value"] > 0)]
    taken = last[~last.set_index(["node", "step"]).index.isin(skipped.set_index(["node", "step"]).index)]
    wrong = taken[~np.isfinite(taken["value"])]
    found = wrong.groupby(["node", "metric"], sort=False)
    for (node, metric), rows in sorted(found, key=lambda group: _CANONICAL.index(group[0][1])):
        first = rows["step"].min()
        where = f"step {first}" if len(rows) == 1 else f"{len(rows)} steps, the first of them {first}"
        reasons.add(FAIL, "not_finite", f"{metric} is NaN or infinite on {node} in {where}.", str(node))
    counted = last[(last["metric"] == "nan_iterations") & (last["value"] > 0)]
    for row in counted.drop_duplicates("node").itertuples():
        reasons.add(FAIL, "nan_iterations", f"{row.node} counts NaN iterations at step {row.step}.", str(row.node))
    losses = taken[taken["metric"] == "loss"]
    with_loss = set(losses["node"])
    without = [str(node) for node in last_attempts.index if node not in with_loss]
    for node in without:
        reasons.add(INCONCLUSIVE, "no_loss", f"The log of {node} has steps, but not a single loss.", node)
    if not losses.empty and wrong.empty and counted.empty and not without:
        reasons.add(PASS, "finite", f"All {len(losses)} losses are finite, and so is every other value.")


def judge_samples(
    plan: dict[str, t.Any], by_node: dict[str, dict[str, Statistics]], warmup_steps: int, reasons: Reasons
) -> None:
    """Note where too few values are left after the warm-up, of a node as a whole or of an expected metric."""
    fewest = min((samples_of(found) for found in by_node.values()), default=0)
    for node, found in by_node.items():
        needed = f"after {warmup_steps} of warm-up; {MIN_SAMPLES} are needed to judge."
        if samples_of(found) < MIN_SAMPLES:
            reasons.add(INCONCLUSIVE, "too_few_samples", f"{node} has {samples_of(found)} steps {needed}", node)
            continue
        for metric in (bound["metric"] for bound in plan["expected"] if bound["metric"] in found):
            count = found[metric]["samples"]
            if count < MIN_SAMPLES:
                told = f"{node} has {count} values of {metric} {needed}"
                reasons.add(INCONCLUSIVE, "too_few_samples", told, node)
    if fewest >= MIN_SAMPLES:
        reasons.add(PASS, "samples", f"At least {fewest} steps a node count, after {warmup_steps} of warm-up.")


def judge_lacks(plan: dict[str, t.Any], reasons: Reasons) -> None:
    """Note what the plan of logs that nobody followed says is not known of their run; other plans know all."""
    for lack in plan.get("not_known", []):
        reasons.add(INCONCLUSIVE, lack["code"], lack["message"])


def samples_of(found: dict[str, Statistics]) -> int:
    """Return how many steps of a node count."""
    return max((statistics["samples"] for statistics in found.values()), default=0)


def judge_metrics(
    plan: dict[str, t.Any],
    metrics: dict[str, dict[str, t.Any]],
    unmeasured: dict[str, list[str]],
    reached: Reached,
    reasons: Reasons,
) -> None:
    """Note which thresholds were met by the worst node, which were missed, and what was not measured."""
    for bound in plan["expected"]:
        metric, found = bound["metric"], metrics[bound["metric"]]
        wanted = f"to be {_SIGNS[bound['kind']]} {in_words(metric, bound['value'])}"
        for node in unmeasured.get(metric, []):
            reasons.add(INCONCLUSIVE, "metric_missing", f"{metric} was not measured on {node}; it had {wanted}.", node)
        if found["value"] is None:
            continue
        what = f"{metric} is {in_words(metric, found['value'])} ({found['statistic']} of {found['value_node']})"
        if is_met(bound["kind"], found["value"], bound["value"]):
            reasons.add(PASS, "threshold_met", f"{what}; it has {wanted}.")
        elif found["statistic"] == "last" and not reached.finished:
            reasons.add(
                INCONCLUSIVE, "threshold_open", f"{what}, but the training did not get to its end; it had {wanted}."
            )
        else:
            reasons.add(FAIL, "threshold_missed", f"{what}; it had {wanted}.")
    if plan["record_only"]:
        why = "this was a rehearsal" if plan.get("rehearsal") else "training_record_only"
        reasons.add(PASS, "thresholds_not_judged", f"Thresholds were not judged ({why}).")


def unmeasured_in(plan: dict[str, t.Any], by_node: dict[str, dict[str, Statistics]]) -> dict[str, list[str]]:
    """Return the expected metrics that some nodes lack although their logs have steps, and which nodes."""
    lacking = {
        bound["metric"]: [node for node, found in by_node.items() if bound["metric"] not in found]
        for bound in plan["expected"]
    }
    return {metric: nodes for metric, nodes in lacking.items() if nodes}
