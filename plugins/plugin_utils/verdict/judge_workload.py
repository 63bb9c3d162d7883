# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the logs are of the workload that was planned: another one's numbers give it away."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Mapping

import numpy as np

from ...module_utils.logs.frameworks.known import grammar_of
from ...module_utils.logs.grammar import LAST_RANK
from ..contracts import Plan, Status, Workload
from .judge_log import log_framework
from .reasons import FAIL, INCONCLUSIVE, PASS, Reasons

if t.TYPE_CHECKING:
    import pandas as pd

# Of fewer steps no rate is usual; TFLOP/s may have one decimal.
_MIN_OF_RATES, _DIGIT_OF_FLOPS = 5, 0.1
# FLOPs of causal attention, for each layer, hidden size and token of a sequence; and how far trainers' counts differ.
_ATTENTION, _COUNTED_OTHERWISE = 6.0, 1.25
# Printed rates and times are rounded, and each is taken at another moment.
_RATE_TOLERANCE = 0.05
_CLOCK_TOLERANCE, _STAMP_SECONDS = 0.05, 2.0
# Time stamps may be whole seconds, which the median of overlapping stretches evens out.
_STRETCH_SECONDS, _LEAST_STRETCH_SECONDS, _STRETCHES, _TOO_LONG = 10.0, 4.0, 4, 1.25
_SAMPLES = 0.5
_WORDS = {
    "sequence_length": "sequence length",
    "micro_batch_size": "micro batch size",
    "global_batch_size": "global batch size",
    "iterations": "number of iterations",
    "gpus": "number of ranks",
    "batch_per_device": "batch of a device",
    "accumulated_batches": "number of accumulated batches",
    "tensor_parallelism": "tensor parallel size",
    "pipeline_parallelism": "pipeline parallel size",
    "layers": "number of layers",
    "hidden_size": "hidden size",
}


def judge_workload(
    plan: Plan, statuses: list[Status], attempts: Mapping[str, pd.DataFrame], reasons: Reasons
) -> dict[str, list[str]]:
    """Note each number of a log that is not the plan's, or not that of the other nodes, or contradicts another one.

    Returns in words what agrees, by node.
    """
    planned = _planned(plan)
    agrees: dict[str, list[str]] = {status["node"]: [] for status in statuses}
    of_nodes: dict[str, tuple[str, float]] = {}
    together = plan["mode"] == "multi_node"
    for status in statuses:
        node = status["node"]
        _judge_ranks(status, of_nodes if together else {}, reasons)
        for name, word in _WORDS.items():
            values = (status.get("settings") or {}).get(name, [])
            if len(values) > 1:
                found = " and ".join(f"{value:g}" for value in values)
                message = f"The log of {node} has two values of the {word}, {found}: it is of two runs."
                reasons.add(INCONCLUSIVE, "settings_differ", message, node, **{name: values})
            elif values:
                _compare(node, word, values[0], planned.get(name), agrees, reasons)
                if together:
                    _compare_nodes(node, word, values[0], of_nodes, reasons)
        if node in attempts and planned.get("iterations"):
            _judge_last_step(node, int(attempts[node]["step"].max()), plan, reasons)
        total = status.get("steps_total")
        if node in attempts and total:
            _compare(node, "number of iterations", total, planned.get("iterations"), agrees, reasons)
    grammar = grammar_of(log_framework(plan))
    bars = grammar.bars
    # Nodes that trained alone print TFLOP/s of fewer ranks; that is said of them together.
    alone = together and grammar.printed_by == LAST_RANK and len(attempts) > 1
    workload = None if alone else plan.get("workload")
    for status in statuses:
        node = status["node"]
        if node in attempts:
            rows = attempts[node]
            _judge_samples(node, rows, planned.get("global_batch_size"), bars, agrees, reasons)
            tokens = _tokens_of_gpu(plan, status) or _tokens_by_logs(statuses if together else [status], rows)
            if bars:
                _judge_bars(node, rows, tokens, reasons)
            else:
                _judge_rate(node, rows, tokens, agrees, reasons)
                _judge_flops(node, rows, workload, agrees, reasons)
                _judge_stamps(node, rows, agrees, reasons)
    if planned and all(agrees.values()):
        reasons.add(PASS, "workload", "The logs match the planned workload, as far as they show it.")
    return agrees


