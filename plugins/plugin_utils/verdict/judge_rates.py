# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether rates, step times, timestamps and the model of a log agree with each other and with the plan."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Mapping

import numpy as np

from ...module_utils.node.accelerators import trains_on_cpus
from ..contracts import Plan, Trainer, Workload
from ..text.numbers import billions, number
from .reasons import FAIL, INCONCLUSIVE, Reasons

if t.TYPE_CHECKING:
    from .frame import Rows


# Trainers count one embedding table or two, and the vocabulary with or without padding.
_MODEL_COUNTED_OTHERWISE = 1.5
# Trainers print billions of parameters and TFLOPs of a step with two decimals.
_LEAST_BILLIONS, _LEAST_TFLOPS = 0.05, 1.0
# Printed rates and times are rounded, and measured at different moments.
_RATE_TOLERANCE = 0.05
_PARALLEL = ("tensor_parallelism", "pipeline_parallelism", "data_parallelism", "context_parallelism")
_SPLIT_BY = ("tensor_parallelism", "pipeline_parallelism", "expert_parallelism")


def judge_parameters(plan: Plan, node: str, trainer: Trainer, agrees: list[str], reasons: Reasons) -> None:
    """Note a model of another size than planned, unless CPUs train: they could not train the planned one."""
    workload, settings = plan.get("workload"), trainer["settings"]
    planned = (workload.get("parameters") or 0) / 1e9 if workload else 0.0
    if plan.get("rehearsal") or planned < _LEAST_BILLIONS:
        return
    found = list(settings.get("billions_of_parameters", []))
    parameters: Mapping[str, t.Any] = plan["parameters"]
    if all(parameters.get(name) in (None, 1) for name in _SPLIT_BY):
        found += [value / 1e9 for value in settings.get("parameters_of_rank", [])]
    other = [value for value in found if not 1 / _MODEL_COUNTED_OTHERWISE < value / planned < _MODEL_COUNTED_OTHERWISE]
    if other and trains_on_cpus(plan):
        reasons.remark("model_on_cpus", node, found=other[0], planned=planned)
    elif other:
        reasons.argue(FAIL, "other_workload", node, case="parameters", found=other[0], planned=planned)
    elif found:
        agrees.append(f"{billions(found[0])} parameters")


def judge_parallelism(node: str, trainer: Trainer, reasons: Reasons) -> None:
    """Note a log whose parallel sizes do not match its number of ranks, or do not divide its batch."""
    ranks, settings = trainer["world_size"], trainer["settings"]
    if not ranks or "data_parallelism" not in settings or any(len(settings.get(name, ())) > 1 for name in _PARALLEL):
        return
    made = math.prod(settings[name][0] for name in _PARALLEL if name in settings)
    if made != ranks:
        reasons.argue(INCONCLUSIVE, "settings_differ", node, case="parallel_sizes", found=made, other=ranks)
    batch, micro = (settings.get(name, ()) for name in ("global_batch_size", "micro_batch_size"))
    data = settings["data_parallelism"][0]
    if len(batch) == len(micro) == 1 and batch[0] % (micro[0] * data):
        values = {"batch": batch[0], "micro_batch": micro[0], "ranks": data}
        reasons.argue(INCONCLUSIVE, "settings_differ", node, case="micro_batches", **values)


def judge_flops_of_step(node: str, trainer: Trainer, rows: Rows, agrees: list[str], reasons: Reasons) -> None:
    """Note TFLOP/s × step time that differs from the TFLOPs of a step that the trainer prints at the start."""
    said = trainer["settings"].get("tflops_of_step", [])
    if len(said) != 1 or said[0] < _LEAST_TFLOPS or not rows.has("tflops_per_gpu", "step_time_ms"):
        return
    made = _median(rows["tflops_per_gpu"] * rows["step_time_ms"], rows["counted"]) / 1000.0
    if not math.isfinite(made):
        return
    if abs(made - said[0]) > _RATE_TOLERANCE * said[0]:
        reasons.argue(INCONCLUSIVE, "rates_disagree", node, case="flops_of_step", found=made, planned=said[0])
    else:
        agrees.append(f"{made:.6g} TFLOPs in a step")


# Fewer steps do not show the usual rate; TFLOP/s may have one decimal.
_MIN_OF_RATES, _DIGIT_OF_FLOPS = 5, 0.1
# FLOPs of causal attention per layer, hidden size and token of a sequence; and how far trainers' counts differ.
_ATTENTION, _COUNTED_OTHERWISE = 6.0, 1.25
# Bars show three digits of the consumed samples, and a resumed training continues the earlier count.
_LEAST_GROWTH = 0.2
# NxDT's throughput is a mean of 10 steps, and the first means include the compilation: most of so many rows do not.
_ROWS_AFTER_START = 25
_CLOCK_TOLERANCE, _STAMP_SECONDS = 0.05, 2.0
# Time stamps may be whole seconds: the median of overlapping stretches evens that out.
_STRETCH_SECONDS, _LEAST_STRETCH_SECONDS, _STRETCHES, _TOO_LONG = 10.0, 4.0, 4, 1.25


