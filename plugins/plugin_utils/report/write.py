# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a report: records, summary and page, in the run's folder."""

from __future__ import annotations

import os
import typing as t
from collections.abc import Sequence
from urllib.parse import quote

import pandas as pd

from ...module_utils.node.problems import Problem
from ..contracts import Call, Status, Summary
from ..run.board import Board
from ..run.whole_file import replacing, write_whole
from ..text.problems import SOME_CALL
from ..verdict.frame import columns_of, plain_samples, records_frame, steps_frame
from ..verdict.machine_events import accelerators_seen
from ..verdict.stragglers import DEFAULT_DEVIATIONS
from ..verdict.verdict import judge
from ..verdict.warm_up import AUTO, parse_warm_up, warm_up_of
from .dialects.judged_run import JudgedRun
from .dialects.known import write_dialects
from .dialects.summary_csv import summary_csv
from .files import HISTORY, METRICS_TABLE, PAGE, RECORDS, SUMMARY, SUMMARY_ROW, TELEMETRY, json_text, says
from .history import history_of
from .history_row import row_of
from .history_store import write_row
from .leads import proposal
from .regression import regression_of
from .run_page import Links, render
from .telemetry import telemetry_frame

if t.TYPE_CHECKING:
    from pathlib import Path

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


def write_report(
    run_dir: str | Path,
    warmup_steps: int | str = AUTO,
    history_dir: str | Path | None = None,
    dialects: Sequence[str] = (),
    straggler_deviations: float = DEFAULT_DEVIATIONS,
    index: str = "",
    isolate: str = "",
    call: Call = SOME_CALL,
) -> tuple[Summary, bool]:
    """Judge the run in a folder, write its report there, and return the summary and whether it is new.

    Writes ``records.csv`` (one row per measurement; a printed NaN stays NaN), ``summary.json``, ``summary.csv`` (one
    row for the run), ``metrics.csv`` (one row per metric) and ``report.html``, and the files of the ``dialects``; with
    ``history_dir`` also ``history.json``, the comparison with earlier runs, and the run's row in the history there (but
    not for a rehearsal or a retry). An identical report is left untouched. ``warmup_steps`` is ``auto`` or the number
    of first steps that do not count, ``index`` the page's link to the list of all runs, and ``isolate`` the command
    that tests the run's nodes, which is proposed if it helps; ``call`` completes the commands of other remedies. Raises
    ValueError for any other ``warmup_steps``, for a folder without a run, and for an unknown dialect.
    """
    board = Board(run_dir)
    plan = board.plan()
    steps_by_node = {node["node"]: columns_of(board.blocks(node["node"])) for node in plan["nodes"]}
    statuses: list[Status] = [
        {**_with_call(board.status(node["node"]), node["node"], call), "node_rank": node["node_rank"]}
        for node in plan["nodes"]
    ]
    warm_up = warm_up_of(parse_warm_up(warmup_steps), steps_by_node)
    steps = steps_frame(plan["nodes"], steps_by_node, warm_up.steps)
    records = records_frame(plan["run_id"], plan["nodes"], steps_by_node, warm_up.steps)
    sampled = {node["node"]: accelerators_seen(plain_samples(board.samples(node["node"]))) for node in plan["nodes"]}
    summary = judge(plan, statuses, steps, records, warm_up, straggler_deviations, sampled)
    is_measurement = not (plan.get("rehearsal") or plan.get("retry"))
    row = row_of(summary, plan, statuses) if history_dir and is_measurement else None
    history = history_of(row, history_dir) if row and history_dir else None
    summary["regression"] = regression_of(history) if history else None
    summary["isolate"] = proposal(summary, isolate)
    run = JudgedRun(summary, plan, statuses)
    changed = _write_files(board, run, steps, records, history, index)
    changed = write_dialects(dialects, run, board.run_dir) or changed
    if not row or not history_dir:
        return summary, changed
    try:
        return summary, write_row(history_dir, row) or changed
    except OSError as error:
        message = (
            f"it is in {board.run_dir}, but the run could not be added to the history {history_dir} ({error.strerror})"
        )
        raise OSError(message) from error


def _with_call(status: Status, node: str, call: Call) -> Status:
    """Return a node's status whose problems have the values of a command that helps."""
    known = {**call, "node": node}
    problems: list[Problem] = [{**one, "values": {**known, **one["values"]}} for one in status["problems"]]
    return {**status, "problems": problems}


def _write_files(
    board: Board,
    run: JudgedRun,
    steps: pd.DataFrame,
    records: pd.DataFrame,
    history: dict[str, t.Any] | None,
    index: str,
) -> bool:
    """Write the files of the report, unless they are unchanged, and return whether they are new."""
    summary = run.summary
    texts = {SUMMARY: json_text(summary)} | ({HISTORY: json_text(history)} if history else {})
    if all(says(board.run_dir / name, text) for name, text in texts.items()):
        return False
    with replacing(board.run_dir / RECORDS) as draft:
        records.to_csv(draft, index=False, na_rep="NaN")
    write_whole(board.run_dir / SUMMARY_ROW, summary_csv(run))
    write_whole(board.run_dir / METRICS_TABLE, _metrics_table(summary).to_csv(index=False))
    telemetry = telemetry_frame(
        {node["node"]: plain_samples(board.samples(node["node"])) for node in run.plan["nodes"]}
    )
    if not telemetry.empty:
        with replacing(board.run_dir / TELEMETRY) as draft:
            telemetry.to_csv(draft, index=False)
    links = Links(_logs(board, run), _reports(board, history), index, board.run_dir.resolve().name)
    page = render(summary, run.plan, steps, history, run.statuses, links, telemetry)
    write_whole(board.run_dir / PAGE, page)
    # Written last: if these are unchanged, so are all the others.
    for name, text in texts.items():
        write_whole(board.run_dir / name, text)
    return True


def _logs(board: Board, run: JudgedRun) -> dict[str, str]:
    """Return the path of each node's log, relative to the page."""
    named = {status["node"]: status["log"]["file"] for status in run.statuses if run.plan.get("logs")}
    paths = {node["node"]: named.get(node["node"]) or board.log_path(node["node"]) for node in run.plan["nodes"]}
    seen = {node: os.path.relpath(path, board.run_dir) for node, path in paths.items() if os.path.isfile(path)}
    return {node: quote(os.fsencode(path)) for node, path in seen.items()}


def _reports(board: Board, history: dict[str, t.Any] | None) -> dict[str, str]:
    """Return the paths of earlier runs' reports next to this one, relative to the page."""
    names = [run["run_id"] for run in history["runs"][:-1]] if history else []
    return {name: quote(f"../{name}/{PAGE}") for name in names if (board.run_dir.parent / name / PAGE).is_file()}


def _metrics_table(summary: Summary) -> pd.DataFrame:
    run = {name: value for name, value in summary.items() if name in _RUN_COLUMNS}
    rows = [{**run, "metric": metric, **found} for metric, found in summary["metrics"].items()]
    # As objects, so that an unmeasured metric does not turn the others' step counts into floats.
    return pd.DataFrame(rows, columns=[*_RUN_COLUMNS, "metric", *_METRIC_COLUMNS], dtype=object)
