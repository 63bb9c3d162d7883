from __future__ import annotations

import math
import time

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.progress import ProgressReader, progress_line

PLAN = {
    "run_id": "the-run",
    "parameters": {"iterations": 200},
    "first_step": 1,
    "nodes": [{"node": "gpu00"}, {"node": "gpu01"}],
}
NOW = 10_000.0


def running(node: str = "gpu00", **changes) -> dict:
    return {"node": node, "status": "running", **changes}


def at(step: int, **metrics: float) -> dict:
    return {"first_step": 1, "last_step": step, "steps_total": 200, "metrics": metrics}


FULL = at(7, step_time_ms=10235.84, tokens_per_sec_per_gpu=12786.9, loss=7.27123)

TEST_LINES = [
    ("nothing is known", [{"node": "gpu00", "status": "not_started"}], "the-run  starting  0 of 1 nodes running"),
    (
        "started, no step yet",
        [running(started_at=NOW - 75), running("gpu01", started_at=NOW - 70)],
        "the-run  no step yet after 1:15",
    ),
    (
        "the last rank tells the steps",
        [running(started_at=1.0), running("gpu01", **FULL)],
        "the-run  step   7/200  10,235.8 ms/step  12,787 tokens/s/GPU  loss 7.2712  32:56 left",
    ),
    (
        "the node furthest behind stands for the run",
        [running(**at(30, loss=1.0)), running("gpu01", **at(29, loss=2.0))],
        "the-run  step  29/200  loss 2.0000",
    ),
    (
        "a step is missing",
        [running(**at(20, step_time_ms=5000.0), last_step_at=NOW - 48)],
        "the-run  step  20/200  5,000.0 ms/step  15:00 left  !! no step for 40 s",
    ),
    (
        "a slow step is not missing yet",
        [running(**at(20, step_time_ms=40_000.0), last_step_at=NOW - 100)],
        "the-run  step  20/200  40,000.0 ms/step  2:00:00 left",
    ),
    (
        "what has ended misses no step",
        [{"node": "gpu00", "status": "exited", "exit_status": 0, **at(200, step_time_ms=5.0), "last_step_at": 1.0}],
        "the-run  step 200/200  5.0 ms/step  0 of 1 nodes running",
    ),
    (
        "more than an hour is left",
        [running(**at(20, step_time_ms=40_000.0))],
        "the-run  step  20/200  40,000.0 ms/step  2:00:00 left",
    ),
    (
        "NaN and infinity are told as they are",
        [running(**at(3, step_time_ms=math.inf, loss=math.nan))],
        "the-run  step   3/200  inf ms/step  loss nan  ? left",
    ),
    (
        "the end",
        [{"node": "gpu00", "status": "exited", "exit_status": 0, **at(200, step_time_ms=5.0)}],
        "the-run  step 200/200  5.0 ms/step  0 of 1 nodes running",
    ),
    (
        "what is wrong is told with the node",
        [
            {"node": "gpu00", "status": "exited", "exit_status": 137},
            {"node": "gpu01", "status": "unreachable"},
            running("gpu02", **at(3, loss=1.0)),
            {"node": "gpu03", "status": "stopped"},
        ],
        "the-run  step   3/200  loss 1.0000  1 of 4 nodes running  !! gpu00 exited 137  !! gpu01 unreachable",
    ),
]


@pytest.mark.parametrize(("statuses", "line"), [case[1:] for case in TEST_LINES], ids=[case[0] for case in TEST_LINES])
def test_one_line_tells_where_a_run_is(statuses, line):
    assert progress_line(PLAN, statuses, NOW) == line


def test_a_trainer_that_counts_from_0_is_done_at_the_number_before():
    status = {"node": "gpu00", "status": "exited", "exit_status": 0, **at(199, step_time_ms=5.0), "first_step": 0}
    line = progress_line({**PLAN, "first_step": 0}, [status], NOW)
    assert line == "the-run  step 200/200  5.0 ms/step  0 of 1 nodes running"


@pytest.fixture
def board(tmp_path):
    board = Board(tmp_path / "run")
    board.write_plan(PLAN)
    return board


def wait_until(condition, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "this did not come true in time"
        time.sleep(0.01)


def test_the_end_is_told_whatever_the_interval(board):
    lines: list[str] = []
    reader = ProgressReader(board.run_dir, 1e6, lines.append)
    reader.start()
    for step in range(1, 100):
        board.update("gpu00", status="running", **at(step))
    reader.end()
    assert lines == ["the-run  step  99/200  1 of 2 nodes running"]


def test_what_is_new_is_told_while_it_comes_and_nothing_twice(board):
    lines: list[str] = []
    board.update("gpu00", status="running", **at(1))
    reader = ProgressReader(board.run_dir, 0, lines.append)
    reader.start()
    wait_until(lambda: len(lines) == 1)
    board.update("gpu00", status="running", **at(2))
    wait_until(lambda: len(lines) == 2)
    reader.end()
    assert lines == [f"the-run  step   {step}/200  1 of 2 nodes running" for step in (1, 2)]


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_folder_without_a_run_has_nothing_to_tell(tmp_path):
    lines: list[str] = []
    reader = ProgressReader(tmp_path, 0, lines.append)
    reader.start()
    reader.end()
    assert lines == []
