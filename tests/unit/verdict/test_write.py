from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest
from training_logs import ALL, SILENT, Node, known_of, line, lines, plan_of

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.dialects.known import DIALECTS
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.readable import titled
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.write import write_report
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board

FILES = {"plan.json", "nodes", "records.csv", "summary.json", "summary.csv", "metrics.csv", "report.html"}


def board_of(nodes: list[Node], folder: Path, **plan_changes) -> Board:
    """Return the folder of a run as following its nodes leaves it."""
    board = Board(folder / "run")
    plan = plan_of([node.name for node in nodes], **plan_changes)
    board.write_plan(plan)
    for node in nodes:
        if node.status != "not_started":
            status, rows = known_of(node, folder)
            del status["node_rank"]
            board.update(**status)
            board.append_steps(node.name, rows.blocks())
    return board


def table(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_a_run_leaves_records_summary_table_and_page(tmp_path):
    board = board_of([Node("gpu00", SILENT), Node("gpu01", ALL)], tmp_path)
    summary, _ = write_report(board.run_dir, 2)
    assert summary["verdict"] == "PASS"
    assert {path.name for path in board.run_dir.iterdir()} == FILES
    assert json.loads((board.run_dir / "summary.json").read_text()) == summary
    assert [node["node_rank"] for node in summary["nodes"]] == [0, 1]
    assert "the-run" in (board.run_dir / "report.html").read_text(encoding="utf-8")


def test_records_say_what_was_printed_also_nan_and_infinity(tmp_path):
    log = lines((1, 2)) + line(3, loss=math.nan, grad_norm=math.nan, tflops=math.inf)
    board = board_of([Node("gpu00"), Node("gpu01", log)], tmp_path)
    write_report(board.run_dir, 0)
    records = table(board.run_dir / "records.csv")
    of_step = ["run_id", "attempt", "node", "node_rank", "step"]
    assert list(records[0]) == [*of_step, "metric", "value", "unit", "counted", "clock"]
    assert {(record["run_id"], record["node"], record["node_rank"]) for record in records} == {
        ("the-run", "gpu01", "1")
    }
    third = {record["metric"]: (record["value"], record["unit"]) for record in records if record["step"] == "3"}
    assert third["loss"] == ("NaN", "1")
    assert third["grad_norm"] == ("NaN", "1")
    assert third["tflops_per_gpu"] == ("inf", "TFLOP/s")
    assert third["step_time_ms"] == ("100.0", "ms")


def test_the_table_has_one_row_a_metric_and_whole_numbers_of_steps(tmp_path):
    bounds = [
        {"metric": "loss", "kind": "max", "value": 5.0},
        {"metric": "memory_fraction", "kind": "max", "value": 0.9},
    ]
    board = board_of([Node("gpu00"), Node("gpu01", lines(range(1, 11), memory=None))], tmp_path, expected=bounds)
    write_report(board.run_dir, 2)
    rows = {row["metric"]: row for row in table(board.run_dir / "metrics.csv")}
    loss = rows["loss"]
    assert (loss["run_id"], loss["verdict"], loss["unit"]) == ("the-run", "INCONCLUSIVE", "1")
    assert (loss["value"], loss["value_node"], loss["statistic"], loss["samples"]) == ("4.0", "gpu01", "last", "8")
    assert (loss["samples"], loss["first_step"], loss["last_step"]) == ("8", "3", "10")
    assert (loss["threshold"], loss["direction"], loss["met"]) == ("5.0", "max", "True")
    assert (rows["memory_fraction"]["value"], rows["memory_fraction"]["met"]) == ("", "False")


@pytest.mark.parametrize(
    "nodes",
    [
        [Node("gpu00", status="not_started"), Node("gpu01", status="not_started")],
        [Node("gpu00", status="staged", seconds=None), Node("gpu01", status="unreachable", seconds=None)],
    ],
    ids=["no node was heard of", "one node was unreachable before the launch"],
)
@pytest.mark.parametrize("record_only", [True, False])
def test_a_run_that_never_began_is_reported_as_an_error(nodes, record_only, tmp_path):
    expected = [] if record_only else [{"metric": "loss", "kind": "max", "value": 1.0}]
    board = board_of(nodes, tmp_path, record_only=record_only, expected=expected)
    summary, _ = write_report(board.run_dir, 2)
    assert summary["verdict"] == "ERROR"
    assert {path.name for path in board.run_dir.iterdir()} >= FILES - {"nodes"}
    assert table(board.run_dir / "records.csv") == []
    assert (board.run_dir / "metrics.csv").read_text().startswith("run_id,framework,mode,model,gpu,verdict,metric,unit")
    assert len(table(board.run_dir / "metrics.csv")) == len(expected)


def test_a_report_is_written_anew(tmp_path):
    board = board_of([Node("gpu00", SILENT), Node("gpu01", lines(range(1, 6)), status="stopped")], tmp_path)
    assert write_report(board.run_dir, 2)[0]["verdict"] == "ERROR"
    status, rows = known_of(Node("gpu01", ALL), tmp_path)
    board.update(**status)
    board.append_steps("gpu01", rows.blocks())
    assert write_report(board.run_dir, 2)[0]["verdict"] == "PASS"


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(ValueError, match="contains no run"):
        write_report(tmp_path, 2)


def test_a_report_that_says_the_same_already_is_left_as_it_is(tmp_path):
    board = board_of([Node("gpu00", ALL)], tmp_path)
    assert write_report(board.run_dir, 2)[1] is True
    before = {path.name: path.stat().st_mtime_ns for path in board.run_dir.glob("*.*")}
    assert write_report(board.run_dir, 2)[1] is False
    assert {path.name: path.stat().st_mtime_ns for path in board.run_dir.glob("*.*")} == before


def test_what_a_run_has_once_is_in_every_file(tmp_path):
    saved = "    save-checkpoint ................................: (1950.20, 2000.50)\n"
    bounds = [
        {"metric": "steps_to_target_loss", "kind": "max", "value": 6.0},
        {"metric": "checkpoint_save_seconds", "kind": "info", "value": 1.0},
    ]
    log = lines(range(1, 11)) + saved
    board = board_of([Node("gpu00"), Node("gpu01", log)], tmp_path, expected=bounds, target_loss=4.05)
    summary, _ = write_report(board.run_dir, 2, dialects=tuple(DIALECTS))
    values = {"steps_to_target_loss": 5.0, "time_to_target_loss": 0.5, "checkpoint_save_seconds": 2.0005}
    assert {name: summary["metrics"][name]["value"] for name in values} == values
    assert summary["metrics"]["steps_to_target_loss"]["met"]
    (row,) = table(board.run_dir / "summary.csv")
    assert {name: float(row[f"{name}_value"]) for name in values} == values
    assert set(values) <= {row["metric"] for row in table(board.run_dir / "metrics.csv")}
    page = (board.run_dir / "report.html").read_text(encoding="utf-8")
    assert all(titled(name) in page for name in values)
    assert "training_time_to_target_loss_seconds" in (board.run_dir / DIALECTS["openmetrics"]).read_text()
