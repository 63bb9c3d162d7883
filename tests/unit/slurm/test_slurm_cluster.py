"""Settings that cannot work according to a Slurm cluster: each is one fault, and all are reported at once.

The commands of Slurm print real ones' output.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.contracts import SlurmJob
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.findings import Findings
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.cluster import (
    Cluster,
    groups_of,
    note_allocation,
    note_faults,
    refused,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.commands import has_pyxis

PARTITIONS = [
    {"PartitionName": "all", "Default": "YES", "State": "UP", "MaxTime": "UNLIMITED", "AllowAccounts": "ALL"},
    {"PartitionName": "gpu", "State": "UP", "MaxTime": "1-00:00:00", "MaxNodes": "6", "MinNodes": "2"},
    {"PartitionName": "closed", "State": "DOWN", "MaxTime": "UNLIMITED"},
    {"PartitionName": "shared", "State": "UP", "AllowQos": "normal"},
    {"PartitionName": "ours", "State": "UP", "AllowAccounts": "llm,vision", "DenyQos": "scavenger"},
]
NODES = """\
gpu|idle|mi300x,rack1|gpu:mi300x:8(S:0-1)|gpu[01-04]
gpu|allocated|mi300x,rack2|gpu:mi300x:8|gpu[05-06]
gpu|drained|mi355x,rack2|gpu:mi355x:8|gpu[07-08]
"""
CLUSTER = Cluster(
    PARTITIONS,
    [{"ReservationName": "week47", "NodeCnt": "2", "State": "ACTIVE"}],
    groups_of(NODES.splitlines()),
    accounts=frozenset({"llm"}),
)


def found(cluster: Cluster = CLUSTER, nodes: int = 4, **sbatch: str) -> Findings:
    findings = Findings()
    note_faults({"nodes": str(nodes), **sbatch}, cluster, findings)
    return findings


@pytest.mark.parametrize(
    ("sbatch", "key", "told"),
    [
        ({"partition": "gpus"}, "partition", "no partition gpus"),
        ({"partition": "closed"}, "partition", "Partition closed is DOWN"),
        ({"partition": "gpu,closed"}, "partition", "Partition closed is DOWN"),
        ({"partition": "gpu", "time": "2-0"}, "time_limit", "ends jobs after 1-00:00:00"),
        ({"partition": "gpu", "time": "1441"}, "time_limit", "ends jobs after 1-00:00:00"),
        ({"partition": "gpu", "nodes": 7}, "nodes", "may have at most 6 nodes"),
        ({"partition": "gpu", "nodes": 1}, "nodes", "must have at least 2 nodes"),
        ({"account": "vision"}, "account", "You have no access to account vision"),
        ({"partition": "shared", "qos": "urgent"}, "qos", "Partition shared does not accept jobs of QOS urgent"),
        ({"partition": "ours", "qos": "scavenger"}, "qos", "Partition ours denies QOS scavenger"),
        ({"reservation": "week48"}, "reservation", "no reservation week48. It currently has week47"),
        ({"reservation": "week47"}, "reservation", "has 2 nodes, but the job needs 4"),
        ({"partition": "gpu", "constraint": "h100"}, "constraint", "has the feature h100"),
        ({"partition": "gpu", "constraint": "mi300x&rack2"}, "nodes", "has 2 nodes that meet the job's constraint"),
        ({"partition": "gpu", "gres": "gpu:16"}, "gres", "No node in partition gpu has gpu:16"),
        ({"partition": "gpu", "gres": "gpu:mi355x:8"}, "nodes", "has 2 nodes that meet the job's gres"),
        ({"partition": "gpu", "exclude": "gpu[01-05]"}, "nodes", "has 3 nodes that meet the job's exclude"),
    ],
)
def test_what_cannot_work_is_one_fault_with_what_would(sbatch: dict[str, Any], key: str, told: str) -> None:
    (fault,) = found(**sbatch).faults
    assert fault["key"] == f"training_slurm_{key}"
    assert told in fault["message"]
    assert fault["remedy"]


@pytest.mark.parametrize(
    ("asked", "has", "fits"),
    [
        ("gpu:mi300x:8", "gpu:mi300x:8(S:0-1)", True),
        ("gpu:h100:8", "gpu:h100:8(S:0-1),nvme:1", True),
        ("gpu:nvidia_h100_80gb_hbm3:8", "gpu:nvidia_h100_80gb_hbm3:8(S:0-1)", True),
        ("gpu:3090:4", "gpu:3090:4", True),
        ("gpu:3090:8", "gpu:3090:4", False),
        ("gpu:1g.10gb:7", "gpu:1g.10gb:7(S:0)", True),
        ("gpu:7", "gpu:1g.10gb:7", True),
        ("gpu=8", "gpu:8", True),
        ("gpu:4", "gpu:a100:4(IDX:0-3),gpu:a100:4", True),
        ("bandwidth:lustre:4G", "bandwidth:lustre:no_consume:4G", True),
        ("bandwidth:lustre:4097M", "bandwidth:lustre:4G", False),
        ("bandwidth:4k", "bandwidth:4096", True),
        ("gpu:8", "(null)", False),
    ],
)
def test_generic_resources_are_read_as_slurm_writes_them(asked: str, has: str, fits: bool) -> None:
    cluster = Cluster(PARTITIONS, groups=groups_of([f"gpu|idle|(null)|{has}|gpu[01-04]"]))
    assert bool(found(cluster, partition="gpu", gres=asked).faults) != fits


def test_all_faults_come_at_once() -> None:
    findings = found(partition="gpu", time="9-0", account="x", reservation="y", constraint="z", nodes=7)
    assert [fault["key"].removeprefix("training_slurm_") for fault in findings.faults] == [
        "reservation",
        "account",
        "time_limit",
        "nodes",
        "constraint",
    ]


@pytest.mark.parametrize(
    "sbatch",
    [
        {},
        {"partition": "gpu", "time": "1-0", "constraint": "mi300x", "gres": "gpu:8", "exclude": "gpu01"},
        {"partition": "gpu", "constraint": "[rack1*2&rack2*2]"},
        {"partition": "gpu", "constraint": "rack1|rack2", "time": "90"},
        {"account": "llm", "partition": "ours"},
    ],
)
def test_what_can_work_is_not_refused(sbatch: dict[str, Any]) -> None:
    assert found(**sbatch).faults == []


def test_nodes_that_are_out_of_service_are_a_warning_as_they_may_come_back() -> None:
    findings = found(partition="gpu", gres="gpu:mi355x:8", nodes=2)
    assert findings.faults == []
    (warning,) = findings.warnings
    assert "Of the 2 nodes in partition gpu that meet the job's gres, 0 are in service now" in warning["message"]


def test_where_nobody_can_say_which_accounts_there_are_none_is_refused() -> None:
    assert found(Cluster(PARTITIONS), account="any", qos="any").faults == []


def test_a_cluster_without_a_default_partition_asks_for_one() -> None:
    (fault,) = found(Cluster(PARTITIONS[1:])).faults
    assert "The cluster has no default partition" in fault["message"]


def test_no_line_of_slurm_is_too_odd_to_be_read() -> None:
    assert groups_of(["", "gpu", "gpu|idle|(null)|(null)|gpu[", "a|b|c|d|e|f"])


HELD = {"JobId": "7", "JobState": "RUNNING", "NodeList": "gpu[01-04]"}


@pytest.mark.parametrize(
    ("job", "sbatch", "told"),
    [
        (HELD, {}, None),
        ({}, {}, "There is no allocation: neither SLURM_JOB_ID nor training_slurm_job is set."),
        ({**HELD, "JobState": "PENDING", "NodeList": "(null)"}, {}, "Job 7 of Slurm is PENDING"),
        ({**HELD, "NodeList": "gpu[01-02]"}, {}, "Job 7 of Slurm has 2 nodes, but the run needs 4."),
        ({**HELD, "NodeList": "gpu[01-03,099-1001]"}, {"exclude": "gpu[100-1001]"}, None),
        ({**HELD, "NodeList": "gpu[01-128]"}, {"exclude": "gpu[04-128]"}, "has 3 nodes left by training_slurm_exclude"),
        (HELD, {"exclude": "gpu[02-04,09]"}, "has 1 node left by training_slurm_exclude, but the run needs 4."),
    ],
)
def test_what_a_step_cannot_do_in_an_allocation(job: dict[str, str], sbatch: dict[str, str], told: str | None) -> None:
    findings = Findings()
    note_allocation({"nodes": "4", **sbatch}, job, findings)
    assert [str(told) in fault["message"] for fault in findings.faults] == ([True] if told else [])


SCONTROL = """\
case "$*" in
  *partition) echo "PartitionName=all AllowAccounts=ALL AllowQos=ALL Default=YES MaxTime=UNLIMITED State=UP" ;;
  *reservation) echo "No reservations in the system" ;;
  *config) echo "AccountingStorageEnforce = associations,limits,qos" ;;
