from __future__ import annotations

import math
import time

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.progress import ProgressReader, progress_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.status import status_of

PLAN = {
    "run_id": "the-run",
    "parameters": {"iterations": 200},
    "first_step": 1,
    "nodes": [{"node": "gpu00"}, {"node": "gpu01"}],
}
NOW = 10_000.0


def line_of(plan: dict, *known: dict) -> str:
    return progress_of(plan, [status_of(one) for one in known], NOW).line()


def running(node: str = "gpu00", **changes) -> dict:
    return {"node": node, "status": "running", **changes}


def at(step: int, **metrics: float) -> dict:
    return {"first_step": 1, "last_step": step, "steps_total": 200, "metrics": metrics}


FULL = at(7, step_time_ms=10235.84, tokens_per_sec_per_gpu=12786.9, loss=7.27123)
DONE = {"status": "exited", "exit_status": 0, **at(200, step_time_ms=5.0)}

TEST_LINES = [
    ("nothing is known", [{"node": "gpu00", "status": "not_started"}], "starting  0 of 1 node running"),
    (
        "started, no step yet",
        [running(started_at=NOW - 75), running("gpu01", started_at=NOW - 70)],
        "no step yet after 1:15",
    ),
    (
        "the last rank tells the steps",
        [running(started_at=1.0), running("gpu01", **FULL)],
        "step   7/200  10,235.8 ms  12,787 tokens/s per GPU  loss 7.271  32:56 left",
    ),
    (
        "the node furthest behind stands for the run",
        [running(**at(30, loss=1.0)), running("gpu01", **at(29, loss=2.0))],
        "step  29/200  loss 2.000",
    ),
    (
        "nothing is left of a run that does not move",
        [running(**at(20, step_time_ms=5000.0), last_step_at=NOW - 48)],
        "step  20/200  !! no step for 40 s",
    ),
    (
        "steps of a log that is still being read are not missing",
        [running(**at(20, step_time_ms=5000.0), last_step_at=NOW - 48, log_unread=734_000_000)],
        "step  20/200  reading 800 MB of gpu00's log",
    ),
    (
        "a trainer that prints much keeps its figures while steps come",
        [running(**at(20, step_time_ms=5000.0), last_step_at=NOW - 1, log_unread=734_000_000)],
        "step  20/200  5,000.0 ms  15:00 left",
    ),
    (
        "a node that does not answer is named while the others go on",
        [running(**at(20, loss=1.0), silent_since=NOW - 47), running("gpu01", **at(71, loss=1.0))],
        "step  71/200  loss 1.000  !! gpu00 silent for 40 s",
    ),
    (
        "a slow step is not missing yet",
        [running(**at(20, step_time_ms=40_000.0), last_step_at=NOW - 100)],
        "step  20/200  40,000.0 ms  2:00:00 left",
    ),
    ("what has ended misses no step", [{"node": "gpu00", **DONE, "last_step_at": 1.0}], "step 200/200  5.0 ms"),
    (
        "NaN and infinity are told as they are",
        [running(**at(3, step_time_ms=math.inf, loss=math.nan))],
        "step   3/200  inf ms  loss nan  ? left",
    ),
    (
        "the end",
        [{"node": name, **DONE} for name in ("gpu00", "gpu01", "gpu02")],
        "step 200/200  5.0 ms  all 3 nodes done",
    ),
    (
        "what is wrong is told with the nodes, and not what is left",
        [
            {"node": "gpu00", "status": "exited", "exit_status": 137},
            *({"node": f"gpu{number:02}", "status": "stalled"} for number in range(4, 14)),
            {"node": "gpu01", "status": "unreachable"},
            running("gpu02", **at(3, loss=1.0)),
            {"node": "gpu03", "status": "stopped"},
        ],
        "step   3/200  1 of 14 nodes running  !! gpu00 exited 137  !! gpu[04-13] stalled  !! gpu01 unreachable",
    ),
]


@pytest.mark.parametrize(("statuses", "line"), [case[1:] for case in TEST_LINES], ids=[case[0] for case in TEST_LINES])
def test_one_line_tells_where_a_run_is(statuses, line):
    assert line_of(PLAN, *statuses).startswith(line)


RDMA = PLAN | {
    "mode": "multi_node",
    "gpu": "mi300x",
    "nodes": [{"node": node, "env": {"NCCL_IB_HCA": "bnxt_re0,bnxt_re1"}} for node in ("gpu00", "gpu01")],
}


