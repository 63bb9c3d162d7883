"""Runs under a real Slurm with slurmdbd and MariaDB, which has a say in them, and limits the memory of their steps."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from slurm_accounting import unpacked_with_accounting
from slurm_bench import Slurm, with_nodes
from slurm_login import Login, ended, wait_until

MEMORY = Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")
CGROUP = "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\nConstrainRAMSpace=yes\n"
OURS = {"training_slurm_account": "llm", "training_slurm_qos": "normal"}
# Takes memory on one node.
GREEDY = """
import os, threading, time

def take():
    taken = []
    while True:
        taken.append(bytearray(16 << 20))
        time.sleep(0.05)

if os.environ.get("TRAINOPS_NODE") == "gpu02":
    threading.Thread(target=take, daemon=True).start()
"""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    def make() -> Slurm:
        folder = tmp_path_factory.mktemp("slurm")
        limits = {"ProctrackType": "proctrack/cgroup", "TaskPlugin": "task/cgroup"} if MEMORY.exists() else {}
        select = {"SelectType": "select/cons_tres", "SelectTypeParameters": "CR_CPU_Memory"}
        found = unpacked_with_accounting(folder, **select, **limits)
        (folder / "cgroup.conf").write_text(CGROUP)
        for more in (
            *(("add", "cluster", "bench"), ("add", "account", "llm,vision"), ("add", "user", "root", "account=llm")),
            ("add", "qos", "small", "set", "MaxTRESPerJob=node=1", "Flags=DenyOnLimit"),
            ("modify", "user", "root", "set", "qos+=small"),
        ):
            found.run("sacctmgr", "--immediate", *more)
        return found

    with with_nodes(make) as found:
        yield found
    # A slurmd that is killed leaves them, empty.
    for group in Path("/sys/fs/cgroup").glob("*/slurm_gpu0[1-3]"):
        group.rmdir()


def test_an_account_a_qos_and_a_limit_that_are_against_the_job_are_faults(login: Login) -> None:
    wrong = {"training_slurm_account": "vision", "training_slurm_qos": "urgent"}
    status, output = login.play("megatron_multinode.yml", "refused", **wrong)
    told = " ".join(output.split())
    assert status == 2
    assert "2 errors" in told
    assert "You have no access to account vision. Use one of llm" in told
    assert "You have no access to QOS urgent. Use one of normal, small" in told
    status, output = login.play("megatron_multinode.yml", "refused", **{**OURS, "training_slurm_qos": "small"})
    assert status == 2
    assert "QOSMaxNodePerJobLimit" in " ".join(output.split())
    assert login.slurm.run("sacct", "--noheader", "--allusers") == ""


def test_who_cancelled_a_job_and_a_step_is_named(login: Login) -> None:
    playing = login.start("megatron_multinode.yml", "job", steps=2000, **OURS)
    wait_until(lambda: login.trains("job"))
    login.slurm.run("scancel", login.job("job"))
    _status, output = ended(playing)
    assert f"job {login.job('job')} ended as CANCELLED: it was cancelled by root" in output
    wait_until(lambda: not login.slurm.run("squeue", "--noheader"))
    login.slurm.run("salloc", "--no-shell", "--nodes=3", "--exclusive")
    login.allocation = login.slurm.run("squeue", "--noheader", "--format=%i").strip()
    playing = login.start("megatron_multinode.yml", "step", steps=2000)
    wait_until(lambda: login.trains("step"))
    login.slurm.run("scancel", login.job("step"))
    _status, output = ended(playing)
    assert f"step {login.job('step')} ended as CANCELLED: it was cancelled by root" in output
    assert login.summary("step")["verdict"] == "ERROR"


def test_a_node_whose_ranks_take_more_memory_than_slurm_gave_them_is_the_first_failure(login: Login) -> None:
    if not (MEMORY.exists() and os.access(MEMORY.parent, os.W_OK)):
        pytest.skip("slurmd limits memory by cgroup v1 here, and this machine has none that can be written")
    options = {**OURS, "training_slurm_options": ["--mem=400"], "training_megatron_root": login.with_trainer(GREEDY)}
    status, output = login.play("megatron_multinode.yml", "greedy", steps=20000, **options)
    assert status == 2
    summary = login.summary("greedy")
    assert summary["verdict"] == "FAIL", output
    first = summary["first_failure"]
    assert (first["node"], first["class"]) == ("gpu02", "host_memory"), output
    assert "--mem" in first["remedy"], first
    assert "gpu02: task 1: Out Of Memory" in (login.runs / "greedy/job.log").read_text()
