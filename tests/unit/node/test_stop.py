"""Stopping ends everything of the run, whatever became of its folder, and proves it."""

from __future__ import annotations

import json
import shutil
import subprocess
import typing as t
from pathlib import Path

import pytest
from real_training import Training, processes_with, wait_until

from ansible_collections.trainops.cluster.plugins.module_utils.node import container, processes
from ansible_collections.trainops.cluster.plugins.module_utils.node.phase import NodeError

MakeTraining = t.Callable[..., Training]


@pytest.fixture
def run(training: MakeTraining) -> Training:
    """Return a run that has begun."""
    run = training("touch begun\nwhile :; do sleep 0.1; done")
    run.begin_until("begun")
    return run


@pytest.mark.parametrize("lost", ["folder", "state.json"])
def test_what_runs_is_ended_also_where_the_runs_folder_or_state_is_gone(lost: str, run: Training) -> None:
    folder = Path(run.node["run_folder"])
    shutil.rmtree(folder) if lost == "folder" else (folder / lost).unlink()
    assert run.stop() == {"changed": True, "status": "stopped", "warnings": []}
    assert processes_with(run.mark) == set()
    assert run.stop() == {"changed": False, "status": "not_started", "warnings": []}


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("{", "is not valid JSON"),
        ("[]", "is not the state of run run-1"),
        (json.dumps({"engine": "x"}), "is not the state"),
    ],
)
def test_what_runs_is_ended_also_where_its_state_is_none_and_that_is_told(state: str, told: str, run: Training) -> None:
    Path(run.node["run_folder"], "state.json").write_text(state)
    answer = run.stop()
    assert (answer["changed"], answer["status"]) == (True, "stopped")
    assert told in " ".join(answer["warnings"])
    assert processes_with(run.mark) == set()


def test_what_runs_is_ended_also_where_others_could_have_written_in_the_folder(run: Training) -> None:
    Path(run.node["run_folder"]).chmod(0o777)
    answer = run.stop()
    assert (answer["changed"], answer["status"]) == (True, "stopped")
    assert "others can write to" in " ".join(answer["warnings"])
    assert processes_with(run.mark) == set()


def test_what_cannot_be_ended_is_named(run: Training, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that waits for a device for ever cannot be had here: so no signal reaches any."""
    monkeypatch.setattr(processes, "_KILL_SECONDS", 0.1)
    with monkeypatch.context() as deaf:
        deaf.setattr(processes.os, "kill", lambda _pid, _number: None)
        with pytest.raises(
            NodeError, match=rf"may not have ended here: process {run.launch_pid()} \(bash .*still there"
        ):
            run.stop(grace_seconds=0)
    assert run.stop(grace_seconds=0)["status"] == "stopped"


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> t.Callable[[str], None]:
    """Return a function that puts a script in the place of docker, because its daemon is not available here."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")

    def put(script: str) -> None:
        (programs / "docker").write_text(f"#!/bin/sh\n{script}\n")
        (programs / "docker").chmod(0o755)

    return put


def test_an_engine_that_does_not_answer_is_told_and_processes_are_ended_all_the_same(
    run: Training, docker: t.Callable[[str], None]
) -> None:
    docker("echo 'Cannot connect to the Docker daemon' >&2; exit 1")
    shutil.rmtree(run.node["run_folder"])
    with pytest.raises(NodeError) as caught:
        run.stop(container_engine="docker")
    (found,) = caught.value.problems
    assert found["code"] == "not_ended"
    assert "Cannot connect to the Docker daemon" in str(found["values"]["left"])
    assert processes_with(run.mark) == set()


def test_a_daemon_whose_socket_is_gone_is_told_and_not_a_container_that_it_does_not_know(
    training: MakeTraining, docker: t.Callable[[str], None]
) -> None:
    run = training("exit 3")
    run.begin()
    wait_until(lambda: Path(run.node["run_folder"], "exit_status").exists() and not processes_with(run.mark))
    path = Path(run.node["run_folder"], "state.json")
    state = json.loads(path.read_text())
    path.write_text(json.dumps({**state, "engine": "docker", "handle": {**state["handle"], "container": "c0"}}))
    # In the words of docker 29.
    docker(
        "echo 'failed to connect to the docker API at unix:///d.sock; check if the path is correct and if the daemon "
        "is running: dial unix /d.sock: connect: no such file or directory' >&2; exit 1"
    )
    answer = run.follow()
    assert "docker container inspect failed: failed to connect to the docker API" in answer["engine_problem"]
    assert answer["exit_status"] == 3


@pytest.mark.parametrize("recorded", [None, 3])
def test_a_removed_container_is_no_engine_that_stopped(
    recorded: int | None, training: MakeTraining, docker: t.Callable[[str], None]
) -> None:
    run = training("exit 3")
    run.begin()
    end = Path(run.node["run_folder"], "exit_status")
    wait_until(lambda: end.exists() and not processes_with(run.mark))
    if recorded is None:
        end.unlink()
    path = Path(run.node["run_folder"], "state.json")
    state = json.loads(path.read_text())
    path.write_text(json.dumps({**state, "engine": "docker", "handle": {**state["handle"], "container": "c0"}}))
    docker("echo 'Error response from daemon: No such container: c0' >&2; exit 1")
    answer = run.follow()
    assert answer["exit_status"] == recorded
    assert ("engine_problem" in answer, answer.get("container_removed", False)) == (False, recorded is None)