esac
"""


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    command(tmp_path, "scontrol", SCONTROL)
    command(tmp_path, "sinfo", "echo 'all|idle|(null)|(null)|gpu[01-06]'")
    command(tmp_path, "sacctmgr", "printf 'llm|\\n'")
    command(tmp_path, "sbatch", "cat >/dev/null")
    return tmp_path


def command(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def job(**sbatch: str) -> SlurmJob:
    return {"script": "#!/bin/sh\n", "preflight": False, "sbatch": {"nodes": "3", **sbatch}}


def test_a_job_that_can_work_is_not_refused(slurm: Path) -> None:
    assert refused(job(account="llm", qos="normal")) == ([], [])
    command(slurm, "sacctmgr", "printf 'llm|normal\\nllm|urgent,normal\\n'")
    assert refused(job(account="llm", qos="urgent")) == ([], [])


def test_an_account_and_a_qos_of_somebody_else_are_faults(slurm: Path) -> None:
    command(slurm, "sacctmgr", "printf 'llm|normal\\n'")
    faults, _warnings = refused(job(account="vision", qos="urgent"))
    assert [fault["message"] for fault in faults] == [
        "You have no access to account vision.",
        "You have no access to QOS urgent.",
    ]


def test_without_accounting_nothing_is_said_of_accounts(slurm: Path) -> None:
    command(slurm, "sacctmgr", "echo 'You are not running a supported accounting_storage plugin' >&2; exit 1")
    assert refused(job(account="any")) == ([], [])


def test_what_slurm_says_may_be_no_utf_8(slurm: Path) -> None:
    command(slurm, "sbatch", "cat >/dev/null; printf 'no account caf\\351' >&2; exit 1")
    ((fault,), _warnings) = refused(job())
    assert fault["message"] == "Slurm reports: no account caf\ufffd."


def test_sbatch_has_the_last_word(slurm: Path) -> None:
    command(slurm, "sbatch", "cat >/dev/null; echo 'allocation failure: Invalid license specification' >&2; exit 1")
    ((fault,), _warnings) = refused(job())
    assert fault["message"] == "Slurm reports: allocation failure: Invalid license specification."
    command(slurm, "sbatch", "echo 'allocation failure: Requested node configuration is not available' >&2; exit 1")
    (faults, (warning,)) = refused(job())
    assert faults == []
    assert "is not available" in warning["message"]


@pytest.mark.usefixtures("slurm")
def test_a_machine_without_slurm_asks_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert refused(job(partition="any")) == ([], [])
    assert not has_pyxis()
