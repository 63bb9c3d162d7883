"""Runs that are steps of an allocation of a real Slurm, which outlives them."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator

import pytest
from slurm_login import Login, ended, wait_until


@pytest.fixture
def login(login: Login) -> Login:
    """No node sees the folder of the runs, nor another one's logs."""
    login.apart = login.slurm.not_shared / login.folder.name
    return login


@pytest.fixture
def allocated(login: Login) -> Iterator[Login]:
    """Three nodes that a job without a process of its own holds."""
    login.slurm.run("salloc", "--no-shell", "--nodes=3", "--exclusive")
    login.allocation = login.slurm.run("squeue", "--noheader", "--format=%i").strip()
    yield login
    login.allocation = None


def is_held(login: Login) -> bool:
    """Tell whether the allocation runs, and no step in it."""
    assert login.slurm.run("squeue", "--noheader", "--format=%i %T") == f"{login.allocation} RUNNING\n"
    return login.slurm.run("squeue", "--noheader", "--steps", "--format=%i %j") == ""


def test_a_run_passes_as_a_step_on_nodes_that_salloc_took(login: Login) -> None:
    login.salloc = ("--nodes=3", "--exclusive", "--ntasks-per-node=4", "--cpus-per-task=1", "--overcommit")
    status, output = login.play("megatron_multinode.yml", "inside", nodes=2)
    assert status == 0, output
    number = login.job("inside")
    assert number.endswith(".0")
    assert f"Slurm step {number} has started: " in output
    summary = login.summary("inside")
    assert summary["verdict"] == "PASS"
    assert [node["node"] for node in summary["nodes"]] == ["gpu01", "gpu02"]
    run_dir = login.runs / "inside"
    assert not (run_dir / "secrets.json").exists()
    assert "run inside, node gpu02\n" in (run_dir / "nodes/gpu02/train.log").read_text()
    assert not (login.runs.parent / "logs").exists()


# Prints 3 MB on one node before it trains.
TALKATIVE = """
import os

if os.environ.get("TRAINOPS_NODE") == "gpu02":
    for number in range(30000):
        print(f"{number:08}", "x" * 90, flush=True)
"""


def test_a_log_too_large_for_an_answer_comes_over_the_stream(allocated: Login) -> None:
    trainer = allocated.with_trainer(TALKATIVE)
    status, output = allocated.play("megatron_multinode.yml", "talks", training_megatron_root=trainer)
    assert status == 0, output
    folder = allocated.runs / "talks/nodes/gpu02"
    log = (folder / "train.log").read_text()
    assert len(log) == json.loads((folder / "status.json").read_text())["log_bytes"]
    numbers = [line.split()[0] for line in log.splitlines() if line.endswith("xxx")]
    assert numbers[:30000] == [f"{number:08}" for number in range(30000)]


@pytest.mark.long
def test_stop_ends_the_step_of_a_run_whose_controller_was_killed_and_leaves_the_allocation(allocated: Login) -> None:
    playing = allocated.start_as_user("megatron_multinode.yml", "picked", steps=2000)
    wait_until(lambda: allocated.trains("picked"))
    os.killpg(playing.pid, signal.SIGKILL)
    playing.communicate()
    attached = allocated.start_as_user("attach.yml", "picked")
    number = allocated.job("picked")
    assert attached.stdout
    assert any(f"Slurm step {number} exists already" in line for line in attached.stdout)
    # Elsewhere, where no variable contains the allocation.
    allocation, allocated.allocation = allocated.allocation, None
    status, output = allocated.play("stop.yml", "picked")
    allocated.allocation = allocation
    assert status == 0, output
    assert ended(attached)[0] == 2
    assert allocated.summary("picked")["verdict"] == "ERROR"
    wait_until(lambda: is_held(allocated))


def test_a_step_that_somebody_cancels_and_an_allocation_that_ends_are_no_failure_of_the_training(
    allocated: Login,
) -> None:
    playing = allocated.start("megatron_multinode.yml", "step", steps=2000)
    wait_until(lambda: allocated.trains("step"))
    number = allocated.job("step")
    allocated.slurm.run("scancel", number)
    output = allocated.interrupted("step", playing)
    assert f"Slurm's step {number} ended as CANCELLED: it was cancelled" in output
    wait_until(lambda: is_held(allocated))
    playing = allocated.start("megatron_multinode.yml", "all", steps=2000)
    wait_until(lambda: allocated.trains("all"))
    allocated.slurm.run("scancel", str(allocated.allocation))
    output = allocated.interrupted("all", playing)
    assert f"Slurm's step {allocated.job('all')} ended as CANCELLED: it was cancelled" in output


def test_what_an_allocation_cannot_do_is_said_before_a_step_begins(allocated: Login) -> None:
    wrong = {"training_slurm_exclude": "gpu02", "training_slurm_partition": "short"}
    status, output = allocated.play("megatron_multinode.yml", "refused", **wrong)
    assert status == 2
    assert "training_slurm_partition has no effect with training_launcher=srun." in " ".join(output.split())
    del wrong["training_slurm_partition"]
    status, output = allocated.play("megatron_multinode.yml", "refused", **wrong)
    assert status == 2
    told = " ".join(output.split())
    assert f"Job {allocated.allocation} of Slurm has 2 nodes left by training_slurm_exclude, but the run" in told
    assert is_held(allocated)


def test_a_job_of_sbatch_whose_nodes_lack_the_folder_of_the_run_says_what_to_do(login: Login) -> None:
    status, output = login.play("megatron_multinode.yml", "alone")
    assert status == 2
    told = " ".join(output.split())
    assert f"Its first node wrote nothing to {login.runs}/alone. Set training_output_dir to a folder" in told


@pytest.mark.parametrize("nodes", [2, pytest.param(3, marks=pytest.mark.long)])
def test_a_red_node_ends_the_step_before_training_and_the_next_one_takes_what_else_there_is(
    allocated: Login, nodes: int
) -> None:
    run_id = f"red-of-{nodes}"
    with socket.socket() as taken:
        # Rank 0's port; only its own node has to report it.
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        wants = {"nodes": nodes, "training_slurm_nodes": nodes, "training_scale_batch": "reference_nodes"}
        port = {"training_master_port": taken.getsockname()[1]}
        playing = allocated.start("megatron_multinode.yml", run_id, training_retries=1, **wants, **port)
        wait_until(lambda: (allocated.runs / run_id / "summary.json").exists() or playing.poll() is not None)
    status, output = ended(playing)
    assert status == 0, output
    told = " ".join(output.split())
    assert "The preflight is red on gpu01, as shown above, so step " in told
    assert "To leave gpu01 out, set training_slurm_exclude=gpu01 or training_retries" in told
    assert allocated.summary(run_id)["first_failure"]["node"] == "gpu01"
    again = allocated.summary(f"{run_id}-2")
    assert again["verdict"] == "PASS"
    assert [node["node"] for node in again["nodes"]] == ["gpu02", "gpu03"]
    assert ("it ran on 2 of 3 nodes" in told) == (nodes == 3)
    wait_until(lambda: is_held(allocated))
