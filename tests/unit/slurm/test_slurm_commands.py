"""The output of Slurm's commands, and how it is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.commands import (
    has_pyxis,
    nodes_of,
    seconds_of,
    switches,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.hostlist import expand_hostlist

# Output of scontrol of Slurm 22.05, shortened.
RESERVATION = (
    "ReservationName=acceptance StartTime=2026-03-14T11:21:43 EndTime=2026-03-14T12:21:43 Duration=01:00:00 "
    "Nodes=gpu[02-05] NodeCnt=4 CoreCnt=4 Flags=MAINT,SPEC_NODES TRES=cpu=4 Users=root State=ACTIVE\n"
)
RUNNING = (
    "JobId=7 JobName=train JobState=RUNNING Reason=None ReqNodeList=(null) ExcNodeList=(null) NodeList=gpu[01-02]\n"
)
WAITING = "JobId=8 JobName=train JobState=PENDING ReqNodeList=gpu01 ExcNodeList=(null) NodeList= NumNodes=2-2\n"
TOPOLOGY = """\
SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=gpu[01,03]
SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=gpu[02,04]
SwitchName=spine Level=1 LinkSpeed=1 Nodes=gpu[01-04] Switches=leaf[1-2]
"""


def test_the_nodes_of_a_job_and_of_a_reservation() -> None:
    assert nodes_of(RUNNING, "job", "7") == "gpu[01-02]"
    assert nodes_of(RESERVATION, "reservation", "acceptance") == "gpu[02-05]"


def test_a_job_that_waits_has_no_nodes() -> None:
    with pytest.raises(ValueError, match="the job 8 has no nodes: its state is PENDING"):
        nodes_of(WAITING, "job", "8")


def test_each_node_has_its_switches_from_the_outermost_on() -> None:
    above = switches(TOPOLOGY, expand_hostlist)
    assert above["gpu03"] == ("spine", "leaf1")
    assert above["gpu02"] == ("spine", "leaf2")
    assert len(above) == 4


def test_switches_that_stand_above_each_other_end() -> None:
    loop = "SwitchName=a Level=0 Nodes=n1 Switches=b\nSwitchName=b Level=1 Switches=a\n"
    assert switches(loop, expand_hostlist) == {"n1": ("b", "a")}


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [("90", 5400), ("1:30", 90), ("01:30:00", 5400), ("1-12", 129600), ("1-00:30", 88200), ("2-1:2:3", 176523)],
)
def test_times_are_read_as_slurm_reads_them(limit: str, seconds: int) -> None:
    assert seconds_of(limit) == seconds


def test_pyxis_is_seen_by_the_help_of_srun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    srun = tmp_path / "srun"
    srun.write_text("#!/bin/sh\necho '      --container-image=[USER@][REGISTRY#]IMAGE[:TAG]|PATH'\n")
    srun.chmod(0o755)
    assert has_pyxis()
    srun.write_text("#!/bin/sh\necho '  --mpi=type'\n")
    assert not has_pyxis()
