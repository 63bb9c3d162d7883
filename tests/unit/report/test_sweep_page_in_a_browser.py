# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a sweep on a phone."""

from __future__ import annotations

import json

from browser import Browser
from not_run import need

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.files import SUMMARY
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.sweep import PAGE, write_sweep_report
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.sweep import write_sweep

# The visible elements of each row that are cut off, or beyond the screen.
HIDDEN = """[...document.querySelectorAll('#cells tbody tr')].map(row => [...row.children].filter(cell => {
  const box = cell.getBoundingClientRect(), frame = row.closest('.scroll').getBoundingClientRect();
  return box.width > 0 && (box.left < frame.left - 1 || box.right > frame.right + 1);
}).map(cell => cell.textContent))"""


def test_a_phone_shows_the_name_the_verdict_and_the_results_of_each_cell(tmp_path, chromium):
    need("/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf")
    cells = []
    for place, verdict in enumerate(("PASS", "FAIL", "INCONCLUSIVE", "ERROR", None)):
        values = {"config.batch_size": 64, "config.sequence_length": 4096 + place, "config.precision": f"TE_FP8_{place}"}
        name = ",".join(f"{key.partition('.')[2]}={value}" for key, value in values.items())
        cells.append({"name": name, "values": values, "run_id": f"run-{place}"})
        if verdict:
            (tmp_path / f"run-{place}").mkdir()
            metrics = {"tokens_per_sec_per_gpu": {"value": 9000.0 + place}, "step_time_ms": {"value": 400.0}}
            summary = {
                "verdict": verdict,
                "first_failure": None,
                "reasons": [{"message": f"{name} is too slow.", "verdict": verdict, "row": "time"}],
                "thresholds": [],
                "metrics": metrics,
                "mfu": 0.4,
            }
            (tmp_path / f"run-{place}" / SUMMARY).write_text(json.dumps(summary))
    write_sweep(tmp_path / "s", {"sweep_id": "s", "config_file": "c.json", "cells": cells})
    write_sweep_report(tmp_path / "s")
    with Browser(chromium, 390) as browser:
        browser.open(tmp_path / "s" / PAGE)
        assert browser.run("document.documentElement.scrollWidth") == 390
        assert browser.run(HIDDEN) == [[]] * len(cells)
        browser.resize(1280, 900)
        assert browser.run("document.querySelector('#cells thead').clientHeight") > 0