def _planned(plan: Plan) -> dict[str, float]:
    workload = t.cast("Mapping[str, t.Any]", plan.get("workload") or {})
    parameters = t.cast("Mapping[str, t.Any]", plan["parameters"])
    planned = {name: workload.get(name) for name in _WORDS} | {"iterations": parameters.get("iterations")}
    if not plan.get("rehearsal"):
        planned |= {name: parameters.get(name) for name in ("tensor_parallelism", "pipeline_parallelism")}
    return {name: float(value) for name, value in planned.items() if value}


def _compare_nodes(
    node: str, word: str, found: float, of_nodes: dict[str, tuple[str, float]], reasons: Reasons
) -> None:
    first, value = of_nodes.setdefault(word, (node, found))
    if value != found:
        other = "another line of it" if first == node else f"that of {first}"
        message = f"The {word} is {found:.10g} in the log of {node}, and {value:.10g} in {other}."
        reasons.add(FAIL, "other_workload", message, node, found=found, other=value)


def _judge_ranks(status: Status, of_nodes: dict[str, tuple[str, float]], reasons: Reasons) -> None:
    """Compare the number of ranks with that of other nodes, and the batch size it leads to with the one in the log."""
    node, ranks, settings = status["node"], status.get("world_size"), status.get("settings") or {}
    if not ranks:
        return
    _compare_nodes(node, "number of ranks", ranks, of_nodes, reasons)
    names = ("batch_per_device", "global_batch_size", "accumulated_batches")
    each, whole, times = (settings.get(name, []) for name in names)
    if len(each) == len(whole) == 1 and len(times) <= 1:
        accumulated = times[0] if times else 1.0
        made = ranks * each[0] * accumulated
        # MaxText rounds the batch of a device times the devices.
        if abs(made - whole[0]) >= max(1.0, accumulated):
            message = (
                f"The log of {node} contradicts itself: its global batch size is {whole[0]:g}, and {ranks} ranks of "
                f"{each[0]:g} each make {made:g}."
            )
            reasons.add(FAIL, "other_workload", message, node, found=made, other=whole[0])


def _judge_last_step(node: str, last: int, plan: Plan, reasons: Reasons) -> None:
    goal = plan["first_step"] + int(plan["parameters"]["iterations"] or 0) - 1
    if last > goal:
        message = f"The log of {node} is of another workload: it goes on to step {last}, and the plan's last is {goal}."
        reasons.add(FAIL, "other_workload", message, node, found=last, planned=goal)


def _compare(
    node: str, word: str, found: float, planned: float | None, agrees: dict[str, list[str]], reasons: Reasons
) -> None:
    if planned is None or abs(found - planned) <= 1e-6 * abs(planned):
        if f"{word} {found:.10g}" not in agrees[node]:
            agrees[node].append(f"{word} {found:.10g}")
        return
    given = f"{found:.10g}" if math.isfinite(found) else "no finite number"
    message = f"The log of {node} is of another workload: its {word} is {given}, and the plan's is {planned:.10g}."
    reasons.add(FAIL, "other_workload", message, node, found=found, planned=planned)


