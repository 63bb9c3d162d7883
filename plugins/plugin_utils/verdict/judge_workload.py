# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the logs are from the planned workload: different numbers reveal another one."""

from __future__ import annotations

import math
import typing as t

import numpy as np

from ...module_utils.logs.grammar import EVERY_RANK, LAST_RANK
from ..contracts import Plan, Trainer
from ..text.numbers import exact, field, is_count
from .arguments import judge_arguments
from .judge_rates import (
    judge_bars,
    judge_flops,
    judge_flops_of_step,
    judge_parallelism,
    judge_parameters,
    judge_same_flops,
    judge_stamps,
    judge_tokens,
)
from .reasons import FAIL, INCONCLUSIVE, PASS, Reasons

if t.TYPE_CHECKING:
    from .frame import Rows
    from .seen import Seen

_SAMPLES = 0.5
# The batch of a device may be a fraction.
_TOKEN_TOLERANCE = 0.05
# Even a batch that is mostly padding has some tokens with a loss.
_LEAST_WITH_LOSS = 1e-3
_SETTINGS = (
    "sequence_length",
    "micro_batch_size",
    "global_batch_size",
    "iterations",
    "gpus",
    "batch_per_device",
    "accumulated_batches",
    "tensor_parallelism",
    "pipeline_parallelism",
    "data_parallelism",
    "context_parallelism",
    "layers",
    "hidden_size",
    "vocabulary",
)


def judge_workload(seen: Seen, reasons: Reasons) -> dict[str, list[str]]:
    """Note each number of a log that differs from the plan or the other nodes, or contradicts another number.

    Returns the numbers that agree, in words and by node.
    """
    plan, attempts, grammar = seen.plan, seen.attempts, seen.grammar
    planned = _planned(plan)
    agrees: dict[str, list[str]] = {status["node"]: [] for status in seen.statuses}
    of_job: dict[str, tuple[str, float]] = {}
    for status in seen.statuses:
        node, trainer = status["node"], status["trainer"]
        settings = trainer["settings"]
        compared = _Compared(node, agrees[node], of_job if seen.together else None, reasons)
        _judge_ranks(trainer, compared, None if seen.together else planned.get("gpus"))
        judge_arguments(plan, node, trainer["arguments"], agrees[node], reasons)
        for name in _SETTINGS:
            values = settings.get(name, [])
            if len(values) > 1:
                reasons.argue(INCONCLUSIVE, "settings_differ", node, setting=name, found=values)
            elif values:
                compared.with_plan(name, values[0], planned.get(name))
                compared.with_others(name, values[0])
        if node in attempts and planned.get("iterations"):
            _judge_last_step(node, int(attempts[node]["step"].max()), plan, reasons)
        total = status["steps"]["steps_total"]
        if node in attempts and total is not None:
            # The step lines' goal; without a plan it has to match the settings.
            compared.with_plan("iterations", total, planned.get("iterations"))
            if "iterations" not in planned:
                compared.with_others("iterations", total)
        judge_parallelism(node, trainer, reasons)
        judge_parameters(plan, node, trainer, agrees[node], reasons)
    # Nodes that trained alone print TFLOP/s of fewer ranks; another check notes that once for all of them.
    alone = seen.together and grammar.printed_by == LAST_RANK and len(attempts) > 1
    workload = None if alone else seen.workload
    of_all = [status["trainer"] for status in seen.statuses]
    for status in seen.statuses:
        node, trainer = status["node"], status["trainer"]
        settings = trainer["settings"]
        if node in attempts:
            rows = attempts[node]
            # If the steps print their batch, it may grow up to the configured one.
            said = settings.get("global_batch_size", []) if grammar.bars else []
            batch = planned.get("global_batch_size") or (said[0] if len(said) == 1 else None)
            compared = _Compared(node, agrees[node], None, reasons)
            _judge_samples(compared, rows, batch, bars=grammar.bars, resumed="resumed" in settings)
            tokens = _tokens_of_gpu(plan, trainer) or _tokens_by_logs(of_all if seen.together else [trainer], rows)
            _judge_tokens_with_loss(compared, plan, trainer, rows, tokens)
            if grammar.bars:
                judge_bars(node, rows, tokens, reasons)
            else:
                judge_tokens(node, rows, tokens, agrees[node], reasons)
                judge_flops(node, rows, workload, agrees[node], reasons)
                judge_stamps(node, rows, agrees[node], reasons)
                judge_flops_of_step(node, trainer, rows, agrees[node], reasons)
    judge_same_flops(attempts if seen.together and grammar.printed_by == EVERY_RANK else {}, reasons)
    if planned and all(agrees.values()):
        reasons.argue(PASS, "workload")
    return agrees


