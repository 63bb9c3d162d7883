# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict on a run: PASS, FAIL, INCONCLUSIVE or ERROR, each with its reasons.

PASS needs positive evidence of everything; whatever is missing makes the verdict another one.
"""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime

from ansible_collections.trainops.cluster.plugins.module_utils.logs._record import METRICS
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict._evidence import (
    judge_finite,
    judge_lacks,
    judge_last_step,
    judge_log_only,
    judge_metrics,
    judge_nodes,
    judge_samples,
    samples_of,
    unmeasured_in,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict._first_cause import (
    first_failure,
    was_interrupted,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict._hidden_failure import judge_hidden_failure
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict._last_step import last_step_of, reached_by
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict._reasons import Reasons
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict._statistics import of_nodes, of_run
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict._thresholds import judge_thresholds
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict._utilization import utilization_of

if t.TYPE_CHECKING:
    import pandas as pd

    from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict._statistics import Statistics

SCHEMA_VERSION = 1


def judge(
    plan: dict[str, t.Any],
    statuses: list[dict[str, t.Any]],
    steps: pd.DataFrame,
    records: pd.DataFrame,
    warmup_steps: int,
) -> dict[str, t.Any]:
    """Return the summary of a run: verdict, reasons and what they rest on, all of it JSON without NaN.

    ``statuses`` are what is known of each node, in rank order; ``steps`` and ``records`` the frames of `_frame`.
    """
    reasons = Reasons()
    reached = reached_by(plan, statuses, steps)
    by_node = of_nodes(steps)
    unmeasured = unmeasured_in(plan, by_node)
    metrics = judge_thresholds(plan["expected"], of_run(steps, by_node), unmeasured)
    first = first_failure(statuses, reached.unfinished, together=plan["mode"] == "multi_node")
    interrupted = first is None and was_interrupted(statuses)
    judge_nodes(statuses, interrupted, reasons)
    judge_log_only(statuses, reasons)
    judge_last_step(statuses, reached, interrupted, reasons)
    judge_hidden_failure(statuses, first, interrupted, reasons)
    judge_finite(steps, records, reasons)
    judge_samples(plan, by_node, warmup_steps, reasons)
    judge_metrics(plan, metrics, unmeasured, reached, reasons)
    judge_lacks(plan, reasons)
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": plan["run_id"],
        "framework": plan["framework"],
        "mode": plan["mode"],
        "model": plan["model"],
        "gpu": plan["gpu"],
        "rehearsal": plan.get("rehearsal", False),
        "verdict": reasons.verdict(),
        "reasons": reasons.told(),
        "thresholds_judged": not plan["record_only"],
        "started_at": _iso(min(_times(statuses, "started_at"), default=None)),
        "ended_at": _iso(max(_times(statuses, "ended_at"), default=None)),
        "warmup_steps": warmup_steps,
        "first_failure": first,
        "workload": plan.get("workload"),
        **utilization_of(plan.get("workload"), metrics),
        "metrics": {metric: {"unit": METRICS[metric].unit, **found} for metric, found in metrics.items()},
        "nodes": [_node_summary(plan, status, steps, by_node.get(status["node"], {})) for status in statuses],
    }


def _times(statuses: list[dict[str, t.Any]], name: str) -> list[float]:
    return [status[name] for status in statuses if status.get(name)]


def _iso(epoch: float | None) -> str | None:
    return None if epoch is None else datetime.fromtimestamp(epoch, tz=UTC).isoformat(timespec="seconds")


def _node_summary(
    plan: dict[str, t.Any], status: dict[str, t.Any], steps: pd.DataFrame, own: dict[str, Statistics]
) -> dict[str, t.Any]:
    rows = steps[steps["node"] == status["node"]]
    return {
        "node": status["node"],
        "node_rank": status.get("node_rank"),
        "state": status["status"],
        "exit_code": status.get("exit_status"),
        "attempts": None if rows.empty else int(rows["attempt"].max()),
        "last_step": last_step_of(steps, status["node"]),
        "steps_total": status.get("steps_total"),
        "samples": samples_of(own),
        **utilization_of(plan.get("workload"), own),
        "metrics": own,
    }
