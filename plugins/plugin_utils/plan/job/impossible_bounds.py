# SPDX-License-Identifier: GPL-3.0-or-later
"""Bounds that exceed the peak of the accelerators."""

from __future__ import annotations

from collections.abc import Iterable

from ...contracts import Bound, Workload
from ...text.numbers import exact, number
from ...text.words import key_path
from ..config.findings import Findings
from .bounds import bound_in_words, limits


def tflops_behind(metric: str, value: float, workload: Workload) -> float | None:
    """Return the TFLOP/s per GPU that a metric's value implies, or None if unknown.

    Tokens/s and step times are converted with the model FLOPs per token.
    """
    flops, tokens, gpus = workload["model_flops_per_token"], workload["tokens_per_step"], workload["gpus"]
    if metric == "tflops_per_gpu":
        return value
    if metric == "tokens_per_sec_per_gpu" and flops:
        return float(flops * value / 1e12)
    if metric == "step_time_ms" and flops and tokens and value > 0:
        return float(flops * tokens / gpus / (value / 1e3) / 1e12)
    return None


def warn_of_impossible(expected: Iterable[Bound], key: str, workload: Workload, gpu: str, findings: Findings) -> None:
    """Warn of each bound above the peak of the accelerators in the precision of the run.

    ``key`` is the key of the bounds.
    """
    peak = workload["peak_tflops_per_gpu"]
    for bound in expected:
        least, greatest = limits(bound)
        asked = greatest if bound["metric"] == "step_time_ms" else least
        needed = tflops_behind(bound["metric"], asked, workload) if asked is not None else None
        if peak and needed is not None and needed > peak:
            behind = ":" if bound["metric"] == "tflops_per_gpu" else f". It takes {number(needed)} TFLOP/s per GPU, and"
            findings.warn(
                key_path(key, bound["metric"]),
                bound["value"],
                f"{bound_in_words(bound)} is impossible{behind} the peak of {gpu} in {workload['precision']} is "
                f"{exact(peak)} TFLOP/s.",
                "Fix the threshold or the precision.",
            )
