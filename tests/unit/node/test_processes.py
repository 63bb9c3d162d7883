from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid

import pytest
from real_training import wait_until

from ansible_collections.trainops.cluster.plugins.module_utils.node import processes
from ansible_collections.trainops.cluster.plugins.module_utils.node.processes import (
    end_members,
    labels,
    members,
    runs_here,
    start_time,
)

NODE = "gpu00"


@pytest.fixture
def run_id():
    """Return a run_id that no other process has; processes with it at the end are killed."""
    run_id = f"run-{uuid.uuid4().hex}"
    yield run_id
    for pid in members(run_id, NODE):
        os.kill(pid, signal.SIGKILL)


def started(run_id: str, *command: str, node: str = NODE) -> subprocess.Popen[bytes]:
    environment = {"PATH": os.environ["PATH"], **labels(run_id, node)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    wait_until(lambda: process.pid in members(run_id, node))
    return process


def test_the_members_of_a_run_are_all_that_inherited_its_labels(run_id):
    parent = started(run_id, "bash", "-c", "setsid sleep 1000 & wait")
    found = wait_until(lambda: len(found := set(members(run_id, NODE))) >= 2 and found)
    assert parent.pid in found
    assert os.getpid() not in found


def test_a_process_of_the_same_run_on_another_node_of_this_machine_is_no_member(run_id):
    other = started(run_id, "sleep", "1000", node="gpu01")
    assert list(members(run_id, NODE)) == []
    assert end_members(run_id, NODE, 0) is False
    assert other.poll() is None
    other.kill()
    other.wait()


def test_a_process_of_the_same_run_in_another_cluster_that_this_machine_stands_for_is_no_member(run_id):
    environment = {"PATH": os.environ["PATH"], **labels(run_id, NODE), "TRAINOPS_LOCK_FOLDER": "/elsewhere"}
    other = subprocess.Popen(["sleep", "1000"], env=environment)
    started(run_id, "sleep", "1000")
    assert other.pid not in members(run_id, NODE)
    other.kill()
    other.wait()


def test_a_cluster_is_the_same_by_any_name_of_its_folder(own_machine, run_id, tmp_path):
    (tmp_path / "name").symlink_to(own_machine)
    environment = {"PATH": os.environ["PATH"], **labels(run_id, NODE), "TRAINOPS_LOCK_FOLDER": str(tmp_path / "name")}
    other = subprocess.Popen(["sleep", "1000"], env=environment)
    wait_until(lambda: other.pid in members(run_id, NODE))
    other.kill()
    other.wait()


def test_a_process_that_executes_one_program_after_another_shows_its_whole_label_or_none(run_id):
    long = run_id + "r" * 100_000
    environment = {"PATH": os.environ["PATH"], **dict(reversed(labels(long, NODE).items()))}
    again = "import os, sys; n = int(sys.argv[1]); n and os.execv(sys.executable, [*sys.orig_argv[:-1], str(n - 1)])"
    process = subprocess.Popen([sys.executable, "-S", "-E", "-c", again, "100"], env=environment)
    seen = set()
    while process.poll() is None:
        seen.update(found for found in runs_here() if found in long)
    assert seen == {long}


def test_an_ended_process_that_nobody_has_waited_for_is_gone(run_id):
    process = started(run_id, "sleep", "1000")
    assert start_time(process.pid) is not None
    process.kill()
    wait_until(lambda: start_time(process.pid) is None)
    assert list(members(run_id, NODE)) == []
    process.wait()
    assert start_time(process.pid) is None


def test_a_start_time_tells_two_processes_apart_whatever_they_are_called():
    here = start_time(os.getpid())
    assert here == start_time(os.getpid())
    code = "import ctypes; ctypes.CDLL(None).prctl(15, b') S 0 (', 0, 0, 0); print(flush=True); input()"
    renamed = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    renamed.stdout.readline()
    assert int(start_time(renamed.pid)) >= int(here)
    renamed.communicate(b"\n")


@pytest.mark.parametrize(
    ("trap", "grace_seconds", "end"),
    [("exit 3", 60, 3), ("", 0.2, -signal.SIGKILL)],
    ids=["what listens to SIGTERM ends by itself", "what does not is killed after the grace"],
)
def test_ending_asks_first(trap, grace_seconds, end, run_id):
    process = started(run_id, "bash", "-c", f"trap '{trap}' TERM; echo ready; while :; do sleep 0.05; done")
    assert process.stdout.readline() == b"ready\n"
    assert end_members(run_id, NODE, grace_seconds) is True
    assert list(members(run_id, NODE)) == []
    assert process.wait() == end


def test_ending_nothing_tells_so(run_id):
    assert end_members(run_id, NODE, 30) is False


def test_a_process_that_one_look_misses_is_ended_all_the_same(monkeypatch):
    """Like a process that executes another program, and so shows no environment."""
    looks = iter([[1], [], [2], [], []])
    killed = []
    monkeypatch.setattr(processes, "members", lambda *_of: next(looks))
    monkeypatch.setattr(processes.os, "kill", lambda pid, number: killed.append((pid, number)))
    assert processes.end_members("run-1", "gpu00", grace_seconds=0)
    assert killed == [(1, signal.SIGTERM), (2, signal.SIGKILL)]
    assert next(looks, None) is None


def test_what_one_look_misses_is_asked_too_and_what_is_started_to_end_well_is_not(monkeypatch):
    looks = iter([[1], [1, 2, 3], [2, 3], [], []])
    killed = []
    monkeypatch.setattr(processes, "members", lambda *_of: next(looks))
    monkeypatch.setattr(processes, "start_time", lambda pid: {2: "999"}.get(pid, "1000"))
    monkeypatch.setattr(processes.time, "clock_gettime", lambda _clock: 1000.9 / os.sysconf("SC_CLK_TCK"))
    monkeypatch.setattr(processes.os, "kill", lambda pid, number: killed.append((pid, number)))
    assert processes.end_members("run-1", "gpu00", grace_seconds=60)
    assert killed == [(1, signal.SIGTERM), (2, signal.SIGTERM)]
    assert next(looks, None) is None
