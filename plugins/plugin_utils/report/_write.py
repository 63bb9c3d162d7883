# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a report: records, summary and page, in the run's folder."""

from __future__ import annotations

import json
import typing as t

import pandas as pd

from ansible_collections.trainops.cluster.plugins.plugin_utils.report._html import render
from ansible_collections.trainops.cluster.plugins.plugin_utils.run._board import Board
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict._frame import records_frame, steps_frame
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict._verdict import judge

if t.TYPE_CHECKING:
    from pathlib import Path

RECORDS, SUMMARY, SUMMARY_TABLE, PAGE = "records.csv", "summary.json", "summary.csv", "report.html"

_RUN_COLUMNS = ["run_id", "framework", "mode", "model", "gpu", "verdict"]
_METRIC_COLUMNS = [
    "unit",
    "value",
    "value_node",
    "statistic",
    "median",
    "mean",
    "p05",
    "p95",
    "stdev",
    "samples",
    "first_step",
    "last_step",
    "threshold",
    "direction",
    "met",
]


def write_report(run_dir: str | Path, warmup_steps: int) -> tuple[dict[str, t.Any], bool]:
    """Judge the run in a folder, write its report there, and return the summary and whether it is new.

    Writes ``records.csv`` (one row per measurement; what was printed as NaN says NaN), ``summary.json``,
    ``summary.csv`` (one row per metric) and ``report.html``. A report that says the same already is left as it is.
    Raises ValueError where the folder holds no run.
    """
    board = Board(run_dir)
    plan = board.plan()
    steps_by_node = {node["node"]: list(board.steps(node["node"])) for node in plan["nodes"]}
    statuses = [{"node_rank": node["node_rank"], **board.status(node["node"])} for node in plan["nodes"]]
    steps = steps_frame(plan["nodes"], steps_by_node, warmup_steps)
    records = records_frame(plan["run_id"], plan["nodes"], steps_by_node)
    summary = judge(plan, statuses, steps, records, warmup_steps)
    text = json.dumps(summary, indent=2, allow_nan=False) + "\n"
    written = board.run_dir / SUMMARY
    if written.exists() and written.read_text(encoding="utf-8") == text:
        return summary, False
    records.to_csv(board.run_dir / RECORDS, index=False, na_rep="NaN")
    _summary_table(summary).to_csv(board.run_dir / SUMMARY_TABLE, index=False)
    (board.run_dir / PAGE).write_text(render(summary, plan, steps), encoding="utf-8")
    # Comes last: where it says the same, all the others do.
    written.write_text(text, encoding="utf-8")
    return summary, True


def _summary_table(summary: dict[str, t.Any]) -> pd.DataFrame:
    run = {name: summary[name] for name in _RUN_COLUMNS}
    rows = [{**run, "metric": metric, **found} for metric, found in summary["metrics"].items()]
    # As objects, so that a metric that was not measured does not turn the others' counts of steps into floats.
    return pd.DataFrame(rows, columns=[*_RUN_COLUMNS, "metric", *_METRIC_COLUMNS], dtype=object)
