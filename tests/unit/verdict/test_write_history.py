# SPDX-License-Identifier: GPL-3.0-or-later
"""A report that has a history."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from training_logs import ALL, Node, known_of, lines, plan_of

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.history_store import (
    SCHEMA,
    read_history,
    write_row,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.text import verdict_lines
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.write import write_report
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board


@pytest.fixture
def report(tmp_path):
    """Return a function that judges a run of one node (made if there is none), and returns the changes."""

    def write(run_id: str, log: str = ALL, **plan_changes):
        board = Board(tmp_path / run_id)
        if not board.run_dir.exists():
            board.write_plan({**plan_of(["gpu00"], **plan_changes), "run_id": run_id})
            status, rows = known_of(Node("gpu00", log), tmp_path)
            board.update(**status)
            board.append_steps("gpu00", rows.blocks())
        _, changed = write_report(board.run_dir, 2, tmp_path / "history")
        return board.run_dir, changed

    return write


def test_a_judged_run_is_in_the_history_once_however_often_it_is_judged(report, tmp_path):
    _, changed = report("one")
    _, again = report("one")
    assert (changed, again) == (True, False)
    assert read_history(tmp_path / "history", [])["run_id"].tolist() == ["one"]


def test_a_run_that_the_history_lost_is_added_again(report, tmp_path):
    report("one")
    (only,) = (tmp_path / "history").rglob("*.parquet")
    only.unlink()
    _, changed = report("one")
    assert changed is True
    assert read_history(tmp_path / "history", [])["run_id"].tolist() == ["one"]


def test_the_page_shows_the_earlier_runs_and_the_outcome(report):
    # All begin at the same instant, so that none is an earlier one.
    folder, _ = report("one")
    page = (folder / "report.html").read_text()
    assert 'id="history"' in page
    assert "No earlier run" in page
    assert json.loads((folder / "history.json").read_text())["runs"][-1]["run_id"] == "one"


def test_a_rehearsal_is_no_measurement(report, tmp_path):
    folder, _ = report("one", rehearsal=True)
    assert not (tmp_path / "history").exists()
    assert not (folder / "history.json").exists()
    assert "Compared with earlier runs" not in (folder / "report.html").read_text()


def test_a_history_that_cannot_be_written_is_named_and_the_report_is_there(report, tmp_path):
    (tmp_path / "history").write_text("a file")
    with pytest.raises(OSError, match=r"could not be added to the history .*history \(Not a directory\)"):
        report("one")
    assert (tmp_path / "one/report.html").exists()


def test_a_damaged_file_of_the_history_is_named_on_the_page_and_the_terminal(report, tmp_path):
    report("one")
    (only,) = (tmp_path / "history").rglob("*.parquet")
    key = only.name.split("_")[1]
    damaged = only.with_name(f"20200101T000000Z_{key}_old.parquet")
    pq.write_table(pa.table({"price": [1.5]}), damaged)
    folder, _ = report("one")
    told = f"Left out of the history because unreadable as a run: {damaged}. Restore or delete it."
    assert told in (folder / "report.html").read_text()
    assert f"  · {told}" in [line.text for line in verdict_lines(str(folder / "report.html"))]


def test_a_proven_regression_is_a_field_of_the_summary_and_leads_page_and_terminal(report, tmp_path):
    folder, _ = report("now")
    (now,) = read_history(tmp_path / "history", []).to_dict("records")
    for day in range(1, 7):
        then = {name: now[name] for name in ("framework", "key", "environment")}
        then["tokens_per_sec_per_gpu"] = now["tokens_per_sec_per_gpu"] * (1.2 + day / 1000)
        row = dict.fromkeys(SCHEMA.names) | then | {"run_id": f"old{day}", "verdict": "PASS"}
        write_row(tmp_path / "history", row | {"started_at": f"2020-01-{day:02}T00:00:00+00:00"})
    report("now")
    regression = json.loads((folder / "summary.json").read_text())["regression"]
    assert (regression["metric"], regression["runs"]) == ("tokens_per_sec_per_gpu", 6)
    assert regression["message"] in (folder / "report.html").read_text()
    assert any(regression["message"] in line.text for line in verdict_lines(str(folder / "report.html")))


def test_the_last_pass_is_found_however_many_runs_failed_since(report, tmp_path):
    folder, _ = report("now")
    history = json.loads((folder / "history.json").read_text())
    (now,) = read_history(tmp_path / "history", []).to_dict("records")
    for day in range(1, 26):
        then = {name: now[name] for name in ("framework", "key", "environment", "tokens_per_sec_per_gpu")}
        row = dict.fromkeys(SCHEMA.names) | then | {"run_id": f"old{day}", "verdict": "PASS" if day == 1 else "FAIL"}
        write_row(tmp_path / "history", row | {"started_at": f"2020-01-{day:02}T00:00:00+00:00"})
    report("now")
    assert (history["last_good"], json.loads((folder / "history.json").read_text())["last_good"]) == (None, "old1")


def test_a_run_without_steps_is_a_row_without_values(report, tmp_path):
    report("one", lines([]))
    (value,) = read_history(tmp_path / "history", [])["tokens_per_sec_per_gpu"].isna()
    assert value
