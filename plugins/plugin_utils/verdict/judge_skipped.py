# SPDX-License-Identifier: GPL-3.0-or-later
"""Iterations that did not update the weights."""

from __future__ import annotations

import math
import typing as t

import numpy as np

from .frame import WARM_UP
from .reasons import FAIL, INCONCLUSIVE, Reasons

if t.TYPE_CHECKING:
    import pandas as pd

    from .seen import Seen

# The lines of several ranks in one log tear some.
_TORN = 0.005
# A schedule may begin and end with a learning rate of 0, for so many of the steps at most.
_MOST_IDLE = 0.1
# Less than this moves no weight: float32 has seven digits.
_NOTHING = 1e-12
_NEEDED = ("learning_rate", "grad_norm")
# A search for a loss scale skips few of the steps after the warm-up.
_MOST_SEARCHED = 0.05


def judge_skipped(seen: Seen, reasons: Reasons) -> None:
    """Note iterations that were skipped after the warm-up, unless they search a loss scale, and a skipped last one.

    A line that should say how many were skipped but does not leaves that open. A search shows in a lower loss scale
    after the skipped iteration, or after the next one. Before the first loss it is a warm-up, however long: FP16 begins
    with a scale of 2^32, and mostly takes some 16 skips. Steps that moved no weight are noted as well.
    """
    allowed = seen.plan.get("max_skipped", 0)
    always_printed = "skipped_iterations" in seen.grammar.each_line
    for node, rows in seen.attempts.items():
        _judge_updates(node, rows, reasons)
        _judge_idle(node, rows.loc[~_first_search(rows)], reasons)
    for node, rows in seen.attempts.items():
        missing = int(rows["skipped_iterations"].isna().sum()) if "skipped_iterations" in rows else len(rows)
        if always_printed and missing > _TORN * len(rows):
            reasons.argue(INCONCLUSIVE, "skipped_unknown", node, steps=missing)
        if "skipped_iterations" not in rows:
            continue
        skipped = _skipped(rows)
        searching = _searching(rows, skipped)
        late = (rows["left_out"] != WARM_UP).to_numpy() & (skipped > 0) & ~_first_search(rows)
        if (late & searching).sum() <= _MOST_SEARCHED * len(rows):
            late &= ~searching
        count = math.ceil(skipped[late].sum())
        if count > allowed:
            first = int(rows["step"].to_numpy()[late][0])
            reasons.argue(FAIL, "skipped_iterations", node, skipped=count, allowed=allowed, first_step=first)
        if skipped.size and skipped[-1] > 0:
            reasons.argue(INCONCLUSIVE, "last_step_skipped", node, last_step=int(rows["step"].iloc[-1]))


def _judge_idle(node: str, rows: pd.DataFrame, reasons: Reasons) -> None:
    """Note steps that moved no weight: their learning rate or gradient norm is 0."""
    for name in _NEEDED:
        idle = rows.loc[rows[name].abs() <= _NOTHING, "step"] if name in rows else rows["step"].iloc[:0]
        if len(idle) > max(1.0, _MOST_IDLE * len(rows)):
            first, taken = int(idle.iloc[0]), len(rows)
            reasons.argue(
                INCONCLUSIVE, "idle_steps", node, metric=name, steps=len(idle), steps_taken=taken, first_step=first
            )


def _judge_updates(node: str, rows: pd.DataFrame, reasons: Reasons) -> None:
    """Note a training that counts fewer or more weight updates than steps."""
    if "updates" not in rows:
        return
    counting = rows[["step", "updates"]].dropna()
    updates = counting["updates"].to_numpy()
    steps = int(np.ptp(counting["step"])) if len(counting) > 1 else 0
    done = float(updates[-1] - updates[0]) if steps and np.isfinite(updates).all() else math.nan
    # Bars show three digits, of the step before now and then.
    allowed = 2.0 + 0.01 * float(updates[-1]) if steps else 0.0
    if steps and not done >= (1 - _MOST_IDLE) * steps - allowed:
        values = {"metric": "updates", "steps": steps, "updates": done}
        reasons.argue(INCONCLUSIVE, "idle_steps", node, case="updates", **values)
    elif done > steps + allowed:
        values = {"metric": "updates", "steps": steps, "updates": done}
        reasons.argue(INCONCLUSIVE, "settings_differ", node, case="updates", **values)


def _skipped(rows: pd.DataFrame) -> np.ndarray:
    """Return how many iterations each row skipped; judge_finite reports what is no number."""
    if "skipped_iterations" not in rows:
        return np.zeros(len(rows))
    skipped = rows["skipped_iterations"].fillna(0.0).to_numpy()
    return np.where(np.isfinite(skipped), skipped, 0.0)


def _first_search(rows: pd.DataFrame) -> np.ndarray:
    """Return which rows search the first loss scale: the skipped ones before any row has a loss."""
    with_loss = rows["loss"].notna().to_numpy() if "loss" in rows else np.zeros(len(rows), dtype=bool)
    return _searching(rows, _skipped(rows)) & ~np.logical_or.accumulate(with_loss)


def _searching(rows: pd.DataFrame, skipped: np.ndarray) -> np.ndarray:
    if "loss_scale" not in rows:
        return np.zeros(skipped.size, dtype=bool)
    scale = rows["loss_scale"].to_numpy()
    before = np.concatenate((scale[:1], scale[:-1]))
    after = np.concatenate((scale[1:], scale[-1:]))
    return t.cast(np.ndarray, (skipped > 0) & (np.minimum(scale, after) < before))
