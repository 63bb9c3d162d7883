"""The step that asks nodes, with a program in srun's place that starts the tasks of two nodes here.

Its message about a missing task is srun's own about a killed one.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.identity import identity_of
from ansible_collections.trainops.cluster.plugins.module_utils.node.phase import RunGoneError, request_of
from ansible_collections.trainops.cluster.plugins.module_utils.slurm.desk import STARTER
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.holding import held_nodes
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.isolation import StoppedError
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.node_errors import NodeEndedError, NodeLostError
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.commands import SlurmError
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.isolation_step import Step

NODES = ["gpu01", "gpu02"]
SRUN = """
import contextlib, os, subprocess, sys, threading
lock = threading.Lock()

def task(number):
    own = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": str(number)}
    own["SLURMD_NODENAME"] = f"gpu0{number + 1}"
    command = [sys.executable, "-I", "-c", sys.argv[2], "serve", "owned"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **own})

def pass_on(number, task):
    for line in task.stdout:
        with lock:
            sys.stdout.buffer.write(b"%d: %s" % (number, line))
            sys.stdout.buffer.flush()
    if task.wait():
        print(f"srun: error: gpu0{number + 1}: task {number}: Killed", file=sys.stderr, flush=True)

tasks = [task(number) for number in range(2)]
open(sys.argv[1], "w").write(" ".join(str(one.pid) for one in tasks))
threads = [threading.Thread(target=pass_on, args=of) for of in enumerate(tasks)]
for thread in threads:
    thread.start()

def feed():
    for line in sys.stdin.buffer:
        for one in tasks:
            with contextlib.suppress(BrokenPipeError):
                one.stdin.write(line)
                one.stdin.flush()
    for one in tasks:
        with contextlib.suppress(BrokenPipeError):
            one.stdin.close()

threading.Thread(target=feed, daemon=True).start()
for thread in threads:
    thread.join()
sys.stdout.flush()
os._exit(0)
"""


@pytest.fixture
def step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Step]:
    """A step of two nodes, whose job Slurm says has been cancelled once it is over."""
    scontrol = tmp_path / "programs/scontrol"
    scontrol.parent.mkdir()
    scontrol.write_text("#!/bin/sh\necho JobId=7 JobState=CANCELLED Reason=None\n")
    scontrol.chmod(0o755)
    scancel = scontrol.with_name("scancel")
    scancel.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/cancelled\n')
    scancel.chmod(0o755)
    monkeypatch.setenv("PATH", f"{scontrol.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("TRAINOPS_LOCK_FOLDER", str(tmp_path / "locks"))
    step = Step(tmp_path, [sys.executable, "-c", SRUN, str(tmp_path / "pids"), STARTER], None)
    try:
        step.wait_for(NODES, 60.0, lambda _text: None, lambda: False)
        yield step
    finally:
        step.end()


def ask(step: Step, node: str, phase: str = "stop", patience: float = 60.0, **needs: t.Any) -> dict[str, t.Any]:
    folder = str(step.job.run_dir / "node")
    plan, parts = held_nodes("isolation", dict.fromkeys(["gpu00", *NODES], ""), folder, 1.0)
    part = next(part for part in parts if part["node"] == node)
    # The process that holds the node does not end by itself.
    part["argv"] = ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"]
    request = request_of(plan, part, phase, identity_of(plan, part, "0" * 32))
    needs = {"environment": {}, "check_mode": False, "grace_seconds": 0.0, "with_log": False, **needs}
    return step.answer(node, t.cast("t.Any", {**request, **needs}), patience)


def signal_task(step: Step, number: int, what: signal.Signals) -> None:
    os.kill(int((step.job.run_dir / "pids").read_text().split()[number]), what)


def test_each_node_answers_for_itself(step: Step) -> None:
    assert [ask(step, node)["status"] for node in NODES] == ["not_started"] * 2
    assert step.job.id == "7"
    with pytest.raises(NodeLostError, match="started no task"):
        ask(step, "gpu00")


def test_nobody_waits_for_a_node_whose_task_is_gone(step: Step) -> None:
    signal_task(step, 1, signal.SIGKILL)
    with pytest.raises(NodeEndedError, match="gpu02: task 1: Killed"):
        ask(step, "gpu02")
    assert ask(step, "gpu01")["failed"] is False


def test_the_end_of_the_step_is_no_fault_of_a_node(step: Step) -> None:
    step.end()
    with pytest.raises(RunGoneError, match="Slurm's job 7 ended as CANCELLED"):
        ask(step, "gpu01")
    assert not (step.job.run_dir / "cancelled").exists()


def test_a_task_that_is_ended_while_it_frees_its_node_frees_it_all_the_same(step: Step) -> None:
    """Slurm cancels the job at the moment at which the controller lets the nodes go."""
    ask(step, "gpu01", "stage", files={}, given_secrets={}, secrets={}, keep=None)
    assert ask(step, "gpu01", "start")["status"] == "running"
    with pytest.raises(NodeEndedError):
        ask(step, "gpu01", patience=0.5, grace_seconds=60.0)
    signal_task(step, 0, signal.SIGTERM)
    step.end()
    (state,) = (step.job.run_dir / "node").glob("*/gpu01/state.json")
    assert json.loads(state.read_text())["status"] == "stopped"


def test_tasks_to_which_nobody_speaks_end_and_one_ends_the_job(step: Step) -> None:
    """The signal comes from their alarm."""
    for number in range(2):
        signal_task(step, number, signal.SIGALRM)
    with pytest.raises(RunGoneError):
        ask(step, "gpu01")
    assert (step.job.run_dir / "cancelled").read_text() == "7\n"


def test_a_step_that_slurm_does_not_start_says_why(tmp_path: Path) -> None:
    refusal = "srun: error: Unable to allocate resources: Invalid qos specification"
    step = Step(tmp_path, ["sh", "-c", f"echo '{refusal}' >&2; exit 1"], None)
    with pytest.raises(SlurmError, match="Unable to allocate resources: Invalid qos"):
        step.wait_for(NODES, 60.0, lambda _text: None, lambda: False)
    step.end()


def test_a_step_that_waits_is_over_once_somebody_stops_it_or_it_takes_too_long(tmp_path: Path) -> None:
    step = Step(tmp_path, ["sleep", "60"], None)
    with pytest.raises(StoppedError):
        step.wait_for(NODES, 60.0, lambda _text: None, lambda: True)
    with pytest.raises(SlurmError, match="within 0 minutes"):
        step.wait_for(NODES, 0.0, lambda _text: None, lambda: False)
    step.end()
