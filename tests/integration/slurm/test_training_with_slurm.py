"""Runs that a real Slurm starts, on three nodes of its own."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from paced_trainer import paced_trainer
from slurm_login import ROOT, Login, ended, wait_until

NODES = ["gpu01", "gpu02", "gpu03"]


def test_a_run_passes_on_the_nodes_that_slurm_chose_and_is_followed_meanwhile(login: Login) -> None:
    status, output = login.play("megatron_multinode.yml", "good")
    assert status == 0, output
    assert "is submitted: " in output
    assert re.search(r"^step +\d+/\d+ ", output, re.MULTILINE)
    summary = login.summary("good")
    assert summary["verdict"] == "PASS"
    assert [node["node"] for node in summary["nodes"]] == NODES
    assert "slurm-" not in (login.runs / "good/plan.json").read_text().replace('"slurm":', "")
    assert not (login.runs / "good/secrets.json").exists()
    assert "iteration" in (login.runs / "good/nodes/gpu02/train.log").read_text()


def test_the_same_command_picks_a_run_up_whose_controller_was_killed(login: Login) -> None:
    playing = login.start_as_user("megatron_multinode.yml", "again", steps=60)
    wait_until(lambda: login.trains("again"))
    os.killpg(playing.pid, signal.SIGKILL)
    playing.communicate()
    job = login.job("again")
    status, output = login.play("megatron_multinode.yml", "again", steps=60)
    assert status == 0, output
    assert f"Slurm job {job} exists already" in output
    assert login.summary("again")["verdict"] == "PASS"


@pytest.mark.long
def test_a_job_that_somebody_cancels_is_no_failure_of_the_training(login: Login) -> None:
    playing = login.start("megatron_multinode.yml", "cancelled", steps=2000)
    wait_until(lambda: login.trains("cancelled"))
    login.slurm.run("scancel", login.job("cancelled"))
    output = login.interrupted("cancelled", playing)
    assert f"Slurm's job {login.job('cancelled')} ended as CANCELLED: it was cancelled" in output


def test_stop_ends_the_training_on_all_nodes_and_the_job_with_it(login: Login) -> None:
    playing = login.start("megatron_multinode.yml", "stopped", steps=2000)
    wait_until(lambda: login.trains("stopped"))
    status, output = login.play("stop.yml", "stopped")
    assert status == 0, output
    assert ended(playing)[0] == 2
    assert login.slurm.run("squeue", "--noheader") == ""
    assert login.summary("stopped")["verdict"] == "ERROR", output


@pytest.mark.long
def test_stop_hears_how_a_run_ended_that_nobody_followed(login: Login) -> None:
    playing = login.start_as_user("megatron_multinode.yml", "alone", steps=30)
    wait_until(lambda: login.trains("alone"))
    os.killpg(playing.pid, signal.SIGKILL)
    playing.communicate()
    wait_until(lambda: not login.slurm.run("squeue", "--noheader"))
    status, output = login.play("stop.yml", "alone")
    assert status == 0, output
    summary = login.summary("alone")
    assert summary["verdict"] == "PASS", output
    assert len({row["step"] for row in csv.DictReader((login.runs / "alone/records.csv").open())}) == 30


def test_a_job_that_waits_says_what_for_and_is_taken_back(login: Login) -> None:
    login.slurm.run("scontrol", "update", "nodename=gpu03", "state=drain", "reason=fan")
    try:
        playing = login.start_as_user("megatron_multinode.yml", "waits")
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
    # By hand, once the node is back.
    first = login.job("waits")
    sbatch = [str(login.slurm.root / "usr/bin/sbatch"), "job.sh"]
    subprocess.run(sbatch, cwd=login.runs / "waits", env={**os.environ, **login.slurm.environment}, check=True)
    wait_until(lambda: login.job("waits") != first)
    status, output = login.play("attach.yml", "waits")
    assert status == 0, output
    assert login.summary("waits")["verdict"] == "PASS"


def test_what_slurm_cannot_do_is_said_at_once_before_anything_is_submitted(login: Login) -> None:
    wrong = {"training_slurm_partition": "short", "training_slurm_time_limit": "2-0", "training_slurm_nodes": 3}
    wrong |= {"training_slurm_constraint": "h100", "training_slurm_reservation": "week47"}
    status, output = login.play("megatron_multinode.yml", "refused", **wrong)
    assert status == 2
    told = " ".join(output.split())
    assert "3 errors" in told
    assert "The cluster has no reservation week47. It currently has none." in told
    assert "Partition short ends jobs after 00:05:00" in told
    assert "No node in partition short has the feature h100." in told
    assert not (login.runs / "refused").exists()


def test_what_only_sbatch_knows_is_quoted(login: Login) -> None:
    status, output = login.play("plan.yml", "quoted", training_slurm_options=["--licenses=nope"])
    assert status == 2
    assert "Slurm reports: allocation failure: Invalid license specification." in " ".join(output.split())


def test_a_red_node_ends_the_job_before_training_and_the_next_attempt_leaves_it_out(login: Login) -> None:
    with socket.socket() as taken:
        # Rank 0's port; only its own node has to report it.
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        playing = login.start("megatron_multinode.yml", "red", nodes=2, training_retries=1, training_master_port=port)
        wait_until((login.runs / "red/summary.json").exists)
    status, output = ended(playing)
    assert status == 0, output
    assert "The preflight is red on gpu01, as shown above" in output
    first = login.summary("red")
    assert (first["verdict"], first["first_failure"]["node"]) == ("ERROR", "gpu01")
    assert first["first_failure"]["message"].startswith("its preflight is red: port: ")
    assert "iteration" not in output[: output.index("red-2")]
    assert "#SBATCH --exclude=gpu01\n" in (login.runs / "red-2/job.sh").read_text()
    again = login.summary("red-2")
    assert again["verdict"] == "PASS"
    assert [node["node"] for node in again["nodes"]] == ["gpu02", "gpu03"]
    assert "gpu01 was left out" in output


def test_many_nodes_are_qualified_each_by_itself_in_one_job_and_compared(login: Login) -> None:
    config = json.loads((ROOT / "inventories/local/tiny_llama.json").read_text())
    config["model_params"]["single_node"] = config["model_params"].pop("multi_node")
    (login.folder / "single.json").write_text(json.dumps(config))
    status, output = login.play(
        *("megatron_single_node.yml", "each"),
        training_config=str(login.folder / "single.json"),
        training_slurm_nodes=3,
        # Steps of the same length, however busy other tests keep the cores.
        training_megatron_root=str(paced_trainer(login.folder)),
    )
    assert status == 0, output
    summary = login.summary("each")
    assert [node["node"] for node in summary["nodes"]] == NODES
    assert summary["verdict"] == "PASS"
    assert summary["stragglers"]["nodes"] == []
    assert "#SBATCH --no-kill\n" in (login.runs / "each/job.sh").read_text()
    assert {row["node"] for row in csv.DictReader((login.runs / "each/records.csv").open())} == set(NODES)


# Takes the place of srun with Pyxis: it notes the options of a container, and makes none.
SRUN = """\
#!/bin/bash
[[ $1 == --help ]] && {{ echo "  --container-image=[USER@][REGISTRY#]IMAGE[:TAG]|PATH"; exit; }}
kept=()
for word in "$@"; do
  if [[ $word == --container-* || $word == --no-container-* ]]; then echo "$word" >>{noted}; else kept+=("$word"); fi
