# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict on a run: PASS, FAIL, INCONCLUSIVE or ERROR, each with its reasons.

PASS needs positive evidence of everything; whatever is missing makes the verdict another one. FAIL goes before ERROR
and ERROR before INCONCLUSIVE: what is known to be wrong with the training weighs more than what is not known.
"""

from __future__ import annotations

import math
import typing as t
from datetime import UTC, datetime

from ansible_collections.trainops.cluster.plugins.module_utils.logs._record import METRICS, in_words
from ansible_collections.trainops.cluster.plugins.plugin_utils.run._status import has_failed
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict._first_cause import first_failure
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict._statistics import of_nodes, of_run
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict._thresholds import judge_thresholds

if t.TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1
MIN_SAMPLES = 3
PASS, FAIL, ERROR, INCONCLUSIVE = "PASS", "FAIL", "ERROR", "INCONCLUSIVE"

_SIGNS = {"min": "≥", "max": "≤"}


class Reasons:
    """Reasons of a verdict, each with the verdict that it argues for."""

    def __init__(self) -> None:
        """Begin without any."""
        self._reasons: list[tuple[str, dict[str, t.Any]]] = []

    def add(self, verdict: str, code: str, message: str, node: str | None = None) -> None:
        """Note a reason."""
        self._reasons.append((verdict, {"code": code, "message": message, **({"node": node} if node else {})}))

    def verdict(self) -> str:
        """Return the gravest verdict that any reason argues for."""
        argued = {verdict for verdict, _ in self._reasons}
        return next((verdict for verdict in (FAIL, ERROR, INCONCLUSIVE) if verdict in argued), PASS)

    def of(self, verdict: str) -> list[dict[str, t.Any]]:
        """Return what speaks against a pass; for a PASS what it rests on."""
        return [reason for argued, reason in self._reasons if (argued == PASS) == (verdict == PASS)]


def judge(
    plan: dict[str, t.Any],
    statuses: list[dict[str, t.Any]],
    steps: pd.DataFrame,
    records: pd.DataFrame,
    warmup_steps: int,
) -> dict[str, t.Any]:
    """Return the summary of a run: verdict, reasons and what they rest on.

    ``statuses`` are what is known of each node, in rank order; ``steps`` and ``records`` the frames of `_frame`.
    """
    reasons = Reasons()
    by_node = of_nodes(steps)
    metrics = judge_thresholds(plan["expected"], of_run(steps, by_node))
    _judge_nodes(statuses, reasons)
    _judge_last_step(plan, steps, reasons)
    _judge_finite(steps, records, reasons)
    _judge_samples(by_node, warmup_steps, reasons)
    _judge_metrics(plan, metrics, reasons)
    verdict = reasons.verdict()
    times = [status[name] for status in statuses for name in ("started_at", "ended_at") if status.get(name)]
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": plan["run_id"],
        "framework": plan["framework"],
        "mode": plan["mode"],
        "model": plan["model"],
        "gpu": plan["gpu"],
        "verdict": verdict,
        "reasons": reasons.of(verdict),
        "thresholds_judged": not plan["record_only"],
        "started_at": _iso(min(times, default=None)),
        "ended_at": _iso(max(times, default=None)),
        "warmup_steps": warmup_steps,
        "first_failure": first_failure(statuses) if verdict != PASS else None,
        "metrics": {metric: {"unit": METRICS[metric].unit, **found} for metric, found in metrics.items()},
        "nodes": [_node_summary(status, steps, by_node.get(status["node"], {})) for status in statuses],
    }


def _iso(epoch: float | None) -> str | None:
    return None if epoch is None else datetime.fromtimestamp(epoch, tz=UTC).isoformat(timespec="seconds")


def _judge_nodes(statuses: list[dict[str, t.Any]], reasons: Reasons) -> None:
    for status in statuses:
        node, found = status["node"], status["status"]
        if found in ("not_started", "staged"):
            reasons.add(ERROR, "node_not_started", f"{node} never started to train.", node)
        elif found == "exited" and status["exit_status"] != 0:
            reasons.add(FAIL, "node_failed", f"{node} ended with exit status {status['exit_status']}.", node)
        elif found == "killed":
            reasons.add(FAIL, "node_killed", f"The training on {node} was killed.", node)
        elif found == "unreachable":
            reasons.add(ERROR, "node_unreachable", f"{node} could not be reached any more.", node)
        elif found == "stalled":
            reasons.add(FAIL, "node_stalled", f"The training on {node} hung: {status['message']}.", node)
        elif found != "exited" and not any(has_failed(other) for other in statuses):
            reasons.add(ERROR, "node_stopped", f"{node} was stopped before it had finished.", node)
    ended_well = sum(status["status"] == "exited" and status["exit_status"] == 0 for status in statuses)
    if ended_well == len(statuses):
        reasons.add(PASS, "nodes", f"All {len(statuses)} nodes took part and ended with exit status 0.")


def _judge_last_step(plan: dict[str, t.Any], steps: pd.DataFrame, reasons: Reasons) -> None:
    """Note where the last step was not seen.

    In a multi-node run one log is enough, as Megatron-LM prints the steps on the last rank only.
    """
    iterations = plan["parameters"]["iterations"]
    reached = {node["node"]: _last_step(steps, node["node"]) for node in plan["nodes"]}
    if plan["mode"] == "multi_node":
        reached = {node: step for node, step in reached.items() if step is not None}
        if not reached:
            reasons.add(INCONCLUSIVE, "no_steps", "No node's log has a single training step.")
    for node, step in reached.items():
        if step is None:
            reasons.add(INCONCLUSIVE, "no_steps", f"The log of {node} has no training step.", node)
        elif step < iterations:
            reasons.add(FAIL, "last_step_missing", f"{node} got to step {step} of {iterations}.", node)
    if reached and all(step is not None and step >= iterations for step in reached.values()):
        reasons.add(PASS, "last_step", f"The last step, {iterations}, was seen.")


def _last_step(steps: pd.DataFrame, node: str) -> int | None:
    own = steps[steps["node"] == node]
    own = own[own["attempt"] == own["attempt"].max()]
    return None if own.empty else int(own["step"].max())


def _judge_finite(steps: pd.DataFrame, records: pd.DataFrame, reasons: Reasons) -> None:
    """Note values that are NaN or infinite, of steps that were not skipped, and iterations that Megatron calls NaN."""
    last_attempts = steps.groupby("node", sort=False)["attempt"].max()
    last = records[records["attempt"] == records["node"].map(last_attempts)]
    skipped = last[(last["metric"] == "skipped_iterations") & (last["value"] > 0)]
    taken = last[~last.set_index(["node", "step"]).index.isin(skipped.set_index(["node", "step"]).index)]
    wrong = taken[~taken["value"].map(math.isfinite)]
    for row in wrong.drop_duplicates(["node", "metric"]).itertuples():
        told = f"{row.metric} is NaN or infinite on {row.node} from step {row.step} on."
        reasons.add(FAIL, "not_finite", told, str(row.node))
    counted = last[(last["metric"] == "nan_iterations") & (last["value"] > 0)]
    for row in counted.drop_duplicates("node").itertuples():
        reasons.add(FAIL, "nan_iterations", f"{row.node} counts NaN iterations at step {row.step}.", str(row.node))
    losses = taken[taken["metric"] == "loss"]
    if not losses.empty and wrong.empty and counted.empty:
        reasons.add(PASS, "finite", f"All {len(losses)} losses are finite, and no gradient is NaN.")


def _judge_samples(by_node: dict[str, dict[str, t.Any]], warmup_steps: int, reasons: Reasons) -> None:
    samples = {node: max((found["samples"] for found in own.values()), default=0) for node, own in by_node.items()}
    for node, count in samples.items():
        if count < MIN_SAMPLES:
            reasons.add(
                INCONCLUSIVE,
                "too_few_samples",
                f"{node} has {count} steps after {warmup_steps} of warm-up; {MIN_SAMPLES} are needed to judge.",
                node,
            )
    if samples and min(samples.values()) >= MIN_SAMPLES:
        fewest = min(samples.values())
        reasons.add(PASS, "samples", f"At least {fewest} steps a node count, after {warmup_steps} of warm-up.")


def _judge_metrics(plan: dict[str, t.Any], metrics: dict[str, dict[str, t.Any]], reasons: Reasons) -> None:
    for bound in plan["expected"]:
        metric, found = bound["metric"], metrics[bound["metric"]]
        wanted = f"{_SIGNS[bound['kind']]} {in_words(metric, bound['value'])}"
        if found["value"] is None:
            reasons.add(INCONCLUSIVE, "metric_missing", f"{metric} was not measured; it had to be {wanted}.")
            continue
        verdict, code = (PASS, "threshold_met") if found["met"] else (FAIL, "threshold_missed")
        what = f"{metric} is {in_words(metric, found['value'])} ({found['statistic']} of {found['value_node']})"
        reasons.add(verdict, code, f"{what}; it {'has' if found['met'] else 'had'} to be {wanted}.")
    if plan["record_only"]:
        reasons.add(PASS, "thresholds_not_judged", "Thresholds were not judged (training_record_only).")


def _node_summary(status: dict[str, t.Any], steps: pd.DataFrame, own: dict[str, t.Any]) -> dict[str, t.Any]:
    rows = steps[steps["node"] == status["node"]]
    return {
        "node": status["node"],
        "node_rank": status.get("node_rank"),
        "state": status["status"],
        "exit_code": status.get("exit_status"),
        "attempts": 1 if rows.empty else int(rows["attempt"].max()),
        "last_step": _last_step(steps, status["node"]),
        "steps_total": status.get("steps_total"),
        "samples": max((found["samples"] for found in own.values()), default=0),
        "metrics": own,
    }
