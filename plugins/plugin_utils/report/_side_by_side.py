# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs side by side: a table for a terminal."""

from __future__ import annotations

import math
import typing as t

from ansible_collections.trainops.cluster.plugins.module_utils.logs._record import METRICS

if t.TYPE_CHECKING:
    from collections.abc import Sequence

_METRICS = ("step_time_ms", "tflops_per_gpu", "tokens_per_sec_per_gpu", "loss")
_NOTHING = "–"


def side_by_side(summaries: Sequence[dict[str, t.Any]]) -> list[str]:
    """Return a table of runs, a line each: verdict, nodes, last step, and the worst node's value of each metric.

    Behind a value stands by how much it differs from that of the first run.
    """
    metrics = [metric for metric in _METRICS if any(_value(summary, metric) is not None for summary in summaries)]
    rows = [["run", "verdict", "nodes", "last step", *(_heading(metric) for metric in metrics)]]
    for summary in summaries:
        steps = [node["last_step"] for node in summary["nodes"] if node["last_step"] is not None]
        cells = [summary["run_id"], summary["verdict"], str(len(summary["nodes"])), str(max(steps, default=_NOTHING))]
        rows.append(cells + [_cell(summary, summaries[0], metric) for metric in metrics])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [_line(row, widths) for row in rows]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    # Words stand left, numbers right.
    return "  ".join(
        f"{cell:<{width}}" if column < 2 else f"{cell:>{width}}"
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ).rstrip()


def _heading(metric: str) -> str:
    unit = METRICS[metric].unit
    return metric if unit in ("1", "ms") else f"{metric.removesuffix('_per_gpu')}/GPU"


def _value(summary: dict[str, t.Any], metric: str) -> float | None:
    return t.cast("float | None", (summary["metrics"].get(metric) or {}).get("value"))


def _cell(summary: dict[str, t.Any], first: dict[str, t.Any], metric: str) -> str:
    value, reference = _value(summary, metric), _value(first, metric)
    if value is None:
        return _NOTHING
    text = f"{value:,.2f}" if abs(value) >= 10 else f"{value:.4g}"
    if summary is first or not reference or not math.isfinite(value / reference):
        return text
    return f"{text} ({(value / reference - 1) * 100:+.1f} %)"