def judge_tokens(node: str, rows: Rows, tokens: float | None, agrees: list[str], reasons: Reasons) -> None:
    """Compare tokens/s × step time with the tokens per GPU and step; add a match to ``agrees``, in words."""
    if not rows.has("tokens_per_sec_per_gpu", "step_time_ms"):
        return
    products = (rows["tokens_per_sec_per_gpu"] * rows["step_time_ms"] / 1000.0)[rows["counted"]]
    products = products[np.isfinite(products)]
    if products.size == 0:
        return
    found = float(np.median(products))
    if tokens and abs(found - tokens) > _RATE_TOLERANCE * tokens:
        reasons.argue(FAIL, "other_workload", node, case="tokens_of_step", found=found, planned=float(tokens))
    elif (np.abs(products - found) > _RATE_TOLERANCE * abs(found)).mean() > _RATE_TOLERANCE:
        reasons.argue(INCONCLUSIVE, "rates_disagree", node, case="tokens_from_step_to_step")
    else:
        agrees.append(f"{number(found)} tokens per GPU and step")


def judge_flops(node: str, rows: Rows, workload: Workload | None, agrees: list[str], reasons: Reasons) -> None:
    """Note TFLOP/s that do not fit the step times (each sequence takes the same FLOPs) or a known model."""
    flops, digit = _flops_of_steps(rows)
    if flops.size < _MIN_OF_RATES or not (usual := float(np.median(flops))) > 0:
        return
    allowed = _RATE_TOLERANCE + digit
    if (np.abs(flops / usual - 1) > allowed).sum() > max(1.0, _RATE_TOLERANCE * flops.size):
        reasons.argue(INCONCLUSIVE, "rates_disagree", node, case="flops_from_step_to_step")
    elif digit < _RATE_TOLERANCE and workload:
        _judge_model_flops(node, rows, workload, agrees, reasons)


def _flops_of_steps(rows: Rows) -> tuple[np.ndarray, float]:
    """Return TFLOP/s × step time of each counted step, per sequence if the batch is printed, and the rounding error."""
    if not rows.has("tflops_per_gpu", "step_time_ms"):
        return np.array([]), math.nan
    counted = rows.at(rows["counted"])
    batch = counted["global_batch_size"] if counted.has("global_batch_size") else 1.0
    flops = counted["tflops_per_gpu"] * counted["step_time_ms"] / batch
    usual = _median(counted["tflops_per_gpu"])
    return flops[np.isfinite(flops)], _DIGIT_OF_FLOPS / usual if usual else math.nan


def _median(values: np.ndarray, among: np.ndarray | None = None) -> float:
    """Return the median of the values, or of those among a mask, that are not NaN; NaN if there are none."""
    values = values if among is None else values[among]
    there = values[~np.isnan(values)]
    return float(np.median(there)) if there.size else math.nan


def judge_same_flops(attempts: t.Mapping[str, Rows], reasons: Reasons) -> None:
    """Note nodes of one job whose devices computed a different number of FLOPs per step than the first node's."""
    first, usual = "", 0.0
    for node, rows in attempts.items():
        flops, digit = _flops_of_steps(rows)
        if flops.size < _MIN_OF_RATES:
            continue
        own = float(np.median(flops))
        if not first:
            first, usual = node, own
        elif abs(own - usual) > (_RATE_TOLERANCE + 2 * digit) * usual:
            tflop = {"found": own / 1000, "planned": usual / 1000}
            reasons.argue(INCONCLUSIVE, "rates_disagree", node, case="flops_of_another_node", other=first, **tflop)


def _judge_model_flops(node: str, rows: Rows, workload: Workload, agrees: list[str], reasons: Reasons) -> None:
    """Note TFLOP/s that do not fit the planned model.

    Trainers count either causal attention, like the plan, or the whole matrix, which doubles it.
    """
    least, tokens = workload["model_flops_per_token"], workload["tokens_per_step"]
    if least and tokens:
        tflops_ms = _median(rows["tflops_per_gpu"] * rows["step_time_ms"], rows["counted"])
        found = tflops_ms * 1e9 * workload["gpus"] / tokens
        layers, hidden_size = workload.get("layers") or 0, workload.get("hidden_size") or 0
        most = least + _ATTENTION * layers * hidden_size * (workload.get("sequence_length") or 0)
        if not least / _COUNTED_OTHERWISE < found < most * _COUNTED_OTHERWISE:
            flops = {"found": found, "planned": float(least)}
            reasons.argue(INCONCLUSIVE, "rates_disagree", node, case="flops_per_token", **flops)
        else:
            agrees.append(f"{number(found / 1e9, digits=3)} GFLOP per token")


