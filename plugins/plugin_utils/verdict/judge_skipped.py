# SPDX-License-Identifier: GPL-3.0-or-later
"""Iterations whose weights were not updated: work that was not done."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Mapping

import numpy as np

from ...module_utils.logs.frameworks.known import grammar_of
from ..contracts import Plan
from ..plan.config.words import counted
from .frame import WARM_UP
from .judge_log import log_framework
from .reasons import FAIL, INCONCLUSIVE, Reasons

if t.TYPE_CHECKING:
    import pandas as pd

# The lines of several ranks in one log tear some.
_TORN = 0.005
# A search for a loss scale skips few of the steps after the warm-up.
_MOST_SEARCHED = 0.05


def judge_skipped(plan: Plan, attempts: Mapping[str, pd.DataFrame], reasons: Reasons) -> None:
    """Note iterations that were skipped after the warm-up, but for those that search a loss scale, and a skipped end.

    A line that ought to say how many were skipped, and does not, leaves that open. A search shows in a loss scale that
    is lower after the skipped iteration, or after the next one.
    """
    allowed = plan.get("max_skipped", 0)
    always_printed = grammar_of(log_framework(plan)).counts_skipped
    for node, rows in attempts.items():
        missing = int(rows["skipped_iterations"].isna().sum()) if "skipped_iterations" in rows else len(rows)
        if always_printed and missing > _TORN * len(rows):
            message = f"{node} does not say of {counted(missing, 'step')} how many iterations were skipped."
            reasons.add(INCONCLUSIVE, "skipped_unknown", message, node, steps=missing)
        if "skipped_iterations" not in rows:
            continue
        skipped = rows["skipped_iterations"].fillna(0.0).to_numpy()
        # judge_finite reports what is no number.
        skipped = np.where(np.isfinite(skipped), skipped, 0.0)
        searching = _searching(rows, skipped)
        late = (rows["left_out"] != WARM_UP).to_numpy() & (skipped > 0)
        if (late & searching).sum() <= _MOST_SEARCHED * len(rows):
            late &= ~searching
        count = math.ceil(skipped[late].sum())
        if count > allowed:
            first = int(rows["step"].to_numpy()[late][0])
            message = (
                f"{node} skipped {counted(count, 'iteration')} after the warm-up, the first of them {first}; "
                f"{allowed} may be (training_max_skipped)."
            )
            reasons.add(FAIL, "skipped_iterations", message, node, skipped=count, allowed=allowed, first_step=first)
        if skipped.size and skipped[-1] > 0:
            step = int(rows["step"].iloc[-1])
            message = f"The last iteration of {node}, {step}, was skipped: it trained nothing."
            reasons.add(INCONCLUSIVE, "last_step_skipped", message, node, last_step=step)


def _searching(rows: pd.DataFrame, skipped: np.ndarray) -> np.ndarray:
    if "loss_scale" not in rows:
        return np.zeros(skipped.size, dtype=bool)
    scale = rows["loss_scale"].to_numpy()
    before = np.concatenate((scale[:1], scale[:-1]))
    after = np.concatenate((scale[1:], scale[-1:]))
    return t.cast(np.ndarray, (skipped > 0) & (np.minimum(scale, after) < before))