def _planned(plan: Plan) -> dict[str, float]:
    workload = t.cast("dict[str, t.Any]", plan.get("workload") or {})
    parameters = t.cast("dict[str, t.Any]", plan["parameters"])
    planned = {name: workload.get(name) for name in _SETTINGS} | {"iterations": parameters.get("iterations")}
    if not plan.get("rehearsal"):
        planned |= {name: parameters.get(name) for name in ("tensor_parallelism", "pipeline_parallelism")}
    return {name: float(value) for name, value in planned.items() if value}


class _Compared(t.NamedTuple):
    """The numbers that a node's log is compared with, and in words those that agree with the plan.

    ``of_job`` has each number of its job and the node that printed it first; None if the node is a job of its own.
    """

    node: str
    agrees: list[str]
    of_job: dict[str, tuple[str, float]] | None
    reasons: Reasons

    def with_plan(self, setting: str, found: float, planned: float | None) -> None:
        """Note a number that differs from the plan's."""
        if planned is None or abs(found - planned) <= 1e-6 * abs(planned):
            agreed = f"{field(setting)} {exact(found)}"
            if agreed not in self.agrees:
                self.agrees.append(agreed)
            return
        case = "not_a_number" if not math.isfinite(found) else "count" if is_count(setting) else "size"
        self.differs(case, setting=setting, found=found, planned=planned)

    def with_others(self, setting: str, found: float) -> None:
        """Note a number that differs from another node of the job, or from another line."""
        if self.of_job is None:
            return
        first, value = self.of_job.setdefault(setting, (self.node, found))
        if value == found:
            return
        if first == self.node:
            self.differs("another_line", setting=setting, found=found, other=value)
        else:
            self.differs("another_node", setting=setting, found=found, other_node=first, other=value)

    def differs(self, case: str, **values: t.Any) -> None:
        """Note a number of another workload."""
        self.reasons.argue(FAIL, "other_workload", self.node, case=case, **values)


def _judge_ranks(trainer: Trainer, compared: _Compared, planned: float | None) -> None:
    """Compare the number of ranks with the plan or other nodes, and the batch that results from it with the log."""
    ranks, settings = trainer["world_size"], trainer["settings"]
    if not ranks:
        return
    if planned:
        compared.with_plan("gpus", ranks, planned)
    compared.with_others("gpus", ranks)
    names = ("batch_per_device", "global_batch_size", "accumulated_batches")
    each, whole, times = (settings.get(name, []) for name in names)
    if len(each) == len(whole) == 1 and len(times) <= 1:
        accumulated = times[0] if times else 1.0
        made = ranks * each[0] * accumulated
        # MaxText rounds the product of a device's batch and the devices.
        if abs(made - whole[0]) >= max(1.0, accumulated):
            values = {"ranks": ranks, "batch_per_device": each[0], "found": made, "other": whole[0]}
            compared.differs("batch_of_ranks", **values)


def _judge_tokens_with_loss(
    compared: _Compared, plan: Plan, trainer: Trainer, rows: Rows, tokens: float | None
) -> None:
    """Note steps where more tokens have a loss than the batch contains, or hardly any."""
    batch = _tokens_of_batch(plan, trainer, tokens)
    if not batch or "tokens_with_loss" not in rows:
        return
    of_steps = rows["tokens_with_loss"]
    most = float(np.fmax.reduce(of_steps))
    if math.isfinite(most) and most > (1 + _TOKEN_TOLERANCE) * batch:
        compared.differs("tokens_with_loss", found=most, planned=batch)
    idle = rows["step"][of_steps < _LEAST_WITH_LOSS * batch]
    if idle.size:
        values = {"metric": "tokens_with_loss", "steps": len(idle), "first_step": int(idle[0])}
        compared.reasons.argue(INCONCLUSIVE, "idle_steps", compared.node, case="tokens_with_loss", **values)