_LABELS = {"trainops.run_id": "run-1", "trainops.node": "any"}
_STATE = {"Running": True, "Status": "running"}
CONTAINER = json.dumps(
    [{"Id": "c0", "Name": "/any", "Image": "i0", "Created": "2026", "Config": {"Labels": _LABELS}, "State": _STATE}]
)


def test_a_container_that_another_stop_removes_meanwhile_has_ended(
    training: MakeTraining, docker: t.Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container, "_REMOVAL_POLL_SECONDS", 0)
    removing, gone = tmp_path / "removing", tmp_path / "gone"
    docker(
        f"if [ -e {gone} ]; then [ $1 = ps ] || {{ echo 'Error: No such container: c0' >&2; exit 1; }}; exit 0; fi\n"
        "case $1 in\n"
        "  ps) echo c0 ;;\n"
        f"  rm) touch {removing}; echo 'removal of container c0 is already in progress' >&2; exit 1 ;;\n"
        f"  container) echo '{CONTAINER}'; [ -e {removing} ] && touch {gone} ;;\n"
        "esac; true"
    )
    assert training().stop(container_engine="docker") == {"changed": True, "status": "stopped", "warnings": []}


def test_an_engine_is_given_longer_than_the_grace_to_stop_a_container(
    training: MakeTraining, docker: t.Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped, given = tmp_path / "stopped", []
    docker(
        f"case $1 in rm) touch {stopped} ;; ps) [ -e {stopped} ] || echo c0 ;; container) echo '{CONTAINER}' ;; esac"
    )
    run = subprocess.run
    monkeypatch.setattr(
        container.subprocess,
        "run",
        lambda command, **options: (given.append((command[1:-1], options["timeout"])), run(command, **options))[1],
    )
    assert training().stop(container_engine="docker", grace_seconds=600)["changed"]
    asked, seconds = next(one for one in given if one[0][0] == "stop")
    assert asked == ["stop", "--time", "600"]
    assert seconds > 600


def test_a_container_that_cannot_be_removed_is_named_and_holds_the_machine(
    training: MakeTraining, docker: t.Callable[[str], None]
) -> None:
    docker(f"case $1 in ps) echo c0 ;; container) echo '{CONTAINER}' ;; esac")
    with pytest.raises(NodeError, match=r"may not have ended here: container any \(running\) is still there"):
        training().stop(container_engine="auto")
    other = training(run_id="run-2")
    other.node["container_options"] = {"name": "any"}
    with pytest.raises(NodeError, match=r"held by run run-1\b"):
        other.stage(container_engine="docker")


def test_a_small_log_comes_along_where_it_is_asked_for(training: MakeTraining) -> None:
    run = training("echo done")
    run.begin()
    run.follow(wait_seconds=60)
    _log, collected = run.collect()
    assert run.stop(with_log=True)["log"] == collected
    assert "log" not in run.stop()


def test_a_training_that_ended_well_is_finished_with_the_last_answer(training: MakeTraining) -> None:
    run = training("(setsid sleep 600 &)\necho done")
    run.begin()
    finished = run.follow(wait_seconds=60, finish_grace_seconds=5)["finished"]
    assert processes_with(run.mark) == set()
    assert finished["log"] == run.collect()[1]
    assert (finished["changed"], finished["status"]) == (True, "exited")
    assert finished["machine_changes"] == run.stop()["machine_changes"]
    other = training(run_id="run-2")
    assert other.stage()["status"] == "staged"


@pytest.mark.parametrize(
    "script",
    ["echo done; exit 3", "sleep 600", "head -c 200000 /dev/zero"],
    ids=["failed", "still runs", "has a long log"],
)
def test_what_did_not_end_well_or_has_a_long_log_is_left_for_the_stop(script: str, training: MakeTraining) -> None:
    run = training(script)
    run.begin()
    if script != "sleep 600":
        wait_until(lambda: run.follow()["has_ended"])
    assert "finished" not in run.follow(finish_grace_seconds=5)


def test_what_cannot_be_finished_quietly_is_left_for_the_stop(
    training: MakeTraining, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that waits for a device for ever cannot be had here: so no signal reaches any."""
    run = training("(setsid sleep 600 &)\necho done")
    run.begin()
    wait_until(lambda: run.follow()["has_ended"])
    monkeypatch.setattr(processes, "_KILL_SECONDS", 0.1)
    with monkeypatch.context() as deaf:
        deaf.setattr(processes.os, "kill", lambda _pid, _number: None)
        assert "finished" not in run.follow(finish_grace_seconds=0)
    assert "finished" in run.follow(finish_grace_seconds=5)
