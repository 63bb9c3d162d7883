"""The board's entry for each state of a Slurm job; scontrol and sacct print real ones' output."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.slurm.desk import ID_NAME, SECRETS_NAME
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.end import note_end
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.job import SlurmJob
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.script import JOB_LOG
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.first_cause import first_failure, was_interrupted

NODES = ("gpu01", "gpu02", "gpu03")
# On gpu02 an older reason, which the job has nothing to do with.
SHOWN_NODES = """\
NodeName=gpu01 State=IDLE
NodeName=gpu02 State=IDLE+DRAIN Reason=fan 3 [ops@2026-11-20T00:00:00]
NodeName=gpu03 State={state} Reason=Not responding [root@2026-11-22T14:12:54]
"""


class Run:
    """A run whose nodes trained, and a Slurm that knows how its job ended."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.board = folder / "run", Board(folder / "run")
        self.folder.mkdir()
        (self.folder / ID_NAME).write_text("7\n")
        (self.folder / SECRETS_NAME).write_text("{}")
        for node in NODES:
            self.board.update(node, status="running", node_rank=NODES.index(node))

    def ends(self, state: str, node_state: str = "ALLOCATED", sacct: str = "exit 1", more: str = "") -> list[str]:
        fields = f"JobId=7 JobState={state} Reason=None NodeList=gpu[01-03] StartTime=2026-11-22T14:00:00 {more}"
        shown = SHOWN_NODES.format(state=node_state)
        step = '*step*) echo "Job step 7.2 not found"; exit 1 ;;'
        script = f'case "$*" in {step} *node*) cat <<"E"\n{shown}E\n;; *) echo "{fields}";; esac'
        for name, lines in (("scontrol", script), ("sacct", sacct), ("scancel", f"echo $* >>{self.folder}/scancelled")):
            path = self.folder.parent / name
            path.write_text(f"#!/bin/bash\n{lines}\n")
            path.chmod(0o755)
        return note_end(SlurmJob(self.folder), self.board, NODES)

    def statuses(self) -> list[Any]:
        return [self.board.status(node) for node in NODES]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return Run(tmp_path)


@pytest.mark.parametrize(
    ("state", "failure", "told", "remedy"),
    [
        ("TIMEOUT", "time_limit", "it reached its time limit", "--time"),
        ("DEADLINE", "time_limit", "it reached its deadline", "--time"),
        ("OUT_OF_MEMORY", "host_memory", "more memory than Slurm gave it", "--mem"),
        ("BOOT_FAIL", "node_failure", "a node did not boot", "sinfo -R"),
        ("LAUNCH_FAILED", "node_failure", "could not start it on every node", "sinfo -R"),
    ],
)
def test_an_end_that_slurm_brought_about_is_the_first_failure(
    run: Run, state: str, failure: str, told: str, remedy: str
) -> None:
    assert run.ends(state) == []
    first = first_failure(run.statuses())
    assert first
    assert first["class"] == failure
    assert told in first["message"]
    assert f"ended as {state}" in first["message"]
    assert remedy in first["remedy"]
    assert not (run.folder / SECRETS_NAME).exists()


def test_the_node_that_slurm_lost_is_the_one_that_failed(run: Run) -> None:
    run.ends("NODE_FAIL", "DOWN+NOT_RESPONDING")
    first = first_failure(run.statuses())
    assert first
    assert (first["node"], first["class"]) == ("gpu03", "node_failure")
    assert "gpu03: Slurm took it out of service: Not responding (root)" in first["message"]
    assert "fan 3" not in first["message"]


@pytest.mark.parametrize("known", ["unreachable", "bad_answer"])
def test_what_is_known_of_another_node_than_the_lost_one_stays(run: Run, known: str) -> None:
    run.board.update("gpu01", status=known)
    run.ends("NODE_FAIL", "DOWN+NOT_RESPONDING")
    assert [status["status"] for status in run.statuses()] == [known, "stopped", "killed"]