def judge_bars(node: str, rows: Rows, tokens: float | None, reasons: Reasons) -> None:
    """Compare the step times and tokens/s of progress bars with their elapsed time, in whole seconds."""
    if not rows.has("clock", "step_time_ms"):
        return
    passed = rows.finite("clock", "step_time_ms")
    passed = passed.at(passed["clock"] > _STRETCH_SECONDS)
    if not passed or rows["step"][0] != 1:
        return
    by_clock = float(passed["clock"][-1] / passed["step"][-1]) * 1000.0
    by_bar = float(passed["step_time_ms"][-1])
    if abs(by_bar - by_clock) > _RATE_TOLERANCE * by_clock + 1000.0 / float(passed["step"][-1]):
        times = {"found": by_bar, "planned": by_clock}
        reasons.argue(INCONCLUSIVE, "rates_disagree", node, case="step_time_of_bars", **times)
    rate, due, case = "tokens_per_sec_per_gpu", tokens, "tokens_by_elapsed_time"
    if rate not in rows:
        rate, due, case = "sequences_per_sec", _samples_of_step(rows), "samples_by_elapsed_time"
    if not due or rate not in rows:
        return
    found = rows.counted("clock", rate)
    rated = np.stack([found["step"], found["clock"], found[rate]], axis=1)
    whole = max(1, math.ceil(_STRETCH_SECONDS * 1000.0 / max(by_clock, 1e-3)))
    if len(rated) < 4 * whole:
        return
    apart = rated[whole:] - rated[:-whole]
    made = float(np.median(apart[:, 1] / apart[:, 0]) * np.median(rated[:, 2]))
    at_start = len(rated) < _ROWS_AFTER_START
    if made > _TOO_LONG * due or (made < (2.0 - _TOO_LONG) * due and not at_start):
        reasons.argue(INCONCLUSIVE, "rates_disagree", node, case=case, found=made, planned=float(due))


def _samples_of_step(rows: Rows) -> float | None:
    """Return how many samples a step consumes, from the growth of their count; None if too few digits change."""
    if "consumed_samples" not in rows:
        return None
    counting = rows.finite("consumed_samples")
    if len(counting) < 2:
        return None
    steps, samples = (float(counting[name][-1] - counting[name][0]) for name in ("step", "consumed_samples"))
    return samples / steps if samples > _LEAST_GROWTH * counting["consumed_samples"][-1] else None


def judge_stamps(node: str, rows: Rows, agrees: list[str], reasons: Reasons) -> None:
    """Compare the step times with the timestamps: consecutive steps take no longer than these are apart."""
    if not rows.has("clock", "step_time_ms"):
        return
    stamped = rows.counted("clock", "step_time_ms")
    if len(stamped) < 2:
        return
    span = float(stamped["clock"][-1] - stamped["clock"][0])
    taken = float((stamped["step_time_ms"][1:] * np.diff(stamped["step"])).sum()) / 1000.0
    values = {"steps": len(stamped), "found": taken, "planned": span}
    if taken > span * (1 + _CLOCK_TOLERANCE) + _STAMP_SECONDS and span > -_STAMP_SECONDS:
        reasons.argue(FAIL, "other_workload", node, case="timestamps", **values)
    elif _each_step_too_long(stamped):
        reasons.argue(INCONCLUSIVE, "rates_disagree", node, case="timestamps", **values)
    else:
        agrees.append(f"steps of {number(taken)} s within {number(span)} s of timestamps")


def _each_step_too_long(stamped: Rows) -> bool:
    """Tell whether most stretches of steps last longer by timestamps than by step times; pauses affect only a few."""
    ms, clock = stamped["step_time_ms"], stamped["clock"]
    seconds = min(_STRETCH_SECONDS, float(clock[-1] - clock[0]) / _STRETCHES)
    if seconds < _LEAST_STRETCH_SECONDS:
        return False
    stretch = math.ceil(seconds * (len(clock) - 1) / float(clock[-1] - clock[0]))
    whole = np.concatenate(([0.0], np.cumsum(ms[1:] * np.diff(stamped["step"])))) / 1000.0
    longer = (clock[stretch:] - clock[:-stretch]) / (whole[stretch:] - whole[:-stretch])
    return float(np.median(longer)) > _TOO_LONG
