from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import subprocess
import sys
import typing as t
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.rows import rows_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.status import status_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.whole_file import alone_in

COLLECTIONS = Path(__file__).resolve().parents[3] / "collections"


def block(*steps: int, **more: str) -> dict[str, t.Any]:
    return {"attempt": 1, "steps": list(steps), "steps_total": 9, "metrics": {"loss": [1.0] * len(steps)}, **more}


def test_a_plan_makes_the_folder_of_a_run_and_is_never_written_over(tmp_path):
    board = Board(tmp_path / "runs" / "one")
    board.write_plan({"run_id": "one", "nodes": []})
    with pytest.raises(FileExistsError):
        board.write_plan({"run_id": "two", "nodes": []})
    assert Board(tmp_path / "runs" / "one").plan() == {"run_id": "one", "nodes": []}


def test_of_two_that_write_a_plan_at_once_the_other_finds_it_whole(tmp_path):
    plan = {"run_id": "one", "nodes": [{"node": f"gpu{number}"} for number in range(20_000)]}

    def begin(_: int) -> bool:
        board = Board(tmp_path / "one")
        with contextlib.suppress(FileExistsError):
            board.write_plan(plan)
            return True
        assert board.plan() == plan
        return False

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(begin, range(4))) == [False, False, False, True]
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["plan.json"]


def test_a_plan_is_written_where_the_file_system_has_no_links(tmp_path, monkeypatch):
    def link(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    board = Board(tmp_path)
    board.write_plan({"run_id": "one"})
    with pytest.raises(FileExistsError):
        board.write_plan({"run_id": "two"})
    assert board.plan() == {"run_id": "one"}


def test_a_plan_that_cannot_be_written_leaves_no_run_behind(tmp_path):
    board = Board(tmp_path / "one")
    with pytest.raises(TypeError):
        board.write_plan({"nodes": {1, 2}})
    board.write_plan({"nodes": []})


def test_a_folder_without_a_plan_holds_no_run(tmp_path):
    (tmp_path / "file").touch()
    for folder in (tmp_path, tmp_path / "nowhere", tmp_path / "file"):
        with pytest.raises(ValueError, match=r"contains no run: there is no plan\.json in it"):
            Board(folder).plan()


def test_a_plan_that_is_not_whole_is_told_with_its_path(tmp_path):
    (tmp_path / "plan.json").write_text('{"run_id": "o')
    with pytest.raises(ValueError, match=r"plan\.json is not a plan: its JSON is incomplete \(Unterminated string"):
        Board(tmp_path).plan()


def test_what_is_known_of_a_node_grows_by_changes(tmp_path):
    board = Board(tmp_path)
    assert board.status("gpu00") == status_of({"node": "gpu00", "status": "not_started"})
    board.update("gpu00", status="staged")
    assert board.update("gpu00", metrics={"loss": 2.0})["status"] == "staged"
    known = {"node": "gpu00", "status": "staged", "metrics": {"loss": 2.0}}
    assert Board(tmp_path).status("gpu00") == status_of(known)


def test_a_run_that_an_earlier_release_followed_is_picked_up_where_it_was(tmp_path):
    board = Board(tmp_path)
    written = {"node": "gpu00", "status": "running", "started_at": 5.0, "last_step": 7, "log_bytes": 9, "of_then": 1}
    (board.node_dir("gpu00") / "status.json").write_text(json.dumps(written, indent=1))
    status = board.status("gpu00")
    assert (status["process"]["started_at"], status["steps"]["last_step"], status["log"]["bytes"]) == (5.0, 7, 9)
    board.update("gpu00", status="stopped", finished=True)
    assert board.has_finished("gpu00")
    # So that release can still stop or report it.
    kept = json.loads((tmp_path / "nodes/gpu00/status.json").read_text())
    assert kept == {**written, "status": "stopped", "finished": True}


def test_of_several_that_change_what_is_known_of_a_node_at_once_no_change_is_lost(tmp_path):
    board = Board(tmp_path)

    def is_kept(mine: str) -> bool:
        board.update("gpu00", **{mine: 0})
        return all(
            board.status("gpu00")["steps"][mine] == value - 1 and board.update("gpu00", **{mine: value})
            for value in range(1, 100)
        )

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(is_kept, ("first_step", "last_step", "starts", "conflicts")))


