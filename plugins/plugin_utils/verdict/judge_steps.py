# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the steps have plausible numbers, updated the weights, and are enough."""

from __future__ import annotations

import math
import typing as t

import numpy as np

from ...module_utils.logs.record import METRICS, OTHER_FIELDS
from ..plan.job.sizes import MIN_SAMPLES
from ..text.numbers import quantity_of
from .frame import WARM_UP
from .reasons import FAIL, INCONCLUSIVE, PASS, Reasons
from .statistics import samples_of

if t.TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from .frame import Rows
    from .seen import Seen


# Lower bounds. A loss scale below the smallest half-precision number scales every loss to zero.
_ABOVE = {"loss_scale": 2.0**-24, "parameter_norm": 0.0, "tokens_with_loss": 0.0}
# A larger one overwrites the weights in a single step.
_LARGEST_LEARNING_RATE = 1.0


def judge_finite(seen: Seen, reasons: Reasons) -> None:
    """Note NaN and infinite values of the last attempt, except in skipped iterations, and its NaN iterations."""
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
    of_skipped = records.set_index(["node", "step"]).index.isin(skipped.set_index(["node", "step"]).index)
    # The loss of a line is the mean over its other iterations.
    has_loss = (records["metric"] == "loss") & np.isfinite(records["value"])
    return t.cast("pd.DataFrame", records[~of_skipped | has_loss])


def _groups(rows: pd.DataFrame, *by: str) -> Iterable[tuple[tuple[t.Any, ...], pd.DataFrame]]:
    """Return the groups of rows, in the order of the rows; avoids pandas if there are none, because it is slow."""
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


# More steps than this, and a larger part of all steps, are not compilation or filling caches. A warm-up that the user
# set may be longer, but it has to leave half of the run.
_LONG_WARM_UP, _LARGE_IF_DETECTED, _LARGE_IF_ASKED = 10, 0.25, 0.5
# Noise changes a pace by less.
_SLOW_WARM_UP = 0.10


def judge_samples(seen: Seen, reasons: Reasons) -> None:
    """Note where too few steps are left after the warm-up, and a warm-up that is too long to be one.

    A line that has the mean of ten steps counts as ten. If a run is only recorded, few steps are enough for that.
    """
    warm_up, judged = seen.warm_up, seen.judged_metrics
    counts = {node: seen.steps_per_line * samples_of(found) for node, found in seen.by_node.items()}
    is_recorded = seen.plan["record_only"] and seen.reached.finished and min(counts.values(), default=0) > 0
    for node, found in seen.by_node.items():
        needed: dict[str, t.Any] = {"needed": MIN_SAMPLES, "warm_up": warm_up.steps}
        if counts[node] < MIN_SAMPLES and is_recorded:
            reasons.remark("too_few_samples", node, samples=counts[node], **needed)
            continue
        if counts[node] < MIN_SAMPLES:
            reasons.argue(INCONCLUSIVE, "too_few_samples", node, samples=counts[node], **needed)
            continue
        for metric in (metric for metric in judged if metric in found):
            count = seen.steps_per_line * found[metric]["samples"]
            if count < MIN_SAMPLES:
                few = {"metric": metric, "samples": count, **needed}
                reasons.argue(INCONCLUSIVE, "too_few_samples", node, case="metric", **few)
    if counts and (is_recorded or min(counts.values()) >= MIN_SAMPLES):
        reasons.argue(PASS, "samples", samples=counts, least=min(counts.values()), warm_up=warm_up.steps)
    if counts:
        reasons.remark(warm_up.code, case=warm_up.case, **warm_up.values)
    _judge_warm_up(seen, reasons)


def _judge_warm_up(seen: Seen, reasons: Reasons) -> None:
    warm_up = seen.warm_up
    most = max(map(len, seen.attempts.values()), default=0)
    large = _LARGE_IF_DETECTED if warm_up.detected else _LARGE_IF_ASKED
    long = warm_up.steps > max(_LONG_WARM_UP, large * most)
    if not long or not warm_up.steady or warm_up.apart <= _SLOW_WARM_UP:
        return
    case = "detected" if warm_up.detected else "asked"
    reasons.argue(INCONCLUSIVE, "long_warm_up", case=case, warm_up=warm_up.steps, steps=most, apart=warm_up.apart)


# If several ranks write to one log, some lines are torn.
_TORN = 0.005
# A schedule may begin and end with a learning rate of 0, for so many of the steps at most.
_MOST_IDLE = 0.1
# A smaller update moves no weight: float32 has seven digits.
_NOTHING = 1e-12
_NEEDED = ("learning_rate", "grad_norm")
# A search for a loss scale skips few of the steps after the warm-up.
_MOST_SEARCHED = 0.05


