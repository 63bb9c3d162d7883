#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the Python of docs/howto_pandas.md on made-up runs, and writes its output and its plots into docs/."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
import typing as t
from pathlib import Path

import matplotlib.pyplot as plt
from pictured_runs import ROOT, Run, write_records

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.sweep import write_sweep_report
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.sweep import write_sweep

PAGE = ROOT / "docs/howto_pandas.md"
_NIGHTS = 28
_CELLS = {"small": (1, 4096, 430.0), "wide": (2, 4096, 800.0), "long": (1, 8192, 905.0), "both": (2, 8192, 1810.0)}
_BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n.*?^```\n)?", re.MULTILINE | re.DOTALL)


def write_runs(folder: Path) -> None:
    """Write the runs that the page asks about to a folder."""
    runs = [
        Run("qualify", 8, slow=("mi300x-003", 0.05), slow_from=30),
        Run("baseline", 2),
        Run("candidate", 2, stops_learning=30),
        Run("pauses", 2, pauses=(16, 9.0)),
    ]
    for night in range(_NIGHTS):
        slower = 420.0 * (1 + 0.0012 * night)
        runs.append(Run(f"nightly-2026-11-{night + 1:02}", 2, day=night, milliseconds=slower))
    for cell, (batch, length, milliseconds) in _CELLS.items():
        runs.append(Run(f"batch-{cell}", 2, milliseconds=milliseconds, tokens=batch * length))
    for run in runs:
        write_records(run, folder)
    keys = ("micro_batch_size", "sequence_length")
    cells: list[t.Any] = [
        {"name": cell, "values": dict(zip(keys, of_cell, strict=False)), "run_id": f"batch-{cell}"}
        for cell, of_cell in _CELLS.items()
    ]
    write_sweep(folder / "batch", {"sweep_id": "batch", "config_file": "my.json", "cells": cells})
    write_sweep_report(folder / "batch")


def page_as_run(text: str, folder: Path) -> str:
    """Run the Python of a page in a folder, where it leaves its plots, and return the page with its output."""
    plt.switch_backend("Agg")
    style = {"svg.hashsalt": "trainops", "svg.fonttype": "none", "savefig.bbox": "tight", "figure.figsize": (8, 3.2)}
    names: dict[str, t.Any] = {}

    def with_output(block: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), plt.rc_context(style):
            exec(compile(block[1], str(PAGE), "exec"), names)
        plt.close("all")
        lines = "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())
        output = f"\n```text\n{lines}```\n" if lines else ""
        return f"```python\n{block[1]}```\n{output}"

    with contextlib.chdir(folder):
        return _BLOCK.sub(with_output, text)


def main() -> int:
    """Write the output and the plots into docs/, and return the exit status."""
    os.environ["SOURCE_DATE_EPOCH"] = "0"  # plots without the date of today
    with tempfile.TemporaryDirectory(prefix="trainops-pandas-") as folder:
        write_runs(Path(folder) / "runs")
        PAGE.write_text(page_as_run(PAGE.read_text("utf-8"), Path(folder)), "utf-8")
        for plot in sorted(Path(folder).glob("*.svg")):
            shutil.copy(plot, PAGE.parent)
            print(f"Wrote {os.path.relpath(PAGE.parent / plot.name, ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