def _judge_samples(
    node: str,
    rows: pd.DataFrame,
    planned: float | None,
    bars: bool,
    agrees: dict[str, list[str]],
    reasons: Reasons,
) -> None:
    """Compare the batch of each step, and by how many samples the consumed ones grow, with the plan or each other."""
    batch = planned
    if "global_batch_size" in rows:
        printed = rows["global_batch_size"].dropna()
        wrong = printed[printed != planned] if planned else printed[~np.isfinite(printed)]
        if not wrong.empty or printed.empty:
            _compare(
                node, "global batch size", float(wrong.iloc[-1]) if len(wrong) else 0.0, planned or 0.0, agrees, reasons
            )
            return
        _compare(node, "global batch size", float(printed.iloc[-1]), planned, agrees, reasons)
        batch = batch or (float(printed.iloc[0]) if printed.nunique() == 1 else None)
    if "consumed_samples" not in rows:
        return
    counting = rows[["step", "consumed_samples"]].dropna()
    steps, samples = counting["step"].to_numpy(float), counting["consumed_samples"].to_numpy(float)
    if samples.size < 2:
        return
    grown = np.diff(samples)
    if batch is None and "global_batch_size" in rows:
        # A batch that grows is that of its own step.
        printed = rows.loc[counting.index[1:], "global_batch_size"].to_numpy()
        wrong = (np.diff(steps) == 1) & (np.abs(grown - printed) > _SAMPLES)
        if not bars and wrong.any():
            place = int(np.argmax(wrong))
            message = (
                f"The log of {node} contradicts itself: step {steps[place + 1]:.10g} has a global batch size of "
                f"{printed[place]:.10g}, and consumed {grown[place]:.10g} samples."
            )
            reasons.add(FAIL, "other_workload", message, node, found=float(grown[place]), planned=float(printed[place]))
            return
        if not bars:
            agrees[node].append(f"{samples[-1]:.10g} samples consumed")
            return
    batch = batch or float(np.median(grown / np.diff(steps)))
    # Bars show three digits, of the step before now and then.
    allowed = 0.01 * np.abs(samples) + 2.0 * batch if bars else _SAMPLES
    # From its first step on, a training has consumed nothing else.
    begin = batch * steps[0] if steps[0] == 1 and not bars else samples[0]
    expected = begin + batch * (steps - steps[0])
    off = ~(np.abs(samples - expected) <= allowed) | ~np.isfinite(samples)
    if not off.any() and batch > 0:
        agrees[node].append(f"{samples[-1]:.10g} samples consumed")
        return
    place = int(np.argmax(off))
    found, due = float(samples[place]), float(expected[place])
    message = (
        f"The log of {node} is of another workload: by step {steps[place]:.10g} it had consumed {found:.10g} samples; "
        f"with a global batch size of {batch:.10g} it would be {due:.10g}."
    )
    reasons.add(FAIL, "other_workload", message, node, found=found, planned=due)


def _tokens_of_gpu(plan: Plan, status: Status) -> float | None:
    """Return the tokens of a GPU in a step: the plan's, or those that the log's own settings make."""
    workload, settings = plan.get("workload"), status.get("settings") or {}
    if workload and workload.get("tokens_per_step"):
        return float(t.cast(int, workload["tokens_per_step"])) / workload["gpus"]
    if len(settings.get("batch_per_device", [])) == len(settings.get("sequence_length", [])) == 1:
        return (
            settings["batch_per_device"][0]
            * settings["sequence_length"][0]
            * settings.get("accumulated_batches", [1.0])[0]
        )
    return None


def _tokens_by_logs(statuses: list[Status], rows: pd.DataFrame) -> float | None:
    """Return the tokens of a GPU in a step as the logs of one job together say, where its batch stays the same."""
    lengths = {value for status in statuses for value in (status.get("settings") or {}).get("sequence_length", [])}
    ranks = {status.get("world_size") for status in statuses} - {None, 0}
    batches = set(rows["global_batch_size"].dropna()) if "global_batch_size" in rows else set()
    if len(lengths) == len(ranks) == len(batches) == 1:
        return float(batches.pop() * lengths.pop() / t.cast(int, ranks.pop()))
    return None


