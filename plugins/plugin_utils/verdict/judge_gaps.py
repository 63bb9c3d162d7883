# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps, losses and values that a log should have but lacks."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

import numpy as np

from ...module_utils.logs.record import EVIDENCE, METRICS, OTHER_FIELDS
from ..contracts import Plan, Status
from ..run.status import said_interval
from .moved_clock import moved_seconds
from .reasons import INCONCLUSIVE, Reasons

if t.TYPE_CHECKING:
    from .frame import Rows
    from .seen import Seen

# If more than this fraction of the steps is missing, torn lines are not the cause.
_TORN = 0.005
# Some trainers print rates from the third step on, or not when they write a checkpoint, which is every so many steps.
_MOST_MISSING, _LEAST_APART = 0.1, 8
# Either every process of a job prints these in its lines, or none does.
_OF_EACH_NODE = ("step_time_ms", "tflops_per_gpu", "tokens_per_sec_per_gpu", "tokens_with_loss", "clock")
# A trainer prints these in each line or in none.
_NOT_IN_EACH = ("loss", "skipped_iterations", "sequences_per_sec", OTHER_FIELDS)
_OF_EACH_STEP = tuple(name for name in (*METRICS, *EVIDENCE) if name not in _NOT_IN_EACH)


def judge_gaps(seen: Seen, reasons: Reasons) -> None:
    """Note steps of the last attempt that are missing in a log, and steps without a loss or a judged metric.

    A training that resumed from a checkpoint, or restarted, begins at that step. A NaN loss is not missing, and skipped
    iterations have no loss.
    """
    plan, grammar = seen.plan, seen.grammar
    nan = seen.records.loc[seen.records["value"].isna(), ["node", "metric", "step"]]
    nan_steps = nan.groupby(["node", "metric"])["step"].agg(set).to_dict()
    if seen.together:
        moved = {status["node"] for status in seen.statuses if moved_seconds(status)}
        _judge_lines_of_nodes({node: rows for node, rows in seen.attempts.items() if node not in moved}, reasons)
    looked_at = list(dict.fromkeys((*seen.judged_metrics, *_OF_EACH_STEP)))
    said_stride = 1 if grammar.each_step else said_interval(status["trainer"]["settings"] for status in seen.statuses)
    first_step = plan["first_step"]
    begun = {
        "": _begun(seen.statuses, first_step),
        **{status["node"]: _begun([status], first_step) for status in seen.statuses},
    }
    for node, rows in seen.attempts.items():
        earlier, found = seen.earlier[node]["step"], rows["step"]
        stride = said_stride or _usual_stride(found)
        resumed, again = begun["" if seen.together else node]
        first = _first(plan, earlier, resumed, bars=grammar.bars)
        if resumed and not earlier.size and not again:
            _judge_begin(node, int(found[0]), first, first_step, reasons)
        _judge_steps(node, found, stride, first, reasons)
        skipped = _column(rows, "skipped_iterations") > 0
        losses = _column(rows, "loss")
        if not np.isnan(losses).all():
            there = ~np.isin(found, _steps_of(nan_steps, node, "loss"))
            missing = [int(step) for step in found[there & np.isnan(losses) & ~skipped]]
            _judge_losses(node, missing, int(there.sum()), seen.reached.last_line, reasons)
        for name in grammar.each_line:
            if np.isnan(_column(rows, name)).all():
                reasons.argue(INCONCLUSIVE, "metric_gaps", node, case="every_line", metric=name, steps=len(rows))
        counting = rows["counted"] & ~skipped
        for metric in looked_at:
            absent = np.isnan(_column(rows, metric)[counting])
            # Progress bars show the clock of the first epoch only.
            if absent.all() or not absent.any() or (metric == "clock" and grammar.bars):
                continue
            absent &= ~np.isin(found[counting], _steps_of(nan_steps, node, metric))
            if _is_torn(absent, in_each=metric in grammar.each_line):
                lacks = {"metric": metric, "steps": int(absent.sum()), "of": absent.size}
                reasons.argue(INCONCLUSIVE, "metric_gaps", node, **lacks)