@pytest.mark.parametrize(
    ("state", "more", "told"),
    [
        ("CANCELLED", "", "it was cancelled"),
        ("PREEMPTED", "", "a job of higher priority took its nodes. "),
        ("PENDING", "Restarts=1", "ended as REQUEUED: Slurm requeued it"),
        ("RUNNING", "Restarts=1", "ended as REQUEUED: Slurm requeued it"),
    ],
)
def test_an_end_that_somebody_brought_about_is_no_failure(run: Run, state: str, more: str, told: str) -> None:
    run.ends(state, more=more)
    assert was_interrupted(run.statuses())
    assert first_failure(run.statuses()) is None
    assert all(told in status["message"] for status in run.statuses())
    assert (run.folder / "scancelled").exists() == bool(more)


def test_who_cancelled_a_job_is_named_where_the_accounting_knows(run: Run) -> None:
    run.ends("CANCELLED", sacct=f"echo 'CANCELLED by {os.getuid()}'")
    assert f"it was cancelled by {pwd.getpwuid(os.getuid()).pw_name}" in run.statuses()[0]["message"]
    run.ends("CANCELLED", sacct="echo 'CANCELLED by 987654'")
    assert "it was cancelled by user 987654" in run.statuses()[0]["message"]


@pytest.mark.parametrize(
    ("state", "sacct", "log", "told"),
    [
        ("TIMEOUT", "exit 1", "", "step 7.2 ended as TIMEOUT: it reached its time limit"),
        ("RUNNING", "echo OUT_OF_MEMORY", "", "step 7.2 ended as OUT_OF_MEMORY: it used more memory"),
        ("RUNNING", "echo 'CANCELLED by 0'", "", "step 7.2 ended as CANCELLED: it was cancelled by root"),
        ("RUNNING", "exit 1", "slurmstepd: error: *** STEP 7.2 ON gpu01 CANCELLED AT 2026", "7.2 ended as CANCELLED"),
        ("COMPLETED", "exit 1", "slurmstepd: error: *** STEP 7.2 ON gpu01 CANCELLED AT", "7.2 ended as CANCELLED"),
        ("RUNNING", "exit 1", "slurmstepd: error: *** STEP 7.1 ON gpu01 CANCELLED AT", "no longer knows the step"),
    ],
)
def test_a_step_that_slurm_has_forgotten_ended_as_its_allocation_the_accounting_or_its_log_says(
    run: Run, state: str, sacct: str, log: str, told: str
) -> None:
    (run.folder / ID_NAME).write_text("7.2\n")
    (run.folder / JOB_LOG).write_text(log)
    run.ends(state, sacct=sacct)
    assert told in SlurmJob(run.folder).end_in_words()


@pytest.mark.parametrize(
    ("log", "named"),
    [
        ("srun: error: Unable to create step for job 7: Job credential expired", "slurm_start"),
        ("job.sh: line 18: 28528 Killed                  | srun --label --nodes=3", "unreachable"),
    ],
    ids=["the tasks never began", "somebody kills srun, which is no failure of a node"],
)
def test_a_job_without_its_nodes_failed_of_what_its_log_says(run: Run, log: str, named: str) -> None:
    for node in NODES:
        run.board.update(node, status="unreachable")
    (run.folder / JOB_LOG).write_text(log + "\n")
    run.ends("FAILED")
    first = first_failure(run.statuses())
    assert first
    assert first["class"] == named


def test_what_a_job_says_is_plain_text(run: Run) -> None:
    for node in NODES:
        run.board.update(node, status="unreachable")
    (run.folder / JOB_LOG).write_text(
        "srun: error: Unable to create step for job 7: \x1b]0;owned\x07Job \u202ecredential\n"
    )
    run.ends("FAILED")
    first = first_failure(run.statuses())
    assert first
    assert first["message"] == "srun: error: Unable to create step for job 7: Job \ufffdcredential"


def test_a_failure_of_the_training_stays_what_it_is_and_a_drained_node_is_told_of(run: Run) -> None:
    for node in NODES:
        run.board.update(node, status="exited", exit_status=1)
    (run.folder / JOB_LOG).write_text("srun: error: gpu01: task 0: Exited with exit code 1\n")
    assert run.ends("FAILED", "MIXED+DRAIN") == ["gpu03: Slurm took it out of service: Not responding (root)"]
    assert all(status["status"] == "exited" for status in run.statuses())
