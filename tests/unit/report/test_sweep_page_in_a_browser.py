# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a sweep on a phone and on paper."""

from __future__ import annotations

import json
from pathlib import Path

from browser import Browser
from not_run import need

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.files import SUMMARY
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.sweep import PAGE, write_sweep_report
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.sweep import write_sweep

VERDICTS = ("PASS", "FAIL", "INCONCLUSIVE", "ERROR", None)
# The visible elements of each row that are cut off, or beyond the screen.
HIDDEN = """[...document.querySelectorAll('#cells tbody tr')].map(row => [...row.children].filter(cell => {
  const box = cell.getBoundingClientRect(), frame = row.closest('.scroll').getBoundingClientRect();
  return box.width > 0 && (box.left < frame.left - 1 || box.right > frame.right + 1);
}).map(cell => cell.textContent))"""


def write_page(folder: Path, *, rehearsal: bool = False) -> Path:
    """Write the page of a sweep whose cells have long names and each verdict, and return its path."""
    need("/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf")
    cells = []
    for place, verdict in enumerate(VERDICTS):
        values = {"config.sequence_length": 4096 + place, "config.precision": f"TE_FP8_of_a_long_name_{place}"}
        name = ",".join(f"{key.partition('.')[2]}={value}" for key, value in values.items())
        cells.append({"name": name, "values": values, "run_id": f"run-{place}"})
        if verdict:
            (folder / f"run-{place}").mkdir()
            summary = {
                "verdict": verdict,
                "first_failure": None,
                "reasons": [{"message": f"{name} is too slow.", "verdict": verdict, "row": "time"}],
                "thresholds": [],
                "metrics": {"tokens_per_sec_per_gpu": {"value": 9000.0 + place}, "step_time_ms": {"value": 400.0}},
                "mfu": 0.4,
            }
            (folder / f"run-{place}" / SUMMARY).write_text(json.dumps(summary))
    write_sweep(folder / "s", {"sweep_id": "s", "config_file": "c.json", "rehearsal": rehearsal, "cells": cells})
    write_sweep_report(folder / "s")
    return folder / "s" / PAGE


def test_a_phone_shows_the_name_the_verdict_and_the_results_of_each_cell(tmp_path, chromium):
    page = write_page(tmp_path)
    with Browser(chromium, 390) as browser:
        browser.open(page)
        assert browser.run("document.documentElement.scrollWidth") == 390
        assert browser.run(HIDDEN) == [[]] * len(VERDICTS)
        browser.resize(1280, 900)
        assert browser.run("document.querySelector('#cells thead').clientHeight") > 0


def test_on_paper_the_bar_of_a_rehearsal_covers_nothing_and_tiles_keep_their_colours(tmp_path, chromium):
    page = write_page(tmp_path, rehearsal=True)
    with Browser(chromium) as browser:
        browser.open(page)
        browser.print_dark()
        assert browser.run("getComputedStyle(document.querySelector('.rehearsal')).position") == "static"
        assert browser.run("getComputedStyle(document.body).page") == "rehearsal"
        assert browser.run("getComputedStyle(document.querySelector('.tiles td')).printColorAdjust") == "exact"
        assert browser.run("getComputedStyle(document.querySelector('.plot')).breakInside") == "auto"