done
if [[ ${{!#}} == train ]]; then {before}; fi
exec {srun} "${{kept[@]}}"
"""


# Takes the place of Apptainer in the same way.
APPTAINER = """\
#!/bin/bash
printf '%s\\n' "$@" >>{noted}.$SLURM_PROCID
until [[ $1 == docker://* ]]; do shift; done
exec "${{@:2}}"
"""


def with_pyxis(login: Login, run_id: str, before: str) -> tuple[int, str]:
    """Rehearse with an image, where srun does something before it begins the ranks."""
    real = login.slurm.root / "usr/bin/srun"
    script = SRUN.format(noted=login.folder / "noted", srun=real, before=before)
    return with_program(login, run_id, "srun", script, container_engine="auto")


def with_program(login: Login, run_id: str, name: str, script: str, **more: str) -> tuple[int, str]:
    """Rehearse with an image, and with a program that comes before the machine's."""
    login.programs = login.folder / "programs"
    login.programs.mkdir()
    program = login.programs / name
    program.write_text(script)
    program.chmod(0o755)
    config = json.loads((ROOT / "inventories/local/tiny_llama.json").read_text())
    config["config"] |= {
        "container_image": "ghcr.io/rocm/megatron-lm:v26.1",
        "data_cache_dir": f"{login.folder}/cache",
        "container_config": {"volume_dict": {str(login.folder): str(login.folder)}},
    }
    path = login.folder / "image.json"
    path.write_text(json.dumps(config))
    variables = {"training_config": str(path), "training_rehearsal": True, **more}
    return login.play("megatron_multinode.yml", run_id, training_lost_timeout=2, **variables)


def test_pyxis_is_given_the_container_of_the_ranks_where_srun_has_it(login: Login) -> None:
    status, output = with_pyxis(login, "pyxis", ":")
    assert status == 0, output
    assert login.summary("pyxis")["rehearsal"]
    told = (login.folder / "noted").read_text().splitlines()
    assert "--container-image=ghcr.io#rocm/megatron-lm:v26.1" in told
    run_dir = login.runs / "pyxis"
    assert f"--container-workdir={run_dir}" in told
    (mounts,) = [line for line in told if line.startswith("--container-mounts=")]
    assert f"{run_dir}:{run_dir}" in mounts
    assert f"{login.folder}/logs/pyxis:{login.folder}/logs/pyxis" in mounts


def test_apptainer_holds_the_ranks_where_it_is_asked_for(login: Login) -> None:
    script = APPTAINER.format(noted=login.folder / "noted")
    status, output = with_program(login, "apptainer", "apptainer", script, container_engine="apptainer")
    assert status == 0, output
    run_dir = login.runs / "apptainer"
    for rank in range(3):
        told = (login.folder / f"noted.{rank}").read_text().splitlines()
        assert told[:3] == ["exec", "--writable-tmpfs", "--no-home"]
        assert told[told.index("--pwd") + 1] == str(run_dir)
        assert f"{run_dir}:{run_dir}" in told[told.index("--bind") + 1]
        assert told[-5:] == ["docker://ghcr.io/rocm/megatron-lm:v26.1", "python3", "-I", f"{run_dir}/job.pyz", "train"]


def test_an_image_that_enroot_cannot_fetch_is_the_first_failure(login: Login) -> None:
    says = "echo 'slurmstepd: error: pyxis: failed to import docker image' >&2; exit 1"
    status, output = with_pyxis(login, "no-image", says)
    assert status == 2
    first = login.summary("no-image")["first_failure"]
    assert first["class"] == "image_pull", output
    assert "failed to import docker image" in first["message"]


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
