# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps without a loss in a log that has losses: their line was torn, or it was zero and left out."""

from __future__ import annotations

import typing as t

from ..plan.config.words import counted
from .reasons import INCONCLUSIVE, Reasons

if t.TYPE_CHECKING:
    import pandas as pd

    from .last_step import Reached


def judge_missing_loss(steps: pd.DataFrame, records: pd.DataFrame, reached: Reached, reasons: Reasons) -> None:
    """Note the steps of the last attempt without a loss, but for iterations that were skipped.

    Where the last step of the training has none, nothing tells that it was trained well; between others it is told.
    """
    of_node = dict(list(records.groupby("node", sort=False)))
    for node, rows in steps.groupby("node", sort=False):
        attempt = rows["attempt"].max()
        own = of_node.get(node, records[:0])
        own = own[own["attempt"] == attempt]
        losses = set(own.loc[own["metric"] == "loss", "step"])
        skipped = set(own.loc[(own["metric"] == "skipped_iterations") & (own["value"] > 0), "step"])
        missing = set(rows.loc[rows["attempt"] == attempt, "step"]) - losses - skipped
        if not losses or not missing:
            continue
        if reached.goal in missing:
            missing.discard(reached.goal)
            message = (
                f"The last step, {reached.goal}, has no loss in the log of {node}: its line is torn, or it was zero."
            )
            reasons.add(INCONCLUSIVE, "last_loss_missing", message, str(node), last_step=reached.goal)
        if missing:
            many = counted(len(missing), "step")
            message = f"The log of {node} has no loss of {many}, the first of them {min(missing)}."
            reasons.note("loss_missing", message, str(node), first_step=int(min(missing)), steps=len(missing))
