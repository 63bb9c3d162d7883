"""What Slurm is asked before a job is submitted; its commands print what real ones printed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.contracts import SlurmJob
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.slurm.cluster import has_pyxis, refused

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


def test_pyxis_is_seen_by_the_help_of_srun(slurm: Path) -> None:
    command(slurm, "srun", "echo '      --container-image=[USER@][REGISTRY#]IMAGE[:TAG]|PATH'")
    assert has_pyxis()
    command(slurm, "srun", "echo '  --mpi=type'")
    assert not has_pyxis()