def _judge_rate(
    node: str, rows: pd.DataFrame, tokens: float | None, agrees: dict[str, list[str]], reasons: Reasons
) -> None:
    """Compare tokens/s × step time with the tokens of a step."""
    if not {"tokens_per_sec_per_gpu", "step_time_ms"} <= set(rows.columns):
        return
    products = (rows["tokens_per_sec_per_gpu"] * rows["step_time_ms"] / 1000.0)[rows["counted"]].dropna().to_numpy()
    products = products[np.isfinite(products)]
    if products.size == 0:
        return
    found = float(np.median(products))
    if tokens and abs(found - tokens) > _RATE_TOLERANCE * tokens:
        message = (
            f"The log of {node} is of another workload: its tokens/s times its step time are {found:.6g} tokens for a "
            f"GPU in a step, and the workload has {tokens:.6g}."
        )
        reasons.add(FAIL, "other_workload", message, node, found=found, planned=tokens)
    elif (np.abs(products - found) > _RATE_TOLERANCE * abs(found)).mean() > _RATE_TOLERANCE:
        message = f"The tokens/s and the step times of {node} contradict each other from step to step."
        reasons.add(INCONCLUSIVE, "rates_disagree", message, node)
    else:
        agrees[node].append(f"{found:.6g} tokens for a GPU in a step")


def _judge_flops(
    node: str, rows: pd.DataFrame, workload: Workload | None, agrees: dict[str, list[str]], reasons: Reasons
) -> None:
    """Note TFLOP/s that are not those of the step times, as each sequence takes as many, or of the model."""
    if not {"tflops_per_gpu", "step_time_ms"} <= set(rows.columns):
        return
    counted = rows[rows["counted"]]
    batch = counted.get("global_batch_size", 1.0)
    flops = (counted["tflops_per_gpu"] * counted["step_time_ms"] / batch).dropna().to_numpy()
    flops = flops[np.isfinite(flops)]
    if flops.size < _MIN_OF_RATES or not (usual := float(np.median(flops))) > 0:
        return
    digit = _DIGIT_OF_FLOPS / float(counted["tflops_per_gpu"].median())
    allowed = _RATE_TOLERANCE + digit
    if (np.abs(flops / usual - 1) > allowed).sum() > max(1.0, _RATE_TOLERANCE * flops.size):
        message = f"The TFLOP/s and the step times of {node} contradict each other from step to step."
        reasons.add(INCONCLUSIVE, "rates_disagree", message, node)
    elif digit < _RATE_TOLERANCE and workload:
        _judge_model_flops(node, counted, workload, agrees, reasons)


def _judge_model_flops(
    node: str, counted: pd.DataFrame, workload: Workload, agrees: dict[str, list[str]], reasons: Reasons
) -> None:
    """Note TFLOP/s that are not those of the planned model.

    Trainers count attention as causal, as the plan does, or over the whole matrix, which is as much again.
    """
    least, tokens = workload["model_flops_per_token"], workload["tokens_per_step"]
    if least and tokens:
        tflops_ms = float((counted["tflops_per_gpu"] * counted["step_time_ms"]).median())
        found = tflops_ms * 1e9 * workload["gpus"] / tokens
        layers, hidden_size = workload.get("layers") or 0, workload.get("hidden_size") or 0
        most = least + _ATTENTION * layers * hidden_size * (workload.get("sequence_length") or 0)
        if not least / _COUNTED_OTHERWISE < found < most * _COUNTED_OTHERWISE:
            message = (
                f"The TFLOP/s of {node} times its step time are {found:.3g} FLOPs for a token, and those of the "
                f"model are {least:.3g}."
            )
            reasons.add(INCONCLUSIVE, "rates_disagree", message, node, found=found, planned=least)
        else:
            agrees[node].append(f"{found:.3g} FLOPs for a token")


