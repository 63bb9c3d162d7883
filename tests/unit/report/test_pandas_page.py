# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python of the page on pandas prints what the page says, and draws its plots."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))

import pandas_page


def test_the_page_has_the_output_of_its_python_and_a_plot_for_each_question(tmp_path: Path) -> None:
    pandas_page.write_runs(tmp_path / "runs")
    text = pandas_page.PAGE.read_text("utf-8")
    assert pandas_page.page_as_run(text, tmp_path) == text
    plots = set(re.findall(r"^!\[[^]]+\]\((\S+)\)$", text, re.MULTILINE))
    assert {path.name for path in tmp_path.glob("*.svg")} == plots
    assert len(plots) == text.count("\n## ") == 5
    assert all((ROOT / "docs" / plot).is_file() for plot in plots)


def test_the_answers_of_the_page_are_those_that_its_runs_were_made_with() -> None:
    text = pandas_page.PAGE.read_text("utf-8")
    outputs = re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    _frame, slowest, sweep, _drift, _loss, pauses = outputs
    assert re.search(r"mi300x-003 +4\.\d", slowest)
    assert slowest.endswith("from step 30\n")
    assert [line.split()[0] for line in sweep.splitlines()[2:]] == ["wide", "small", "long", "both"]
    assert pauses.splitlines()[-1].startswith("27 of ")
