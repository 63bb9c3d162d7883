# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages of several runs as a reader opens them."""

from __future__ import annotations

import json

import pytest
from browser import Browser
from history_runs import plan_of, run_row, summary_of
from not_run import need

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.compare import comparison_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.compare_write import write_comparison
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.files import SUMMARY
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.history_store import write_row
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.runs_index import write_runs_page
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board


@pytest.fixture
def page(request, tmp_path):
    """Write the page of that name over two runs, whose names are long, and return its path."""
    need("/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf")
    names = [f"20260301-120000-llama3_1_8b-mi300x-{place}-of-a-long-name" for place in range(2)]
    plans = [
        plan_of(name, nodes=nodes, global_batch_size=64 * nodes) for name, nodes in zip(names, (1, 2), strict=True)
    ]
    summaries = [summary_of(plan, 100.0 - place, hour=place) for place, plan in enumerate(plans)]
    parts = [{name: plan[name] for name in ("framework", "model", "gpu")} for plan in plans]
    summaries = [summary | part | {"nodes": [{"last_step": 9}]} for summary, part in zip(summaries, parts, strict=True)]
    if request.param == "comparison.html":
        write_runs_page(tmp_path, [str(tmp_path / name) for name in names], summaries)
        return tmp_path / request.param
    for place, plan in enumerate(plans):
        board = Board(tmp_path / names[place])
        board.write_plan(plan)
        for node in plan["nodes"]:
            board.update(node["node"], status="exited", image_id="sha256:one")
        (board.run_dir / SUMMARY).write_text(json.dumps(summaries[place]))
        row = run_row(names[place], 100.0 - place, place, nodes=place + 1, global_batch_size=64 * (place + 1))
        write_row(tmp_path / "history", row)
    write_comparison(tmp_path, comparison_of(names, tmp_path, tmp_path / "history"))
    return tmp_path / request.param


@pytest.mark.parametrize("page", ["comparison.html", "compare.html"], indirect=True)
def test_a_page_fits_a_phone_draws_its_plots_and_fetches_nothing(page, chromium):
    with Browser(chromium, 390) as browser:
        browser.open(page)
        assert browser.run("document.documentElement.scrollWidth") == 390
        heights = browser.run("[...document.querySelectorAll('.area, .bars')].map(one => one.clientHeight)")
        assert heights
        assert min(heights) > 30
        assert browser.console == []
        assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []
