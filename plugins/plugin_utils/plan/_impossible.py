# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bounds that nothing can meet, as the accelerators cannot compute that much."""

from __future__ import annotations

import typing as t

from ansible_collections.trainops.cluster.plugins.module_utils.logs._record import in_words
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._bounds import bound_in_words, limits
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._words import key_path

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._faults import Findings


def tflops_behind(metric: str, value: float, workload: Mapping[str, t.Any]) -> float | None:
    """Return the TFLOP/s that a GPU computes at a value of a metric, or None where that cannot be told.

    Tokens/s and step times tell it by the model FLOPs of a token.
    """
    flops, tokens, gpus = (workload[name] for name in ("model_flops_per_token", "tokens_per_step", "gpus"))
    if metric == "tflops_per_gpu":
        return value
    if metric == "tokens_per_sec_per_gpu" and flops:
        return float(flops * value / 1e12)
    if metric == "step_time_ms" and flops and tokens and value > 0:
        return float(flops * tokens / gpus / (value / 1e3) / 1e12)
    return None


def warn_of_impossible(
    expected: Iterable[Mapping[str, t.Any]], key: str, workload: Mapping[str, t.Any], gpu: str, findings: Findings
) -> None:
    """Note each bound that asks for more than the peak of the accelerators in the precision of the run.

    ``key`` is where the bounds stand.
    """
    peak = workload["peak_tflops_per_gpu"]
    for bound in expected:
        least, greatest = limits(bound)
        asked = greatest if bound["metric"] == "step_time_ms" else least
        needed = tflops_behind(bound["metric"], asked, workload) if asked is not None else None
        if peak and needed is not None and needed > peak:
            behind = ":" if bound["metric"] == "tflops_per_gpu" else f". It takes {needed:.4g} TFLOP/s, and"
            findings.warn(
                key_path(key, bound["metric"]),
                bound["value"],
                f"{bound['metric']} {bound_in_words(bound)} is impossible{behind} the peak of {gpu} in "
                f"{workload['precision']} is {in_words('tflops_per_gpu', peak)}.",
                "Correct the threshold, or the precision.",
            )
