# SPDX-License-Identifier: GPL-3.0-or-later
"""Several runs on one page: their verdicts, what they measured, and why some did not pass."""

from __future__ import annotations

import collections
import os
import typing as t
from collections.abc import Sequence
from pathlib import Path

from ..contracts import Summary
from ..metrics import IN_SHORT, SPEEDS
from ..run.whole_file import write_whole
from .files import PAGE, json_text, says
from .pages import page_of
from .side_by_side import change_of, last_step, value_of
from .sweep import reason_of
from .sweep_charts import bars_chart

RUNS_PAGE, RUNS_JSON = "comparison.html", "comparison.json"


def write_runs_page(folder: Path, run_dirs: Sequence[str], summaries: Sequence[Summary]) -> bool:
    """Write ``comparison.html`` and ``comparison.json`` into a folder, and return whether they are new.

    The runs are in folders of their own, and their changes are relative to the first one. Each in the JSON has
    ``name``, ``report`` (relative to the folder), ``verdict``, ``reason`` (None for a PASS), ``framework``, ``model``,
    ``gpu``, ``nodes`` (their number), ``last_step``, ``metrics``, ``changes`` (percent) and ``mfu``. Raises OSError.
    """
    runs = [
        _run(summary, summaries[0], os.path.relpath(Path(run_dir).absolute() / PAGE, folder.absolute()))
        for run_dir, summary in zip(run_dirs, summaries, strict=True)
    ]
    text = json_text(runs)
    written, page = folder / RUNS_JSON, folder / RUNS_PAGE
    if page.exists() and says(written, text):
        return False
    metrics = [metric for metric in IN_SHORT if any(run["metrics"][metric] is not None for run in runs)]
    drawn = next((metric for metric in SPEEDS if metric in metrics), None)
    folder.mkdir(parents=True, exist_ok=True)
    bars = [
        (run["name"], run["verdict"], value) for run in runs if drawn and (value := run["metrics"][drawn]) is not None
    ]
    rendered = page_of(
        "runs.html.j2",
        {"runs": bars_chart(bars, drawn)} if drawn else {},
        runs=runs,
        metrics=metrics,
        drawn=drawn,
        counts=collections.Counter(run["verdict"] for run in runs),
    )
    write_whole(page, rendered)
    write_whole(written, text)
    return True


def _run(summary: Summary, first: Summary, report: str) -> dict[str, t.Any]:
    metrics = {metric: value_of(summary, metric) for metric in IN_SHORT}
    return {
        "name": summary["run_id"],
        "report": report,
        "verdict": summary["verdict"],
        "reason": reason_of(summary),
        **{name: summary[name] for name in ("framework", "model", "gpu")},
        "nodes": len(summary["nodes"]),
        "last_step": last_step(summary),
        "metrics": metrics,
        "changes": {metric: change for metric in IN_SHORT if (change := change_of(summary, first, metric)) is not None},
        "mfu": summary.get("mfu"),
    }
