"""isolate.yml under a real Slurm: its nodes are tested in a step, and free afterwards, whatever happens.

All nodes are this machine, so processor times are compared, as in a rehearsal. Few nodes prove little.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from endless_program import endless_fio
from slurm_bench import Slurm, unpacked, with_nodes
from slurm_login import ROOT, Login, ended, wait_until

NODES = 6


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with with_nodes(lambda: unpacked(tmp_path_factory.mktemp("slurm")), NODES) as found:
        yield found


@pytest.fixture
def login(login: Login) -> Login:
    """No node sees the folder of the isolations."""
    login.apart = login.slurm.not_shared / login.folder.name
    return login


@pytest.fixture
def occupied(login: Login) -> str:
    """A job that has all nodes, and no process."""
    login.slurm.run("salloc", "--no-shell", f"--nodes={NODES}", "--exclusive")
    return login.slurm.run("squeue", "--noheader", "--format=%i").strip()


def start(login: Login, playbook: str, *arguments: str, **variables: Any) -> subprocess.Popen[str]:
    """Start a playbook in a process group of its own; a host has the name of the node that is made slow."""
    hosts = login.folder / "hosts"
    slow = {"gpu02": {"isolate_rehearsal_slowdown": 1.5}}
    hosts.write_text(json.dumps({"all": {"hosts": {"login": {"ansible_connection": "local"}, **slow}}}))
    everything = {
        "training_launcher": "slurm",
        "training_output_dir": str(login.runs),
        "isolate_node_dir": str(login.folder / "node"),
        "isolate_port": login.port,
        "isolate_rehearsal": True,
        "isolate_budget": 2,
        **variables,
    }
    program = str(Path(sys.executable).parent / "ansible-playbook")
    return subprocess.Popen(
        [program, str(ROOT / "playbooks" / playbook), "-i", str(hosts), "-e", json.dumps(everything), *arguments],
        cwd=login.folder,
        env=login.environment() | {"ANSIBLE_STDOUT_CALLBACK": "ansible.builtin.default"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def play(login: Login, playbook: str, *arguments: str, **variables: Any) -> tuple[int, str]:
    status, output = ended(start(login, playbook, *arguments, **variables))
    return status, " ".join(output.split())


def test_a_slow_node_is_named_and_one_that_slurm_has_drained_is_untested(login: Login) -> None:
    login.slurm.run("scontrol", "update", "nodename=gpu06", "state=drain", "reason=broken fan")
    status, output = play(login, "isolate.yml", isolate_name="own")
    login.slurm.run("scontrol", "update", "nodename=gpu06", "state=resume")
    assert status == 2, output
    folder = login.runs / "isolation/own"
    found = json.loads((folder / "isolation.json").read_text())
    assert {one["node"] for one in found["suspects"]} == {"gpu02"}, output
    assert found["nodes"]["gpu06"]["verdict"] == "untested"
    assert "broken fan (root)" in found["nodes"]["gpu06"]["reason"]
    failed = output.partition("PLAY [Fail these hosts]")[2]
    assert f"gpu02 ({found['suspects'][0]['part']}) is" in failed
    assert "gpu06 was not tested" in failed
    assert (folder / "slurm_exclude.txt").read_text() == "gpu02\n"
    assert login.slurm.run("squeue", "--noheader") == ""
    assert states(login, "own") == ["stopped"] * 5


def test_in_an_allocation_that_there_is_only_a_step_ends(login: Login, occupied: str) -> None:
    variables = {"training_launcher": "srun", "training_slurm_job": occupied, "training_slurm_exclude": "gpu02"}
    _status, output = play(login, "isolate.yml", isolate_name="inside", **variables)
    found = json.loads((login.runs / "isolation/inside/isolation.json").read_text())
    tested = [name for name, one in found["nodes"].items() if one["verdict"] != "untested"]
    assert tested == ["gpu01", "gpu03", "gpu04", "gpu05", "gpu06"], output
    assert login.slurm.run("squeue", "--noheader", "--format=%i %T") == f"{occupied} RUNNING\n"
    assert login.slurm.run("squeue", "--noheader", "--steps") == ""


def states(login: Login, name: str) -> list[str]:
    """Return the nodes' answers about their holder, one after the other."""
    kept = (login.folder / "node" / name).glob("*/state.json")
    return [json.loads(path.read_text())["status"] for path in sorted(kept)]


