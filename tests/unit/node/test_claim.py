"""One run at a time on a machine, also where two come at once, and several nodes of one run."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import multiprocessing.queues
import multiprocessing.synchronize
import os
import shutil
import socket
import subprocess
import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest
from real_training import Training, processes_with, wait_until

from ansible_collections.trainops.cluster.plugins.module_utils.node.phase import NodeError, NodeHeldError
from ansible_collections.trainops.cluster.plugins.module_utils.node.phases import stop
from ansible_collections.trainops.cluster.plugins.module_utils.node.processes import labels

FOR_EVER = 'echo "$$" >>started\nwhile :; do sleep 0.1; done'
MakeTraining = t.Callable[..., Training]
_FORK = multiprocessing.get_context("fork")


def at_once(*actions: Callable[[], t.Any]) -> list[t.Any]:
    """Do actions in processes of their own that begin at the same moment; return the results, or the messages."""
    barrier, results = _FORK.Barrier(len(actions)), _FORK.Queue()

    def do(number: int, action: Callable[[], t.Any]) -> None:
        barrier.wait()
        try:
            results.put((number, action()))
        except (NodeError, ValueError) as error:
            results.put((number, str(error)))

    processes = [_FORK.Process(target=do, args=numbered) for numbered in enumerate(actions)]
    for process in processes:
        process.start()
    found = dict(results.get(timeout=60) for _ in processes)
    for process in processes:
        process.join()
    return [found[number] for number in range(len(actions))]


def launched(run: Training) -> int:
    """Return how many launch scripts of a run are there. Each leads a session of its own."""
    sessions = set()
    # Tests beside this one have runs of the same name, on other nodes.
    for pid in processes_with(f"TRAINOPS_RUN_ID={run.run_id}") & processes_with(run.mark):
        with contextlib.suppress(ProcessLookupError):
            sessions.add(os.getsid(pid))
    return len(sessions)


def test_of_two_starts_of_one_run_exactly_one_starts(training: MakeTraining) -> None:
    for number in range(6):
        run = training(FOR_EVER, run_id=f"run-{number}")
        run.stage()
        answers = at_once(run.start, run.start)
        assert sorted(answer["changed"] for answer in answers) == [False, True]
        assert [answer["status"] for answer in answers] == ["running", "running"]
        assert launched(run) == 1
        run.stop(grace_seconds=0)


@pytest.mark.parametrize(("late", "told"), [("stage", "not_started"), ("start", "stopped"), ("begin", "stopped")])
def test_a_stop_ends_also_what_is_staged_or_started_while_it_looks(
    late: str, told: str, training: MakeTraining, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that does so holds the machine, and the stop has to wait for it."""
    run = training(FOR_EVER)
    if late == "start":
        run.stage()
    under_way, locked = [getattr(run, late)], stop.machine_locked

    @contextlib.contextmanager
    def locked_after_them() -> t.Iterator[None]:
        while under_way:
            under_way.pop()()
        with locked():
            yield

    monkeypatch.setattr(stop, "machine_locked", locked_after_them)
    answer = run.stop(grace_seconds=0)
    assert (answer["changed"], answer["status"]) == (True, told)
    assert processes_with(run.mark) == set()
    assert training(run_id="run-2").stage()["status"] == "staged"


@pytest.mark.parametrize("other_name", [False, True], ids=["one inventory", "two inventories"])
def test_of_two_runs_exactly_one_starts_and_the_other_names_it(other_name: bool, training: MakeTraining) -> None:
    for number in range(6):
        runs = [training(FOR_EVER, run_id=f"run-{number}{letter}") for letter in "ab"]
        if other_name:
            runs[1].rename(f"{runs[1].node_name}-too")
        answers = at_once(*(lambda run=run: (run.stage(), run.start())[1] for run in runs))
        winner = next(place for place, answer in enumerate(answers) if isinstance(answer, dict))
        assert answers[winner] == {"changed": True, "status": "running"}
        assert f"the node is held by run {runs[winner].run_id}" in answers[1 - winner]
        # A process shows its labels once it has become the launch script.
        wait_until(lambda runs=runs, winner=winner: [launched(run) for run in runs] == [1 - winner, winner])
        runs[winner].stop(grace_seconds=0)


