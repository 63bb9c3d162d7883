"""Each end that Slurm has for a job, from a real Slurm: which class, which node, which remedy, which verdict."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from slurm_login import Login, ended, wait_until

# Another user's job for the nodes of a run.
URGENT = ("sbatch", "--parsable", "--partition=high", "--nodes=3", "--output=/dev/null", "--wrap=sleep 1")


def training(login: Login, run_id: str, **variables: Any) -> subprocess.Popen[str]:
    playing = login.start("megatron_multinode.yml", run_id, steps=20000, **variables)
    wait_until(lambda: login.trains(run_id))
    return playing


@pytest.fixture
def nodes_again(login: Login) -> Iterator[None]:
    yield
    for node in ("gpu02", "gpu03"):
        (login.slurm.folder / f"bad-{node}").unlink(missing_ok=True)
        # One that takes jobs, or has come back by itself meanwhile, cannot be resumed.
        with contextlib.suppress(RuntimeError):
            login.slurm.run("scontrol", "update", f"nodename={node}", "state=resume")
    login.slurm.wait_for_nodes(["gpu01", "gpu02", "gpu03"])


@pytest.mark.parametrize(
    ("partition", "options", "state"),
    [
        ("low", [], "PREEMPTED"),
        pytest.param("again", [], "PREEMPTED", marks=pytest.mark.long),
        ("again", ["--requeue"], "REQUEUED"),
    ],
)
def test_a_job_that_another_one_ends_says_nothing_about_the_training(
    login: Login, partition: str, options: list[str], state: str
) -> None:
    run_id = f"preempted-{partition}-{len(options)}"
    playing = training(login, run_id, training_slurm_partition=partition, training_slurm_options=options)
    login.slurm.run(*URGENT)
    output = login.interrupted(run_id, playing)
    assert f"Slurm's job {login.job(run_id)} ended as {state}: " in output
    assert "use a partition or QOS that is not preempted" in output
    wait_until(lambda: not login.slurm.run("squeue", "--noheader"))


def test_a_time_limit_is_named(login: Login) -> None:
    playing = training(login, "late", training_slurm_partition="short", training_slurm_time_limit="1")
    # A minute is the shortest limit that a job may ask for.
    login.slurm.run("scontrol", "update", f"jobid={login.job('late')}", "endtime=now+2")
    status, output = ended(playing)
    assert status == 2
    first = login.summary("late")["first_failure"]
    assert (login.summary("late")["verdict"], first["class"]) == ("FAIL", "time_limit"), output
    assert "ended as TIMEOUT" in first["message"]
    assert "--time" in first["remedy"]


@pytest.mark.usefixtures("nodes_again")
def test_a_node_that_slurm_loses_is_the_first_failure(login: Login) -> None:
    playing = training(login, "lost")
    login.slurm.kill_node("gpu03")
    status, output = ended(playing)
    login.slurm.start_node("gpu03")
    assert status == 2
    first = login.summary("lost")["first_failure"]
    assert (first["node"], first["class"]) == ("gpu03", "node_failure"), output
    assert "ended as NODE_FAIL" in first["message"]
    assert "gpu03: Slurm took it out of service: Not responding" in first["message"]


@pytest.mark.usefixtures("nodes_again")
def test_a_node_whose_prolog_fails_is_named(login: Login) -> None:
    (login.slurm.folder / "bad-gpu02").touch()
    status, output = login.play("megatron_multinode.yml", "prolog")
    assert status == 2
    first = login.summary("prolog")["first_failure"]
    assert first["class"] == "node_failure", output
    assert "gpu02: Slurm took it out of service: Prolog error" in first["message"]


@pytest.mark.usefixtures("nodes_again")
def test_a_node_that_is_drained_in_mid_run_trains_on_and_is_told_of(login: Login) -> None:
    playing = login.start("megatron_multinode.yml", "drained", steps=60)
    wait_until(lambda: login.trains("drained"))
    login.slurm.run("scontrol", "update", "nodename=gpu02", "state=drain", "reason=fan 3")
    status, output = ended(playing)
    assert status == 0, output
    assert login.summary("drained")["verdict"] == "PASS"
    assert "gpu02: Slurm took it out of service: fan 3 (root)" in " ".join(output.split())