def counted(step: int | None, **sent: int) -> dict:
    traffic = {f"{device}/1": {"sent": size, "received": 0} for device, size in sent.items()}
    return {"traffic": traffic, "traffic_step": step}


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ({"transports": ["NET/Socket"]}, "!! TCP, not RDMA, on gpu[00-01]"),
        ({"transports": ["NET/IB", "NET/Socket"]}, "!! TCP, not RDMA, on gpu[00-01]"),
        ({"transports": ["NET/IB"]}, ""),
        (counted(2, bnxt_re0=0, bnxt_re1=0), "!! no RDMA traffic on gpu[00-01]"),
        (counted(2, bnxt_re0=0, bnxt_re1=1), ""),
        # Read before the steps.
        (counted(None, bnxt_re0=0, bnxt_re1=0), ""),
        (counted(1, bnxt_re0=0, bnxt_re1=0), ""),
        # Nothing is known of the plan's own devices.
        (counted(2, bnxt_re7=0), ""),
        ({"transports": ["NET/IB"], **counted(2, bnxt_re0=0)}, ""),
    ],
)
def test_nodes_that_do_not_use_the_rdma_of_the_plan_are_named_while_they_train(found, says):
    line = line_of(RDMA, running(**at(2, loss=4.0), **found), running("gpu01", **found))
    assert line == f"step   2/200  loss 4.000{'  ' if says else ''}{says}"
    for plan in (RDMA | {"gpu": "cpu"}, RDMA | {"rehearsal": True}, RDMA | {"mode": "single_node"}):
        assert "RDMA" not in line_of(plan, running(**at(2), **found), running("gpu01", **found))


def test_the_network_is_named_before_the_first_step():
    line = line_of(RDMA, running(started_at=NOW - 75, transports=["NET/Socket"]), running("gpu01"))
    assert line == "no step yet after 1:15  !! TCP, not RDMA, on gpu00"


def test_a_line_of_a_long_run_fits_a_terminal():
    plan = PLAN | {"run_id": "20261127-105749-llama3_1_405b-mi300x", "parameters": {"iterations": 50_000}}
    status = running(**at(49, step_time_ms=999.9, tokens_per_sec_per_gpu=12786.9, loss=11.27123))
    assert len(line_of(plan, status)) <= 80


def test_nodes_that_train_by_themselves_are_counted_by_their_states():
    plan = PLAN | {"mode": "single_node"}
    fast = [running(f"gpu{n:02}", **at(31, step_time_ms=100.0, tokens_per_sec_per_gpu=9_740.0)) for n in range(14)]
    dead = {"node": "gpu14", "status": "exited", "exit_status": 1, **at(3)}
    slow = running("gpu15", **at(28, step_time_ms=108.0, tokens_per_sec_per_gpu=9_000.0))
    line = line_of(plan, *fast, dead, slow)
    assert line == "14 running at step 31/200  9,740 tokens/s per GPU  1 failed (gpu14)  1 slow (gpu15 at step 28)"
    ended = [{**status, **DONE} for status in (*fast, slow)]
    assert line_of(plan, *ended, dead) == "15 done  1 failed (gpu14)"


def test_a_node_that_starts_late_is_not_slow():
    late = running("gpu02", **at(9, step_time_ms=100.0))
    nodes = [running(f"gpu0{n}", **at(31, step_time_ms=100.0)) for n in range(2)]
    assert "slow" not in line_of(PLAN | {"mode": "single_node"}, *nodes, late)


def test_a_trainer_that_counts_from_0_is_done_at_the_number_before():
    status = {"node": "gpu00", **DONE, **at(199, step_time_ms=5.0), "first_step": 0}
    assert line_of({**PLAN, "first_step": 0}, status).startswith("step 200/200")


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
    assert lines == ["Run the-run", "step  99/200  1 of 2 nodes running"]


def test_what_is_new_is_told_while_it_comes_and_nothing_twice(board):
    lines: list[str] = []
    board.update("gpu00", status="running", **at(1))
    reader = ProgressReader(board.run_dir, 0, lines.append)
    reader.start()
    wait_until(lambda: len(lines) == 2)
    board.update("gpu00", status="running", **at(2))
    wait_until(lambda: len(lines) == 3)
    reader.end()
    assert lines[1:] == [f"step   {step}/200  1 of 2 nodes running" for step in (1, 2)]


def test_the_last_step_is_told_once_although_the_nodes_end_one_after_the_other(board):
    lines: list[str] = []
    board.update("gpu00", **DONE)
    board.update("gpu01", **(DONE | {"status": "running"}))
    reader = ProgressReader(board.run_dir, 0, lines.append)
    reader.start()
    wait_until(lambda: len(lines) == 2)
    board.update("gpu01", **DONE)
    reader.end()
    assert lines[1:] == ["step 200/200  5.0 ms  1 of 2 nodes running", "both nodes done"]


def test_a_cell_of_a_sweep_is_told_with_its_place(board):
    lines: list[str] = []
    reader = ProgressReader(board.run_dir, 1e6, lines.append, "cell 3 of 6")
    reader.start()
    reader.end()
    assert lines[0] == "Run the-run (cell 3 of 6)"


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_folder_without_a_run_has_nothing_to_tell(tmp_path):
    lines: list[str] = []
    reader = ProgressReader(tmp_path, 0, lines.append)
    reader.start()
    reader.end()
    assert lines == []
