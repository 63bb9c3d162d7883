# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the numbers in the step lines are ones that a training can have."""

from __future__ import annotations

import math
import typing as t

import numpy as np

from ...module_utils.logs.record import METRICS, OTHER_FIELDS
from ..text.numbers import quantity_of
from .reasons import FAIL, INCONCLUSIVE, PASS, Reasons

if t.TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from .seen import Seen

# What each has to be above. A loss scale below the smallest half-precision number scales no loss that is one.
_ABOVE = {"loss_scale": 2.0**-24, "parameter_norm": 0.0, "tokens_with_loss": 0.0}
# With a larger one the weights are forgotten in a step.
_LARGEST_LEARNING_RATE = 1.0


def judge_finite(seen: Seen, reasons: Reasons) -> None:
    """Note NaN and infinite values of the last attempt, except in skipped iterations, and what it counts as NaN."""
    steps, records = seen.steps, seen.records
    last_attempts = steps.groupby("node", sort=False)["attempt"].max()
    last = records[records["attempt"] == records["node"].map(last_attempts)]
    taken = _without_skipped(last)
    wrong = taken[~np.isfinite(taken["value"])]
    for (node, metric), rows in sorted(
        _groups(wrong, "node", "metric"), key=lambda group: list(METRICS).index(group[0][1])
    ):
        case, first = "" if len(rows) == 1 else "several_steps", int(rows["step"].min())
        reasons.argue(FAIL, "not_finite", str(node), case=case, metric=metric, first_step=first, steps=len(rows))
    _judge_signs(taken, reasons)
    last_steps = steps[steps["attempt"] == steps["node"].map(last_attempts)]
    _judge_evidence(last_steps, reasons)
    _judge_other_fields(last_steps, reasons)
    for status in seen.statuses:
        for where in status["trainer"]["arguments"].get("evaluation_not_finite", []):
            reasons.argue(FAIL, "not_finite", status["node"], case="evaluation", where=where)
    nan_iterations = last[(last["metric"] == "nan_iterations") & (last["value"] > 0)]
    for (node,), rows in _groups(nan_iterations, "node"):
        reasons.argue(FAIL, "nan_iterations", str(node), first_step=int(rows["step"].min()))
    losses = taken[taken["metric"] == "loss"]
    with_loss = set(losses["node"])
    without = [str(node) for node in last_attempts.index if node not in with_loss]
    for node in without:
        reasons.argue(INCONCLUSIVE, "no_loss", node)
    if not losses.empty and wrong.empty and nan_iterations.empty and not without:
        reasons.argue(PASS, "finite", losses=len(losses))


def _without_skipped(records: pd.DataFrame) -> pd.DataFrame:
    skipped = records[
        (records["metric"] == "skipped_iterations") & (records["value"] > 0) & np.isfinite(records["value"])
    ]
    if skipped.empty:
        return records
    return records[~records.set_index(["node", "step"]).index.isin(skipped.set_index(["node", "step"]).index)]


def _groups(rows: pd.DataFrame, *by: str) -> Iterable[tuple[tuple[t.Any, ...], pd.DataFrame]]:
    """Return the groups of rows, in the order of the rows; mostly there are none, which pandas takes long to say."""
    return () if rows.empty else rows.groupby(list(by), sort=False)


def _judge_signs(records: pd.DataFrame, reasons: Reasons) -> None:
    """Note impossible times, rates and counts: below zero, a step that takes no time, a huge learning rate."""
    below = (records["value"] < 0) & (records["metric"] != "loss")
    wrong = records[below | (records["value"] == 0) & (records["metric"] == "step_time_ms")]
    for (node, metric), rows in _groups(wrong, "node", "metric"):
        value, first = float(rows["value"].iloc[0]), int(rows["step"].iloc[0])
        reasons.argue(FAIL, "below_zero", str(node), metric=metric, value=value, first_step=first, steps=len(rows))
    large = records[(records["metric"] == "learning_rate") & (records["value"] > _LARGEST_LEARNING_RATE)]
    for (node,), rows in _groups(large[np.isfinite(large["value"])], "node"):
        rate, step = quantity_of("learning_rate", float(rows["value"].iloc[0])), int(rows["step"].iloc[0])
        reasons.argue(
            INCONCLUSIVE, "impossible", str(node), case="learning_rate", metric="learning_rate", value=rate, step=step
        )


def _judge_evidence(steps: pd.DataFrame, reasons: Reasons) -> None:
    """Note a loss scale, weight norm or number of tokens with a loss that is not above zero: nothing is learned."""
    for name, least in _ABOVE.items():
        if name not in steps:
            continue
        wrong = steps[~((steps[name] > least) & np.isfinite(steps[name])) & steps[name].notna()]
        for (node,), rows in _groups(wrong, "node"):
            value, step = float(rows[name].iloc[0]), int(rows["step"].iloc[0])
            code = "below_zero" if math.isfinite(value) else "not_finite"
            at = {"first_step": step, "steps": len(rows)}
            reasons.argue(FAIL, code, str(node), case="learned_nothing", metric=name, value=value, **at)


def _judge_other_fields(steps: pd.DataFrame, reasons: Reasons) -> None:
    """Note NaN and infinity in fields that are not metrics, such as another loss or a norm."""
    if OTHER_FIELDS not in steps:
        return
    skipped = steps["skipped_iterations"] > 0 if "skipped_iterations" in steps else False
    for (node,), rows in _groups(steps[steps[OTHER_FIELDS].notna() & ~skipped], "node"):
        first = int(rows["step"].iloc[0])
        reasons.argue(FAIL, "not_finite", str(node), case="other_field", first_step=first, steps=len(rows))
