"""Runs that a real Slurm starts, on three nodes of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from not_run import need_root
from slurm_bench import NoSlurmError, Slurm, unpacked

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 150


@dataclass
class Login:
    """The machine that submits: an inventory of one host, and a folder of runs that the nodes share."""

    slurm: Slurm
    folder: Path

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    def start(self, playbook: str, run_id: str, **variables: Any) -> subprocess.Popen[str]:
        hosts = self.folder / "hosts"
        hosts.write_text(json.dumps({"all": {"hosts": {"login": {"ansible_connection": "local"}}}}))
        changes = {"nnodes": 3, "master_address": "auto", "batch_size": 12, "log_dir": str(self.folder / "logs")}
        everything = {
            "training_launcher": "slurm",
            "training_config": str(ROOT / "inventories/local/tiny_llama.json"),
            "training_overrides": {**changes, "training_iterations": variables.pop("steps", 20)},
            "training_megatron_root": str(ROOT / "roles/training/files/trainer"),
            "training_megatron_release": "v26.1",
            "training_gpus_per_node": 1,
            "container_engine": "none",
            "training_output_dir": str(self.runs),
            "training_run_id": run_id,
            **variables,
        }
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "SLURM_"))}
        return subprocess.Popen(
            [
                str(Path(sys.executable).parent / "ansible-playbook"),
                str(ROOT / "playbooks" / playbook),
                *("-i", str(hosts), "-e", json.dumps(everything)),
            ],
            cwd=self.folder,
            env={**kept, **self.slurm.environment, "ANSIBLE_NOCOLOR": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def play(self, playbook: str, run_id: str, **variables: Any) -> tuple[int, str]:
        return ended(self.start(playbook, run_id, **variables))

    def summary(self, run_id: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.runs / run_id / "summary.json").read_text())
        return found

    def job(self, run_id: str) -> str:
        return (self.runs / run_id / "job_id").read_text().strip()

    def trains(self, run_id: str) -> bool:
        """Tell whether the controller has seen a step."""
        path = self.runs / run_id / "nodes/gpu01/steps.jsonl"
        return path.exists() and path.stat().st_size > 0


def ended(playing: subprocess.Popen[str]) -> tuple[int, str]:
    output, _ = playing.communicate(timeout=2 * PATIENCE)
    return playing.returncode, output


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.2)


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    need_root("slurmctld and slurmd are started as root here")
    found = None
    try:
        found = unpacked(tmp_path_factory.mktemp("slurm"))
        found.start()
        found.start_nodes(3)
        yield found
    except NoSlurmError as error:
        pytest.skip(str(error))
    finally:
        if found:
            found.stop()


@pytest.fixture
def login(slurm: Slurm, tmp_path: Path) -> Iterator[Login]:
    yield Login(slurm, tmp_path)
    slurm.run("scancel", "--user", "root")
    wait_until(lambda: not slurm.run("squeue", "--noheader"))


def test_a_run_passes_on_the_nodes_that_slurm_chose_and_is_followed_meanwhile(login: Login) -> None:
    status, output = login.play("megatron_multinode.yml", "good")
    assert status == 0, output
    assert "is submitted: " in output
    assert "good  step " in output
    summary = login.summary("good")
    assert summary["verdict"] == "PASS"
    assert [node["node"] for node in summary["nodes"]] == ["gpu01", "gpu02", "gpu03"]
    assert "slurm-" not in (login.runs / "good/plan.json").read_text().replace('"slurm":', "")
    assert not (login.runs / "good/secrets.json").exists()
    assert "iteration" in (login.runs / "good/nodes/gpu02/train.log").read_text()


def test_the_same_command_picks_a_run_up_whose_controller_was_killed(login: Login) -> None:
    playing = login.start("megatron_multinode.yml", "again", steps=60)
    wait_until(lambda: login.trains("again"))
    os.killpg(playing.pid, signal.SIGKILL)
    playing.communicate()
    job = login.job("again")
    status, output = login.play("megatron_multinode.yml", "again", steps=60)
    assert status == 0, output
    assert f"Job {job} of Slurm is known already" in output
    assert login.summary("again")["verdict"] == "PASS"


def test_a_job_that_somebody_cancels_is_no_failure_of_the_training(login: Login) -> None:
    playing = login.start("megatron_multinode.yml", "cancelled", steps=2000)
    wait_until(lambda: login.trains("cancelled"))
    login.slurm.run("scancel", login.job("cancelled"))
    status, output = ended(playing)
    assert status == 2
    summary = login.summary("cancelled")
    assert (summary["verdict"], summary["first_failure"]) == ("ERROR", None), output
    assert f"Slurm's job {login.job('cancelled')} ended as CANCELLED: it was cancelled" in output


def test_stop_ends_the_training_on_all_nodes_and_the_job_with_it(login: Login) -> None:
    playing = login.start("megatron_multinode.yml", "stopped", steps=2000)
    wait_until(lambda: login.trains("stopped"))
    status, output = login.play("stop.yml", "stopped")
    assert status == 0, output
    assert ended(playing)[0] == 2
    assert login.slurm.run("squeue", "--noheader") == ""
    assert login.summary("stopped")["verdict"] == "ERROR", output


def test_a_job_that_waits_says_what_for_and_is_taken_back(login: Login) -> None:
    login.slurm.run("scontrol", "update", "nodename=gpu03", "state=drain", "reason=fan")
    try:
        playing = login.start("megatron_multinode.yml", "waits")
        assert playing.stdout
        assert any("is PENDING: " in line for line in playing.stdout)
        status, output = login.play("stop.yml", "waits")
        assert status == 0, output
        status, output = ended(playing)
        assert status == 2
        assert "before it had placed the run on its nodes" in output
        assert login.summary("waits")["verdict"] == "ERROR"
        assert not (login.runs / "waits/secrets.json").exists()
    finally:
        login.slurm.run("scontrol", "update", "nodename=gpu03", "state=resume")


def test_what_slurm_refuses_is_quoted_and_the_job_can_be_submitted_by_hand(login: Login) -> None:
    status, output = login.play("megatron_multinode.yml", "refused", training_slurm_partition="nope")
    assert status == 2
    assert "Invalid partition name specified" in output
    assert not (login.runs / "refused/job_id").exists()
    subprocess.run(
        [str(login.slurm.root / "usr/bin/sbatch"), "--partition=all", "job.sh"],
        cwd=login.runs / "refused",
        env={**os.environ, **login.slurm.environment},
        check=True,
    )
    wait_until((login.runs / "refused/job_id").exists)
    status, output = login.play("attach.yml", "refused")
    assert status == 0, output
    assert login.summary("refused")["verdict"] == "PASS"


def test_a_node_whose_trainer_dies_is_the_first_failure(login: Login) -> None:
    playing = login.start("megatron_multinode.yml", "dies", steps=2000)
    wait_until(lambda: login.trains("dies"))
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            environment = path.read_bytes()
            command = (path.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if b"TRAINOPS_RUN_ID=dies" in environment and b"TRAINOPS_NODE=gpu02" in environment and b"tiny.py" in command:
            os.kill(int(path.parent.name), signal.SIGKILL)
    status, output = ended(playing)
    assert status == 2
    summary = login.summary("dies")
    assert summary["verdict"] == "FAIL", output
    assert (summary["first_failure"]["node"], summary["first_failure"]["class"]) == ("gpu02", "killed")