def _judge_bars(node: str, rows: pd.DataFrame, tokens: float | None, reasons: Reasons) -> None:
    """Compare the step times and tokens/s of bars with the time that these say to have passed, in whole seconds."""
    if not {"clock", "step_time_ms"} <= set(rows.columns):
        return
    passed = rows[["step", "clock", "step_time_ms"]].dropna()
    passed = passed[passed["clock"] > _STRETCH_SECONDS]
    if passed.empty or rows["step"].iloc[0] != 1:
        return
    by_clock = float((passed["clock"] / passed["step"]).iloc[-1]) * 1000.0
    by_bar = float(passed["step_time_ms"].iloc[-1])
    if abs(by_bar - by_clock) > _RATE_TOLERANCE * by_clock + 1000.0 / float(passed["step"].iloc[-1]):
        message = (
            f"The bars of {node} contradict themselves: a step takes {by_bar:.6g} ms by their rate, and "
            f"{by_clock:.6g} ms by the time that has passed."
        )
        reasons.add(INCONCLUSIVE, "rates_disagree", message, node, found=by_bar, planned=by_clock)
    if tokens and "tokens_per_sec_per_gpu" in rows:
        rated = rows.loc[rows["counted"], ["step", "clock", "tokens_per_sec_per_gpu"]].dropna().to_numpy()
        whole = max(1, math.ceil(_STRETCH_SECONDS * 1000.0 / max(by_clock, 1e-3)))
        if len(rated) < 4 * whole:
            return
        apart = rated[whole:] - rated[:-whole]
        made = float(np.median(apart[:, 1] / apart[:, 0]) * np.median(rated[:, 2]))
        if abs(made - tokens) > (_TOO_LONG - 1.0) * tokens:
            message = (
                f"The tokens/s of {node} make {made:.6g} tokens for a GPU in a step by the time that has passed, and "
                f"the workload has {tokens:.6g}."
            )
            reasons.add(INCONCLUSIVE, "rates_disagree", message, node, found=made, planned=tokens)


def _judge_stamps(node: str, rows: pd.DataFrame, agrees: dict[str, list[str]], reasons: Reasons) -> None:
    """Compare the step times with the time stamps: steps that follow each other take no longer than these are apart."""
    if not {"clock", "step_time_ms"} <= set(rows.columns):
        return
    stamped = rows.loc[rows["counted"], ["step", "clock", "step_time_ms"]].dropna()
    if len(stamped) < 2:
        return
    span = float(stamped["clock"].iloc[-1] - stamped["clock"].iloc[0])
    taken = float((stamped["step_time_ms"].to_numpy()[1:] * np.diff(stamped["step"])).sum()) / 1000.0
    if taken > span * (1 + _CLOCK_TOLERANCE) + _STAMP_SECONDS and span > -_STAMP_SECONDS:
        message = (
            f"The log of {node} is of another workload, or was changed: by their step times its {len(stamped)} counted "
            f"steps take {taken:.6g} s, and their time stamps are {span:.6g} s apart."
        )
        reasons.add(FAIL, "other_workload", message, node, found=taken, planned=span)
    elif _each_step_too_long(stamped):
        message = (
            f"The step times of {node} are shorter than its time stamps say of nearly every step: its {len(stamped)} "
            f"counted steps take {taken:.6g} s by the former, and {span:.6g} s by the latter."
        )
        reasons.add(INCONCLUSIVE, "rates_disagree", message, node, found=taken, planned=span)
    else:
        agrees[node].append(f"steps of {taken:.4g} s within {span:.4g} s of time stamps")


def _each_step_too_long(stamped: pd.DataFrame) -> bool:
    """Tell whether stretches of steps mostly last longer by the time stamps than by the step times: pauses are few."""
    ms, clock = stamped["step_time_ms"].to_numpy(), stamped["clock"].to_numpy()
    seconds = min(_STRETCH_SECONDS, float(clock[-1] - clock[0]) / _STRETCHES)
    if seconds < _LEAST_STRETCH_SECONDS:
        return False
    stretch = math.ceil(seconds * (len(clock) - 1) / float(clock[-1] - clock[0]))
    whole = np.concatenate(([0.0], np.cumsum(ms[1:] * np.diff(stamped["step"])))) / 1000.0
    with np.errstate(invalid="ignore", divide="ignore"):
        longer = (clock[stretch:] - clock[:-stretch]) / (whole[stretch:] - whole[:-stretch])
    return float(np.median(longer)) > _TOO_LONG