def test_nodes_of_one_run_share_a_machine_until_the_last_of_them_is_stopped(training: MakeTraining) -> None:
    first, second, other = training(FOR_EVER), training(FOR_EVER), training(run_id="run-2")
    second.rename(f"{second.node_name}-too")
    for run in (first, second):
        run.stage()
    for run in (first, second):
        assert run.start()["status"] == "running"
    for run in (first, second):
        with pytest.raises(NodeHeldError, match=r"held by run run-1\b"):
            other.stage()
        run.stop(grace_seconds=0)
    assert other.stage()["status"] == "staged"


def test_a_port_that_the_run_on_the_machine_uses_is_no_fault_of_the_machine(training: MakeTraining) -> None:
    run, other, third = training(FOR_EVER), training(run_id="run-2"), training(run_id="run-3")
    run.begin()
    with socket.socket() as taken:
        taken.bind(("", other.node["master_port"]))
        taken.listen()
        with pytest.raises(NodeHeldError, match=r"is not free here .*held by run run-1") as held:
            other.stage()
    assert (held.value.by, held.value.running) == (["run-1"], True)
    run.stop(grace_seconds=0)
    third.stage()
    with pytest.raises(NodeHeldError) as held:
        other.stage()
    assert (held.value.by, held.value.running) == (["run-3"], False)


def test_the_machine_is_looked_at_again_before_the_start(training: MakeTraining) -> None:
    run = training(FOR_EVER)
    run.stage()
    other = subprocess.Popen(["sleep", "1000"], env={**run.environment(), **labels("run-2", "any")})
    try:
        wait_until(lambda: other.pid in processes_with("TRAINOPS_RUN_ID=run-2"))
        with pytest.raises(NodeHeldError, match=r"held by run run-2\b"):
            run.start()
    finally:
        other.kill()
        other.wait()
    assert run.start()["status"] == "running"


def test_what_runs_is_not_started_again_where_its_start_was_not_recorded(training: MakeTraining) -> None:
    run = training(FOR_EVER)
    run.begin()
    state = Path(run.node["run_folder"], "state.json")
    state.write_text(json.dumps({**json.loads(state.read_text()), "status": "staged"}))
    with pytest.raises(ValueError, match=r"run run-1 is already running here, .*: process \d+ \(bash /"):
        run.start()
    assert launched(run) == 1


@pytest.mark.parametrize("lost", ["claim.json", "machine"])
def test_a_claim_that_is_lost_frees_no_machine_on_which_something_runs(
    lost: str, training: MakeTraining, own_machine: Path
) -> None:
    run = training(FOR_EVER)
    # Until then it executes one program after another, and shows no environment in between.
    run.begin_until("started")
    shutil.rmtree(own_machine) if lost == "machine" else (own_machine / lost).unlink()
    with pytest.raises(NodeError, match=r"held by run run-1\b"):
        training(run_id="run-2").stage()


def test_a_claim_whose_folders_are_gone_holds_nobody_off(training: MakeTraining) -> None:
    run = training()
    run.stage()
    shutil.rmtree(run.node["run_folder"])
    assert training(run_id="run-2").stage()["status"] == "staged"


def test_a_run_that_has_ended_since_anybody_looked_holds_nobody_off_and_keeps_its_exit_status(
    training: MakeTraining,
) -> None:
    run = training("exit 3")
    run.begin()
    wait_until(Path(run.node["run_folder"], "exit_status").exists)
    wait_until(lambda: not processes_with(run.mark))
    assert training(run_id="run-2").stage()["status"] == "staged"
    assert run.follow()["exit_status"] == 3


def test_check_mode_makes_nothing_on_the_machine(training: MakeTraining, own_machine: Path) -> None:
    training().stage(check_mode=True)
    assert not own_machine.exists()