def test_stop_and_the_end_of_the_controller_free_the_nodes(login: Login) -> None:
    login.programs = endless_fio(login.folder / "endless")
    nodes = {"isolate_slurm_nodes": "gpu[01-03]", "isolate_probes": ["cpu", "fio"], "isolate_budget": 5}
    playing = start(login, "isolate.yml", isolate_name="stopped", **nodes)
    wait_until(lambda: states(login, "stopped") == ["running"] * 3)
    status, output = play(login, "stop.yml", training_run_id="stopped")
    assert status == 0, output
    status, output = ended(playing)
    assert status == 2, output
    assert "Isolation stopped was stopped, and found nothing." in " ".join(output.split())
    wait_until(lambda: not login.slurm.run("squeue", "--noheader"))
    assert states(login, "stopped") == ["stopped"] * 3
    playing = start(login, "isolate.yml", isolate_name="killed", **nodes)
    wait_until(lambda: states(login, "killed") == ["running"] * 3)
    os.killpg(playing.pid, signal.SIGKILL)
    playing.communicate()
    wait_until(lambda: not login.slurm.run("squeue", "--noheader"))
    assert states(login, "killed") == ["stopped"] * 3


@pytest.mark.parametrize(
    "meanwhile", [pytest.param("the nodes look for programs", marks=pytest.mark.long), "a probe runs"]
)
def test_a_job_that_somebody_cancels_accuses_nobody(login: Login, meanwhile: str) -> None:
    login.programs = endless_fio(login.folder / "endless", answers=meanwhile == "a probe runs")
    nodes = {"isolate_slurm_nodes": "gpu[01-03]", "isolate_probes": ["cpu", "fio"], "isolate_budget": 5}
    playing = start(login, "isolate.yml", isolate_name="cancelled", **nodes)
    wait_until((login.programs / "fio.started").exists)
    login.slurm.run("scancel", "--user", "root")
    status, output = ended(playing)
    assert status == 2, output
    found = json.loads((login.runs / "isolation/cancelled/isolation.json").read_text())
    assert found["suspects"] == []
    assert {one["verdict"] for one in found["nodes"].values()} == {"untested"}
    assert "ended as CANCELLED" in found["nodes"]["gpu01"]["reason"]


def test_a_job_that_waits_too_long_is_taken_back_and_says_what_it_waits_for(login: Login, occupied: str) -> None:
    nodes = {"isolate_slurm_nodes": "gpu[01-03]"}
    status, output = play(login, "isolate.yml", isolate_name="waits", isolate_slurm_wait=0.1, **nodes)
    assert status == 2, output
    assert "Slurm has not started the tests within 0.1 minutes" in output
    assert "is PENDING" in output
    playing = start(login, "isolate.yml", isolate_name="killed", **nodes)
    wait_until(lambda: "PENDING" in login.slurm.run("squeue", "--noheader", "--format=%T"))
    os.killpg(playing.pid, signal.SIGKILL)
    playing.communicate()
    wait_until(lambda: login.slurm.run("squeue", "--noheader", "--format=%i").split() == [occupied])


def test_what_cannot_work_is_said_at_once_and_nothing_is_submitted(login: Login) -> None:
    wrong = {
        "isolate_slurm_nodes": "gpu[01-03],nosuch",
        "training_slurm_time_limit": "00:05:00",
        "training_spares": "some",
        "isolate_quarantine_days": 3,
    }
    status, output = play(login, "isolate.yml", isolate_name="wrong", **wrong)
    assert status == 2
    for part in ("isolate_slurm_nodes lists nosuch", "time_limit is 00:05:00", "training_spares", "quarantine_days"):
        assert part in output
    status, output = play(login, "isolate.yml", "--check", isolate_slurm_nodes="gpu[01-03]")
    assert status == 0, output
    assert "rounds of pairs" in output
    assert login.slurm.run("squeue", "--noheader") == ""
    assert not login.runs.exists()