def _judge_lines_of_nodes(attempts: Mapping[str, Rows], reasons: Reasons) -> None:
    """Note values that another node's step lines show, but none of this node's."""
    for metric in _OF_EACH_NODE:
        said = {node: not np.isnan(_column(rows, metric)).all() for node, rows in attempts.items()}
        first = next((node for node, says in said.items() if says), None)
        for node in (node for node, says in said.items() if first and not says):
            reasons.argue(INCONCLUSIVE, "metric_gaps", node, case="other_node", metric=metric, other=first)


def _column(rows: Rows, name: str) -> np.ndarray:
    """Return the values of a metric, all NaN if no row has it."""
    return rows[name] if name in rows else np.full(len(rows), np.nan)


def _steps_of(nan_steps: Mapping[t.Any, set[int]], node: str, metric: str) -> list[int]:
    return list(nan_steps.get((node, metric), ()))


def _is_torn(missing: np.ndarray, *, in_each: bool) -> bool:
    """Tell whether more values are missing than a few torn lines, or regular gaps of a value not on each line."""
    apart = np.diff(np.flatnonzero(missing))
    regular = not in_each and apart.size > 0 and int(apart.min()) >= _LEAST_APART and not (apart % apart.min()).any()
    return bool(missing.mean() > (_MOST_MISSING if regular else max(_TORN, 1.5 / missing.size)))


def _begun(of_job: list[Status], first_step: int) -> tuple[set[float], bool]:
    """Return the steps at which a job's nodes resumed, by their logs, and whether a process restarted there."""
    settings = [status["trainer"]["settings"] for status in of_job]
    resumed = {value for said in settings for value in said.get("resumed", ())}
    resumed |= {value - 1 for said in settings for value in said.get("begun", ()) if value > first_step}
    return resumed, any(status["steps"]["starts"] > 1 for status in of_job)


def _first(plan: Plan, earlier: np.ndarray, resumed: set[float], *, bars: bool) -> int | None:
    """Return the first step that a log must have, None if it may begin anywhere."""
    if earlier.size:
        return int(earlier.max()) + 1
    if not resumed:
        return plan["first_step"]
    return int(max(resumed)) + 1 if len(resumed) == 1 and not bars else None


def _judge_begin(node: str, begun: int, due: int | None, first_step: int, reasons: Reasons) -> None:
    """Note a log whose only training begins before its own checkpoint."""
    # Trainers that count from 0 may number a checkpoint by the next step.
    if due is not None and begun < due - 1 + first_step:
        case = "before_checkpoint"
        reasons.argue(INCONCLUSIVE, "other_log", node, case=case, resumed=due - 1, first_step=begun)


def _usual_stride(found: np.ndarray) -> int:
    apart, counts = np.unique(np.diff(found), return_counts=True)
    return int(apart[counts.argmax()]) if apart.size else 1


def _judge_steps(node: str, found: np.ndarray, stride: int, first: int | None, reasons: Reasons) -> None:
    apart = np.diff(found)
    holes = [(int(found[place]) + 1, int(apart[place]) - stride) for place in np.flatnonzero(apart > stride)]
    if first is not None and found[0] - first >= stride:
        holes.insert(0, (first, int(found[0]) - first))
    missing = sum(size for _begin, size in holes) // stride
    if not missing:
        return
    share = missing / (missing + found.size)
    lacks: dict[str, t.Any] = {"steps": missing, "of": missing + found.size, "first_step": holes[0][0]}
    if share > _TORN:
        reasons.argue(INCONCLUSIVE, "steps_missing", node, **lacks)
    else:
        reasons.remark("steps_missing", node, **lacks)


def _judge_losses(node: str, missing: list[int], steps: int, goal: int | None, reasons: Reasons) -> None:
    if goal in missing:
        missing.remove(goal)
        reasons.argue(INCONCLUSIVE, "last_loss_missing", node, last_step=goal)
    if not missing:
        return
    if len(missing) > _TORN * steps:
        reasons.argue(INCONCLUSIVE, "loss_missing", node, steps=len(missing), first_step=missing[0])
    else:
        reasons.remark("loss_missing", node, steps=len(missing), first_step=missing[0])
