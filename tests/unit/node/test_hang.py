"""Real processes seen from outside: how they wait, how busy they are, and where they are in their code."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.hang import ranks_here

RANKS = """
import os, sys, time
def all_reduce():
    while True:
        time.sleep(0.01)
def compute():
    while True:
        sum(range(10000))
if os.fork() == 0:  # a worker for the data, which has the rank in its environment too
    time.sleep(600)
open(f"pid-{os.environ['RANK']}.new", "w").write(str(os.getpid()))
os.rename(f"pid-{os.environ['RANK']}.new", f"pid-{os.environ['RANK']}")
compute() if os.environ["RANK"] == "9" else all_reduce()
"""


@pytest.fixture
def pids(training, monkeypatch) -> tuple[object, dict[int, int]]:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    starts = "".join(f"RANK={rank} NODE_RANK=1 {sys.executable} ranks.py &\n" for rank in (8, 9, 10))
    run = training(f"{starts}wait\n")
    run.in_workspace("ranks.py").write_text(RANKS)
    files = {rank: f"pid-{rank}" for rank in (8, 9, 10)}
    run.begin_until(*files.values())
    return run, {rank: int(run.in_workspace(file).read_text()) for rank, file in files.items()}


def test_each_rank_tells_its_state_its_load_and_its_stack(pids):
    run, found = pids
    os.kill(found[10], signal.SIGSTOP)
    seen = {one["rank"]: one for one in ranks_here(run.run_id, run.node_name)}
    os.kill(found[10], signal.SIGCONT)
    assert list(seen) == [8, 9, 10]
    assert seen[10]["state"] == "T"
    assert seen[8]["busy"] < seen[9]["busy"]
    assert seen[8]["stack"][0].startswith("all_reduce (ranks.py:")
    assert seen[9]["stack"][0].startswith("compute (ranks.py:")


def test_a_worker_that_began_in_the_same_hundredth_of_a_second_is_not_taken_for_its_rank(pids, monkeypatch):
    run, _found = pids
    monkeypatch.setattr("ansible_collections.trainops.cluster.plugins.module_utils.node.hang.start_time", lambda _: "7")
    seen = {one["rank"]: one for one in ranks_here(run.run_id, run.node_name)}
    assert seen[8]["stack"][0].startswith("all_reduce (ranks.py:")


def test_without_the_tool_the_rest_is_told(pids, monkeypatch):
    run, _found = pids
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(
        "ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.tools._MORE_FOLDERS", ()
    )
    seen = ranks_here(run.run_id, run.node_name)
    assert [(one["rank"], one["stack"]) for one in seen] == [(8, None), (9, None), (10, None)]