def _tokens_of_batch(plan: Plan, trainer: Trainer, tokens: float | None) -> float | None:
    """Return the tokens of a step: of all ranks, or if a log does not show the ranks, of its batch."""
    workload, settings = plan.get("workload"), trainer["settings"]
    ranks = workload["gpus"] if workload else trainer["world_size"]
    if tokens and ranks:
        return tokens * ranks
    batch, length = (settings.get(name, []) for name in ("global_batch_size", "sequence_length"))
    return batch[0] * length[0] if len(batch) == len(length) == 1 else None


def _judge_last_step(node: str, last: int, plan: Plan, reasons: Reasons) -> None:
    goal = plan["first_step"] + int(plan["parameters"]["iterations"] or 0) - 1
    if last > goal:
        reasons.argue(FAIL, "other_workload", node, case="goes_on", found=last, planned=goal)


def _judge_samples(compared: _Compared, rows: Rows, planned: float | None, *, bars: bool, resumed: bool) -> None:
    """Compare the batch of each step, and the growth of the consumed samples, with the plan or each other."""
    batch = planned
    if "global_batch_size" in rows:
        printed = _known(rows, "global_batch_size")["global_batch_size"]
        wrong = printed[printed != planned] if planned else printed[~np.isfinite(printed)]
        if wrong.size or not printed.size:
            compared.with_plan("global_batch_size", float(wrong[-1]) if wrong.size else 0.0, planned or 0.0)
            return
        compared.with_plan("global_batch_size", float(printed[-1]), planned)
        batch = batch or (float(printed[0]) if (printed == printed[0]).all() else None)
    if "consumed_samples" not in rows:
        return
    counting = _known(rows, "consumed_samples")
    steps, samples = counting["step"].astype(float), counting["consumed_samples"]
    if samples.size < 2:
        return
    grown = np.diff(samples)
    if batch is None and "global_batch_size" in rows and not bars:
        # A batch that grows counts for its own step.
        printed = counting["global_batch_size"][1:]
        wrong = (np.diff(steps) == 1) & (np.abs(grown - printed) > _SAMPLES)
        if wrong.any():
            place = int(np.argmax(wrong))
            values = {"found": float(grown[place]), "planned": float(printed[place])}
            compared.differs("samples_of_step", step=int(steps[place + 1]), **values)
        else:
            compared.agrees.append(f"{exact(samples[-1])} samples consumed")
        return
    batch = batch or float(np.median(grown / np.diff(steps)))
    # Bars show three digits, of the step before now and then.
    allowed = 0.01 * np.abs(samples) + 2.0 * batch if bars else _SAMPLES
    # A training from step 1 has consumed nothing before.
    begin = batch * steps[0] if steps[0] == 1 and not resumed else samples[0]
    expected = begin + batch * (steps - steps[0])
    off = ~(np.abs(samples - expected) <= allowed) | ~np.isfinite(samples)
    if not off.any() and batch > 0:
        compared.agrees.append(f"{exact(samples[-1])} samples consumed")
        return
    place = int(np.argmax(off))
    values = {"found": float(samples[place]), "planned": float(expected[place]), "global_batch_size": batch}
    compared.differs("samples_consumed", step=int(steps[place]), **values)


def _known(rows: Rows, name: str) -> Rows:
    """Return the rows that have a value in a column."""
    return rows.at(~np.isnan(rows[name]))


def _tokens_of_gpu(plan: Plan, trainer: Trainer) -> float | None:
    """Return the tokens per GPU and step, from the plan or else from the log's own settings."""
    workload, settings = plan.get("workload"), trainer["settings"]
    if workload and workload.get("tokens_per_step"):
        return float(t.cast(int, workload["tokens_per_step"])) / workload["gpus"]
    batch, length = (settings.get(name, []) for name in ("batch_per_device", "sequence_length"))
    if len(batch) == len(length) == 1:
        return batch[0] * length[0] * settings.get("accumulated_batches", [1.0])[0]
    return None


def _tokens_by_logs(trainers: list[Trainer], rows: Rows) -> float | None:
    """Return the tokens per GPU and step from all logs of one job, if its batch stays the same."""
    lengths = {value for trainer in trainers for value in trainer["settings"].get("sequence_length", [])}
    ranks = {trainer["world_size"] for trainer in trainers} - {None, 0}
    batches = set(_known(rows, "global_batch_size")["global_batch_size"]) if "global_batch_size" in rows else set()
    if len(lengths) == len(ranks) == len(batches) == 1:
        return float(batches.pop() * lengths.pop() / t.cast(int, ranks.pop()))
    return None
