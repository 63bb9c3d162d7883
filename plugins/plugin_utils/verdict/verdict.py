# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict on a run: PASS, FAIL, INCONCLUSIVE or ERROR, each with its reasons.

PASS needs positive evidence of everything; anything missing leads to another verdict.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial

import numpy as np

from ...module_utils.logs.grammars.known import grammar_name, grammar_of
from ...module_utils.logs.record import ALL_METRICS
from ...module_utils.node.accelerators import trains_on_cpus
from ..contracts import NodeSummary, Plan, Status, Summary
from ..plan.job.rdma import requires_rdma
from ..run.retry import beginning_of
from .evidence import (
    is_complete,
    judge_end,
    judge_lacks,
    judge_last_step,
    judge_log_only,
    judge_logs,
    judge_nodes,
    judge_outages,
    never_began,
    note_taken_up,
)
from .failures_in_logs import (
    Blame,
    failure_in_logs,
    judge_failures_at_end,
    judge_hidden_failure,
    nan_before,
    note_survived,
    note_unusual,
    that_count,
)
from .first_cause import first_failure, ranks_per_node, was_interrupted
from .frame import attempts_of, left_out_of, without_extremes
from .intervals import METHOD
from .judge_gaps import judge_gaps
from .judge_log import judge_clock_of_run, judge_life, judge_one_run, judge_same_log
from .judge_machine import first_of_machine, judge_machine
from .judge_measured import judge_loss, judge_physics, loss_trends
from .judge_network import judge_transport, judge_world
from .judge_steps import judge_finite, judge_samples, judge_skipped
from .judge_time import judge_claimed_time, judge_time, times_spent
from .judge_workload import judge_workload
from .ledger import ledger_of
from .moved_clock import note_moved_clock, without_moved_clocks
from .named_nodes import NodeNames
from .rdma_traffic import rdma_traffic
from .reasons import Reasons
from .seen import Seen, last_step_of, reached_by
from .statistics import MODEL_FLOPS, of_nodes, of_run, samples_of, utilization_of, with_whole_run
from .stragglers import DEFAULT_DEVIATIONS, note_slow_rank, stragglers_of
from .thresholds import judge_bounds, judge_thresholds, with_thresholds

if t.TYPE_CHECKING:
    import pandas as pd

    from .machine_events import AcceleratorsSeen
    from .warm_up import WarmUp

SCHEMA_VERSION = 4
# In the order of their reasons.
_OF_NODES_AND_LOGS = (
    judge_nodes,
    note_taken_up,
    judge_outages,
    judge_log_only,
    judge_end,
    judge_last_step,
    judge_hidden_failure,
    judge_failures_at_end,
    judge_machine,
    judge_life,
    judge_finite,
    judge_gaps,
    judge_skipped,
    judge_loss,
    judge_samples,
    judge_logs,
    judge_same_log,
    judge_one_run,
    judge_clock_of_run,
    note_moved_clock,
)
_OF_NUMBERS = (judge_physics, judge_thresholds, judge_claimed_time, judge_time)