def judge_skipped(seen: Seen, reasons: Reasons) -> None:
    """Note iterations skipped after the warm-up, unless they search a loss scale, and a skipped last iteration.

    A line without the expected count of skipped iterations leaves the verdict open. A search shows as a lower loss
    scale after the skipped iteration, or after the next one. Before the first loss, a search counts as warm-up, however
    long: FP16 begins with a scale of 2^32, and mostly takes some 16 skips. Steps that moved no weight are noted, too.
    """
    allowed = seen.plan.get("max_skipped", 0)
    always_printed = "skipped_iterations" in seen.grammar.each_line
    for node, rows in seen.attempts.items():
        _judge_updates(node, rows, reasons)
        _judge_idle(node, rows.at(~_first_search(rows)), reasons)
    for node, rows in seen.attempts.items():
        missing = int(np.isnan(rows["skipped_iterations"]).sum()) if "skipped_iterations" in rows else len(rows)
        if always_printed and missing > _TORN * len(rows):
            reasons.argue(INCONCLUSIVE, "skipped_unknown", node, steps=missing)
        if "skipped_iterations" not in rows:
            continue
        skipped = _skipped(rows)
        searching = _searching(rows, skipped)
        late = (rows["left_out"] != WARM_UP) & (skipped > 0) & ~_first_search(rows)
        if (late & searching).sum() <= _MOST_SEARCHED * len(rows):
            late &= ~searching
        count = math.ceil(skipped[late].sum())
        if count > allowed:
            first = int(rows["step"][late][0])
            reasons.argue(FAIL, "skipped_iterations", node, skipped=count, allowed=allowed, first_step=first)
        # A line may count the skipped ones among several iterations, so that the last of them may have trained.
        of_line = int(np.diff(rows["step"][-2:]).sum()) if len(rows) > 1 else 1
        if skipped.size and skipped[-1] >= max(1, of_line):
            reasons.argue(INCONCLUSIVE, "last_step_skipped", node, last_step=int(rows["step"][-1]))


def _judge_idle(node: str, rows: Rows, reasons: Reasons) -> None:
    """Note steps that moved no weight: their learning rate or gradient norm is 0."""
    for name in _NEEDED:
        if name not in rows:
            continue
        idle = rows["step"][np.abs(rows[name]) <= _NOTHING]
        if len(idle) > max(1.0, _MOST_IDLE * len(rows)):
            first, taken = int(idle[0]), len(rows)
            reasons.argue(
                INCONCLUSIVE, "idle_steps", node, metric=name, steps=len(idle), steps_taken=taken, first_step=first
            )


def _judge_updates(node: str, rows: Rows, reasons: Reasons) -> None:
    """Note a training that counts fewer or more weight updates than steps."""
    if "updates" not in rows:
        return
    counting = rows.at(~np.isnan(rows["updates"]))
    updates = counting["updates"]
    steps = int(np.ptp(counting["step"])) if len(counting) > 1 else 0
    done = float(updates[-1] - updates[0]) if steps and np.isfinite(updates).all() else math.nan
    # Bars show three digits, and sometimes still the previous step's.
    allowed = 2.0 + 0.01 * float(updates[-1]) if steps else 0.0
    if steps and not done >= (1 - _MOST_IDLE) * steps - allowed:
        values = {"metric": "updates", "steps": steps, "updates": done}
        reasons.argue(INCONCLUSIVE, "idle_steps", node, case="updates", **values)
    elif done > steps + allowed:
        values = {"metric": "updates", "steps": steps, "updates": done}
        reasons.argue(INCONCLUSIVE, "settings_differ", node, case="updates", **values)


def _skipped(rows: Rows) -> np.ndarray:
    """Return how many iterations each row skipped; `judge_finite` reports counts that are not numbers."""
    if "skipped_iterations" not in rows:
        return np.zeros(len(rows))
    skipped = rows["skipped_iterations"]
    return np.where(np.isfinite(skipped), skipped, 0.0)


def _first_search(rows: Rows) -> np.ndarray:
    """Return which rows search the first loss scale: the skipped ones before any row has a loss."""
    with_loss = ~np.isnan(rows["loss"]) if "loss" in rows else np.zeros(len(rows), dtype=bool)
    return _searching(rows, _skipped(rows)) & ~np.logical_or.accumulate(with_loss)


def _searching(rows: Rows, skipped: np.ndarray) -> np.ndarray:
    if "loss_scale" not in rows:
        return np.zeros(skipped.size, dtype=bool)
    scale = rows["loss_scale"]
    before = np.concatenate((scale[:1], scale[:-1]))
    after = np.concatenate((scale[1:], scale[-1:]))
    return t.cast(np.ndarray, (skipped > 0) & (np.minimum(scale, after) < before))