def test_who_was_suspended_while_it_wrote_keeps_nobody_from_writing(tmp_path):
    board = Board(tmp_path)
    with alone_in(board.node_dir("gpu00")):
        board.update("gpu00", status="stopped")
    assert board.status("gpu00")["status"] == "stopped"


def test_a_status_keeps_values_that_are_not_finite(tmp_path):
    Board(tmp_path).update("gpu00", metrics={"loss": math.nan, "grad_norm": math.inf})
    metrics = Board(tmp_path).status("gpu00")["steps"]["metrics"]
    assert math.isnan(metrics["loss"])
    assert metrics["grad_norm"] == math.inf


def test_steps_are_added_in_order_and_those_of_other_nodes_are_their_own(tmp_path):
    board = Board(tmp_path)
    assert list(rows_of(board.blocks("gpu00"))) == []
    board.append_steps("gpu00", [block(1, 2)])
    board.append_steps("gpu00", [])
    board.append_steps("gpu01", [block(7)])
    board.append_steps("gpu00", [block(3)])
    assert [row["step"] for row in rows_of(board.blocks("gpu00"))] == [1, 2, 3]
    assert [row["step"] for row in rows_of(board.blocks("gpu01"))] == [7]


def test_a_line_that_is_being_written_is_left_for_the_next_time(tmp_path):
    board = Board(tmp_path)
    board.append_steps("gpu00", [block(1)])
    path = board.node_dir("gpu00") / "steps.jsonl"
    with open(path, "a", encoding="utf-8") as stream:
        line = json.dumps(block(2))
        stream.write(line[:-1])
        stream.flush()
        assert [row["step"] for row in rows_of(board.blocks("gpu00"))] == [1]
        stream.write(f"{line[-1]}\n")
    assert [row["step"] for row in rows_of(board.blocks("gpu00"))] == [1, 2]


@pytest.mark.parametrize("torn", ["{", json.dumps(block(2))[:-1], json.dumps(block(2))])
def test_a_line_that_a_killed_writer_left_spoils_no_other(torn, tmp_path):
    board = Board(tmp_path)
    (board.node_dir("gpu00") / "steps.jsonl").write_text(json.dumps(block(1)) + "\n" + torn)
    board.append_steps("gpu00", [block(3)])
    assert [row["step"] for row in rows_of(board.blocks("gpu00")) if row["step"] != 2] == [1, 3]


def test_a_folder_from_before_the_first_release_is_refused_in_words(tmp_path):
    row = {"attempt": 1, "step": 1, "steps_total": 9, "metrics": {"loss": 1.0}}
    (Board(tmp_path).node_dir("gpu00") / "steps.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(ValueError, match=r"gpu00/steps\.jsonl was written before release 1\.0\.0"):
        list(rows_of(Board(tmp_path).blocks("gpu00")))


READER = """
import sys
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.whole_file import alone_in
board = Board(sys.argv[1])
print("reading", flush=True)
seen = -1
while seen < 300:
    status = board.status("gpu00")
    assert status["steps"]["starts"] == len(status["message"]), status
    seen = max(seen, status["steps"]["starts"] - 1)
    rows = [step for one in board.blocks("gpu00") for step in one["steps"]]
    assert rows == list(range(len(rows)))
"""


def test_another_process_never_reads_half_of_what_is_written(tmp_path):
    board = Board(tmp_path)
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(tmp_path)],
        env={"PYTHONPATH": str(COLLECTIONS)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert reader.stdout.readline() == "reading\n"
    for count in range(301):
        board.append_steps("gpu00", [block(count, filler="x" * 100)])
        board.update("gpu00", starts=count + 1, message="x" * (count + 1))
    _, errors = reader.communicate(timeout=60)
    assert reader.returncode == 0, errors
