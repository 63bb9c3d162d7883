# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether what was measured can be: the training learns, and no accelerator computes more than it can."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

import numpy as np

from ...module_utils.logs.record import in_words
from ..contracts import Plan
from ..plan.job.impossible_bounds import tflops_behind
from .loss_trend import FALLING, FLAT, MIN_LOSSES_OF_FLAT, RISING, UNKNOWN, Trend, loss_trend
from .reasons import FAIL, INCONCLUSIVE, PASS, Reasons

if t.TYPE_CHECKING:
    import pandas as pd

    from .statistics import Statistics


def loss_trends(steps: pd.DataFrame) -> dict[str, Trend]:
    """Return the trend of the loss over all steps of the last attempt, by node that prints a loss."""
    if "loss" not in steps.columns:
        return {}
    trends = {}
    for node, rows in steps.groupby("node", sort=False):
        last = rows[(rows["attempt"] == rows["attempt"].max()) & np.isfinite(rows["loss"])].sort_values("step")
        if not last.empty:
            trends[str(node)] = loss_trend(last["step"].to_numpy(), last["loss"].to_numpy())
    return trends


def judge_loss(plan: Plan, steps: pd.DataFrame, trends: Mapping[str, Trend], reasons: Reasons) -> None:
    """Note whether the loss falls: once for one job, and for each of several.

    A loss that rises fails. One that is flat leaves open whether anything was learned, in a training that began anew
    and went on for 20 steps or more; of a shorter one, and of one that went on from a checkpoint, it is only told.
    """
    chosen = list(trends)
    if plan["mode"] == "multi_node" and trends:
        chosen = [max(trends, key=lambda node: trends[node]["samples"])]
    for node in chosen:
        trend = trends[node]
        over = f"over {trend['samples']} loss{'' if trend['samples'] == 1 else 'es'} of {node}"
        if trend["direction"] != UNKNOWN:
            low, high = trend["interval"].values()
            over += f" (slope {trend['slope']:.3g} a step, 95 % interval {low:.3g} to {high:.3g})"
        if trend["direction"] == FALLING:
            reasons.add(PASS, "loss_falls", f"The loss falls {over}.", trend=trend)
        elif trend["direction"] == RISING:
            reasons.add(FAIL, "loss_rises", f"The loss rises {over}.", node, trend=trend)
        elif trend["direction"] == FLAT and _is_resumed(plan, steps, node):
            message = f"The loss does not fall {over}, in a training that went on from step {trend['first_step']}."
            reasons.note("loss_flat", message, node, trend=trend)
        elif trend["direction"] == FLAT and trend["samples"] >= MIN_LOSSES_OF_FLAT:
            reasons.add(INCONCLUSIVE, "loss_flat", f"The loss does not fall {over}.", node, trend=trend)
        else:
            message = f"Whether the loss falls cannot be told {over}: {MIN_LOSSES_OF_FLAT} would tell."
            reasons.note("loss_not_judged", message, node, trend=trend)


def _is_resumed(plan: Plan, steps: pd.DataFrame, node: str) -> bool:
    rows = steps[steps["node"] == node]
    last = rows["attempt"].max()
    return bool(last > 1 or rows.loc[rows["attempt"] == last, "step"].min() > plan["first_step"])


def judge_physics(plan: Plan, by_node: Mapping[str, Mapping[str, Statistics]], reasons: Reasons) -> None:
    """Note where the median of a node is beyond the peak of its accelerators: something was not measured right."""
    workload = plan.get("workload")
    peak = workload and workload["peak_tflops_per_gpu"]
    if not workload or not peak:
        return
    for node, found in by_node.items():
        for metric in ("tflops_per_gpu", "tokens_per_sec_per_gpu"):
            if metric not in found:
                continue
            value = found[metric]["median"]
            computed = tflops_behind(metric, value, workload)
            if computed is not None and computed > peak:
                behind = "" if metric == "tflops_per_gpu" else f", which takes {computed:.4g} TFLOP/s"
                reasons.add(
                    INCONCLUSIVE,
                    "impossible",
                    f"{metric} of {node} is {in_words(metric, value)}{behind}, and the peak of {plan['gpu']} in "
                    f"{workload['precision']} is {in_words('tflops_per_gpu', peak)}: that cannot be.",
                    node,
                    metric=metric,
                    value=value,
                    tflops=computed,
                    peak_tflops=peak,
                )
                break
