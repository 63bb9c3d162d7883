# SPDX-License-Identifier: GPL-3.0-or-later
"""Asking Slurm, before a job is submitted, whether it can work at all."""

from __future__ import annotations

import contextlib
import getpass
import os

from ...contracts import Finding, SlurmJob
from ...inventory.slurm import fields
from ...plan.config.findings import Findings
from ...plan.slurm.cluster import Cluster, groups_of, nodes_left, note_allocation, note_faults
from ...plan.slurm.options import SLURM, SRUN
from .job import ALLOCATION, NoSlurmError, SlurmError, run_slurm

# What sbatch says of a job that may begin once nodes are back.
_MAY_WAIT = "Requested node configuration is not available"


def refused(job: SlurmJob) -> tuple[list[Finding], list[Finding]]:
    """Return the faults and warnings of a job that Slurm could not start; none if there is no Slurm to ask.

    Slurm's own tables are checked first, completely; if they allow the job, sbatch judges it.
    """
    findings = Findings()
    try:
        if "allocation" in job:
            note_allocation(job["sbatch"], _allocation(job), findings)
        else:
            note_faults(job["sbatch"], _cluster(), findings)
            if not findings.faults:
                run_slurm("sbatch", "--test-only", script=job["script"])
    except NoSlurmError:
        return [], []
    except SlurmError as error:
        note = findings.warn if _MAY_WAIT in str(error) else findings.fault
        launcher = SRUN if "allocation" in job else SLURM
        note("training_launcher", launcher, f"Slurm reports: {error}.", "Fix what it names.")
    found = findings.as_dict()
    return found["faults"], found["warnings"]


def nodes_for(job: SlurmJob, excluded: str) -> int | None:
    """Return how many nodes an allocation has left without the excluded ones; None if Slurm chooses the nodes."""
    if "allocation" not in job:
        return None
    with contextlib.suppress(SlurmError):
        return nodes_left(_allocation(job), excluded)
    return None


def has_pyxis() -> bool:
    """Tell whether srun can make containers, as far as this machine knows."""
    with contextlib.suppress(SlurmError):
        return "--container-image" in run_slurm("srun", "--help")
    return False


def _allocation(job: SlurmJob) -> dict[str, str]:
    """Return what Slurm shows of the job whose nodes a run takes; nothing where none is named."""
    run_slurm("srun", "--version")
    number = job["allocation"] or os.environ.get(ALLOCATION)
    return fields(run_slurm("scontrol", "--oneliner", "show", "job", number)) if number else {}


def _cluster() -> Cluster:
    partitions = run_slurm("scontrol", "--oneliner", "show", "partition")
    reservations = run_slurm("scontrol", "--oneliner", "show", "reservation")
    groups = run_slurm("sinfo", "--noheader", "--format=%R|%T|%f|%G|%N")
    accounts, qos = _associations()
    return Cluster(
        [fields(line) for line in partitions.splitlines()],
        [fields(line) for line in reservations.splitlines()],
        groups_of(groups.splitlines()),
        accounts,
        qos,
    )


def _associations() -> tuple[frozenset[str] | None, frozenset[str] | None]:
    """Return the accounts and QOS of this user; None where Slurm has no accounting, or enforces none of it."""
    with contextlib.suppress(SlurmError):
        enforced = fields(run_slurm("scontrol", "show", "config").replace(" ", "")).get("AccountingStorageEnforce", "")
        if "associations" in enforced:
            shown = run_slurm(
                *("sacctmgr", "--noheader", "--parsable2", "show", "associations"),
                *(f"user={getpass.getuser()}", "format=account,qos"),
            )
            lines = [line.split("|") for line in shown.splitlines() if "|" in line]
            # One that names no QOS has those of the accounts above it.
            qos = frozenset(name for line in lines for name in line[1].split(",") if name)
            return frozenset(line[0] for line in lines), qos if qos and "qos" in enforced else None
    return None, None