# Values that are no numbers are judged like any other, and each check leaves them out where it computes.
@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def judge(
    plan: Plan,
    statuses: list[Status],
    steps: pd.DataFrame,
    records: pd.DataFrame,
    warm_up: WarmUp,
    straggler_deviations: float = DEFAULT_DEVIATIONS,
    accelerators: Mapping[str, AcceleratorsSeen] | None = None,
) -> Summary:
    """Return the summary of a run: verdict, reasons and their evidence, all of it JSON without NaN.

    ``statuses`` are the nodes' statuses in rank order; ``steps`` and ``records`` are the frames of `frame`. More than
    ``straggler_deviations`` median absolute deviations make a node a straggler. ``accelerators`` are the samples of the
    accelerators, by node. docs/summary_fields.md describes each field.
    """
    statuses = without_extremes(statuses)
    steps, records = without_moved_clocks(statuses, steps, records)
    attempts, earlier = attempts_of(steps)
    # In a rehearsal the trainer of another framework writes the logs.
    grammar = grammar_of(grammar_name(plan))
    reached = reached_by(plan, grammar, statuses, attempts)
    together = plan["mode"] == "multi_node"
    blame: Blame = partial(
        first_failure,
        together=together,
        goal=reached.goal,
        names=NodeNames(plan["nodes"], statuses),
        ranks_per_node=ranks_per_node(plan),
    )
    first = blame(statuses, reached.unfinished)
    by_node = with_whole_run(of_nodes(attempts), plan, statuses, attempts)
    seen = Seen(
        plan=plan,
        grammar=grammar,
        statuses=statuses,
        steps=steps,
        records=records,
        warm_up=warm_up,
        attempts=attempts,
        earlier=earlier,
        reached=reached,
        by_node=by_node,
        bounds=judge_bounds(plan["expected"], by_node),
        trends=loss_trends(attempts),
        times=times_spent(attempts, bars=grammar.bars),
        first=first,
        interrupted=first is None and was_interrupted(statuses),
        asks_for_rdma=requires_rdma(plan),
        traffic=rdma_traffic(plan, statuses, attempts),
        accelerators=accelerators or {},
    )
    reasons = Reasons(complete=is_complete(seen))
    retry = plan.get("retry")
    if retry:
        began_with = None if steps.empty else int(steps["step"].min())
        case = beginning_of(retry, began_with, plan["first_step"])
        reasons.remark("retry", case=case, began_with=began_with, **retry)
    metrics = with_thresholds(of_run(steps, by_node), seen.bounds)
    for judge_one in _OF_NODES_AND_LOGS:
        judge_one(seen, reasons)
    agrees = judge_workload(seen, reasons)
    judge_world(plan, statuses, by_node, reasons)
    if not never_began(seen):
        judge_transport(plan, statuses, seen.traffic, reasons)
    for judge_one in _OF_NUMBERS:
        judge_one(seen, reasons)
    judge_lacks(plan, reasons)
    stragglers = stragglers_of(steps, by_node, straggler_deviations, together=together)
    utilization = utilization_of(seen.workload, metrics, on_cpus=trains_on_cpus(plan))
    ledger = ledger_of(seen, agrees, reasons)
    note_survived(seen, reasons)
    note_unusual(seen, reasons)
    note_slow_rank(seen, reasons)
    if reasons.has_failure():
        in_logs = (that_count(statuses) if seen.interrupted else statuses, reasons.decisive(), blame)
        first = first_of_machine(seen) if first is None else first
        first = failure_in_logs(*in_logs) if first is None else nan_before(first, *in_logs, together=together)
    if by_node:
        reasons.remark("stragglers", case=stragglers["case"], **stragglers["values"])
        if utilization["mfu"] is not None:
            precision = seen.workload["precision"] if seen.workload else ""
            case = "model_flops" if utilization["mfu_basis"] == MODEL_FLOPS else "trainer_tflops"
            reasons.remark("mfu", case=case, mfu=utilization["mfu"], gpu=plan["gpu"], precision=precision)
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": plan["run_id"],
        "framework": plan["framework"],
        "mode": plan["mode"],
        "model": plan["model"],
        "gpu": plan["gpu"],
        "rehearsal": plan.get("rehearsal", False),
        "retry": retry,
        "interrupted": seen.interrupted,
        "verdict": reasons.verdict(),
        "reasons": reasons.decisive(),
        "notes": reasons.notes(),
        "ledger": ledger,
        "thresholds_judged": not plan["record_only"],
        "started_at": _iso(min(filter(None, (status["process"]["started_at"] for status in statuses)), default=None)),
        "ended_at": _iso(max(filter(None, (status["process"]["ended_at"] for status in statuses)), default=None)),
        "warmup_steps": warm_up.steps,
        "warm_up": warm_up.in_summary(),
        "left_out": left_out_of(steps),
        "first_failure": first,
        "workload": seen.workload,
        **utilization,
        "thresholds": [{**bound, "unit": ALL_METRICS[bound["metric"]].unit} for bound in seen.bounds],
        "interval_method": METHOD,
        "stragglers": stragglers,
        # Only the history can show a regression, and propose a command for it.
        "regression": None,
        "isolate": None,
        "metrics": metrics,
        "nodes": [_node_summary(seen, status) for status in statuses],
    }


def _iso(epoch: float | None) -> str | None:
    return None if epoch is None else datetime.fromtimestamp(epoch, tz=UTC).isoformat(timespec="seconds")


def _node_summary(seen: Seen, status: Status) -> NodeSummary:
    node = status["node"]
    rows, own = seen.attempts.get(node), seen.by_node.get(node, {})
    return {
        "node": node,
        "node_rank": status["node_rank"],
        "state": status["status"],
        "exit_code": status["process"]["exit_status"],
        "attempts": None if rows is None else int(rows["attempt"][0]),
        "last_step": last_step_of(seen.attempts, node),
        "steps_total": status["steps"]["steps_total"],
        "samples": samples_of(own),
        "world_size": status["trainer"]["world_size"],
        "transports": status["trainer"]["transports"],
        "time_spent": seen.times.get(node),
        "loss_trend": seen.trends.get(node),
        **utilization_of(seen.workload, own, on_cpus=trains_on_cpus(seen.plan)),
        "metrics": own,
    }
