# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a sweep: one page, one table and one JSON file of all its cells."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ..contracts import Summary, SweepCell, SweepFile
from ..metrics import IN_SHORT, LABELS
from ..run.sweep import read_sweep, summary_of, write_sweep
from ..run.whole_file import write_whole
from .charts import bars_chart, heat_map
from .failures import failure_title, messages_of
from .pages import page_of
from .readable import in_a_sentence
from .side_by_side import NOT_RUN, RANKED_BY, found_in_words, value_of
from .thresholds import missed_bounds

PAGE, TABLE = "sweep.html", "sweep.csv"


def write_sweep_report(sweep_dir: str | Path) -> tuple[SweepFile, bool]:
    """Write the report of a sweep from its cells' results; return it and whether it is new.

    Writes ``sweep.json`` (the returned report), ``sweep.csv`` (one row per cell) and ``sweep.html``. Each cell has
    ``name``, ``values``, ``run_id``, ``verdict`` (NOT RUN if it was not judged), ``reason`` (None for a PASS),
    ``missed``, ``metrics`` and ``mfu``; ``best`` is the name of the cell that passed with the most tokens/s per GPU,
    ``counts`` the number of cells by verdict. A ``rehearsal`` has no best cell, because it says nothing about speed.
    Raises ValueError if the folder contains no sweep.
    """
    sweep = read_sweep(sweep_dir)
    summaries = [summary_of(Path(sweep_dir).parent / cell["run_id"]) for cell in sweep["cells"]]
    cells = [_with_result(cell, summary) for cell, summary in zip(sweep["cells"], summaries, strict=True)]
    # A sweep that an earlier version planned does not say it; its runs do.
    rehearsal = sweep.get("rehearsal", any(summary.get("rehearsal") for summary in summaries if summary))
    ranked = {
        cell["name"]: value
        for cell in cells
        if cell["verdict"] == "PASS" and not rehearsal and (value := cell["metrics"][RANKED_BY]) is not None
    }
    reported: SweepFile = {
        "sweep_id": sweep["sweep_id"],
        "config_file": sweep["config_file"],
        "rehearsal": rehearsal,
        "cells": cells,
        "best": max(ranked, key=ranked.__getitem__, default=None),
        "counts": dict(collections.Counter(cell["verdict"] for cell in cells)),
    }
    page = Path(sweep_dir) / PAGE
    if sweep == reported and page.exists():
        return reported, False
    write_whole(Path(sweep_dir) / TABLE, _table(reported).to_csv(index=False))
    write_whole(page, _rendered(reported))
    write_sweep(sweep_dir, reported)
    return reported, True


def _with_result(cell: SweepCell, summary: Summary | None) -> SweepCell:
    known: SweepCell = {"name": cell["name"], "values": cell["values"], "run_id": cell["run_id"]}
    if summary is None:
        nothing: SweepCell = {**known, "verdict": NOT_RUN, "reason": None, "missed": []}
        return {**nothing, "metrics": dict.fromkeys(IN_SHORT), "mfu": None}
    metrics = {metric: value_of(summary, metric) for metric in IN_SHORT}
    return {
        **known,
        "verdict": summary["verdict"],
        "reason": reason_of(summary),
        "missed": missed_by(summary),
        "metrics": metrics,
        "mfu": summary["mfu"],
    }


def reason_of(summary: Summary) -> str | None:
    """Return why a run did not pass, in words; None if it did."""
    if summary["verdict"] == "PASS":
        return None
    first = summary["first_failure"]
    if first:
        return f"{first['node']}: {first['class']}: {first['message']}"
    return " ".join(messages_of(summary["reasons"]))


def missed_by(summary: Summary) -> list[str]:
    """Return what kept a run from a PASS: its first failure, or the thresholds that it missed, or else other checks."""
    if summary["verdict"] == "PASS":
        return []
    if first := summary["first_failure"]:
        return [in_a_sentence(failure_title(first["class"]))]
    decisive = [reason for reason in summary["reasons"] if reason.get("verdict") == summary["verdict"]]
    missed = [f"threshold of {in_a_sentence(LABELS[bound['metric']])} missed" for bound in missed_bounds(summary)]
    rows = dict.fromkeys(reason["row"] for reason in decisive if reason.get("row"))
    return missed or [f"check of {row} not passed" for row in rows]


def keys_of(cells: Sequence[SweepCell]) -> list[str]:
    """Return the keys of the cells' values, in order."""
    return list(dict.fromkeys(key for cell in cells for key in cell["values"]))


def _table(sweep: SweepFile) -> pd.DataFrame:
    keys = keys_of(sweep["cells"])
    rows = [
        {
            "sweep_id": sweep["sweep_id"],
            "rehearsal": sweep.get("rehearsal", False),
            "cell": cell["name"],
            **{key: cell["values"].get(key) for key in keys},
            "run_id": cell["run_id"],
            "verdict": cell["verdict"],
            **cell["metrics"],
            "mfu": cell["mfu"],
            "reason": cell["reason"],
        }
        for cell in sweep["cells"]
    ]
    return pd.DataFrame(rows, dtype=object)


def _rendered(sweep: SweepFile) -> str:
    cells, keys = sweep["cells"], keys_of(sweep["cells"])
    varied = [key for key in keys if len({str(cell["values"].get(key)) for cell in cells}) > 1]
    measured = [
        (cell["name"], cell["verdict"], value) for cell in cells if (value := cell["metrics"][RANKED_BY]) is not None
    ]
    chart = None
    if measured:
        chart = heat_map(cells, varied, RANKED_BY) if len(varied) == 2 else bars_chart(measured, RANKED_BY)
    best = next((cell for cell in cells if cell["name"] == sweep["best"]), None)
    return page_of(
        "sweep.html.j2",
        {"cells": chart} if chart else {},
        sweep=sweep,
        keys=keys,
        found=found_in_words(sweep),
        best=best,
        ranked_by=RANKED_BY,
        metrics=[metric for metric in IN_SHORT if any(cell["metrics"][metric] is not None for cell in cells)],
        with_mfu=any(cell["mfu"] is not None for cell in cells),
        all_passed=sweep["counts"].get("PASS") == len(cells),
    )
