# SPDX-License-Identifier: GPL-3.0-or-later
"""Scaling: how much of a GPU's throughput is left when the same training runs on more nodes."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    import pandas as pd

    from .history_row import Row

WEAK, STRONG = "weak", "strong"
_TOKENS = "tokens_per_sec_per_gpu"


def scaling_of(history: pd.DataFrame, row: Row) -> dict[str, list[dict[str, t.Any]]]:
    """Return the scaling curves that a run lies on, by kind; one with a single node count is none.

    In ``weak`` scaling each GPU keeps its share of the global batch, in ``strong`` scaling the global batch stays. The
    runs are those of the history that passed and differ from this one in nothing else; a run whose nodes or batch are
    not known, as of logs without a config, is on none. A point has ``nnodes``, ``runs``, ``value`` (tokens/s per GPU,
    the median of the runs) and ``efficiency``, value over that of the fewest nodes.
    """
    if not row["nnodes"] or not row["gpus_per_node"] or not row["global_batch_size"]:
        return {}
    same = history[
        (history["scaling_key"] == row["scaling_key"]) & (history["verdict"] == "PASS") & (history[_TOKENS] > 0)
    ]
    share = same["global_batch_size"] / (same["nnodes"] * same["gpus_per_node"])
    own_share = row["global_batch_size"] / (row["nnodes"] * row["gpus_per_node"])
    kinds = {WEAK: same[share == own_share], STRONG: same[same["global_batch_size"] == row["global_batch_size"]]}
    return {kind: _points(runs) for kind, runs in kinds.items() if runs["nnodes"].nunique() > 1}


def _points(runs: pd.DataFrame) -> list[dict[str, t.Any]]:
    curve = runs.groupby("nnodes")[_TOKENS].agg(["median", "size"]).sort_index().reset_index()
    first = curve["median"].iloc[0]
    return [
        {"nnodes": int(nnodes), "runs": int(count), "value": float(value), "efficiency": float(value / first)}
        for nnodes, value, count in curve.itertuples(index=False)
    ]
