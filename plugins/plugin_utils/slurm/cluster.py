# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a cluster of Slurm can start a job: every fault of the job, by the cluster's own tables and sbatch.

Formats: https://slurm.schedmd.com/scontrol.html (show partition, show reservation) and
https://slurm.schedmd.com/sinfo.html (%N, %T, %f, %G)
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..contracts import Finding, SlurmJob
from ..plan.config.findings import Findings
from ..plan.job.options import SLURM, SRUN
from ..text.words import counted, listed
from .commands import NoSlurmError, SlurmError, allocation_of, associations, fields, run_slurm, seconds_of
from .hostlist import expand_hostlist

Fields = Mapping[str, str]
_NO_LIMIT = ("", "UNLIMITED", "INFINITE", "NONE", "(null)", "ALL")
_OUT = re.compile("down|drain|fail|maint|power|unknown", re.IGNORECASE)
# A type may be digits, too; whether the last part is a count, its form says.
_GRES = re.compile(
    r"([^:,=\s]+)(?:[:=](?!\d+[kmgtp]?(?:,|$))([^:,=\s]+))?(?:[:=](\d+)([kmgtp]?))?(?=,|$)", re.IGNORECASE
)
_SUFFIXES = " kmgtp"
_SHOWN = 12
# sbatch's message on a job that may begin once nodes are back.
_MAY_WAIT = "Requested node configuration is not available"


@dataclass(frozen=True)
class Group:
    """Nodes of a partition that are alike: their state, their features and their generic resources."""

    nodes: frozenset[str]
    state: str
    features: frozenset[str]
    gres: str


@dataclass(frozen=True)
class Cluster:
    """What Slurm reports; ``accounts`` and ``qos`` are the user's, None if they cannot be queried."""

    partitions: Sequence[Fields]
    reservations: Sequence[Fields] = ()
    groups: Mapping[str, Sequence[Group]] = field(default_factory=dict)
    accounts: frozenset[str] | None = None
    qos: frozenset[str] | None = None


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
        note("training_launcher", launcher, f"Slurm reports: {error}.", "Fix the cause in this message.")
    found = findings.as_dict()
    return found["faults"], found["warnings"]


def nodes_for(job: SlurmJob, excluded: str) -> int | None:
    """Return how many nodes an allocation has left without the excluded ones; None if Slurm chooses the nodes."""
    if "allocation" not in job:
        return None
    with contextlib.suppress(SlurmError):
        return nodes_left(_allocation(job), excluded)
    return None


def _allocation(job: SlurmJob) -> dict[str, str]:
    """Return Slurm's data on the job whose nodes a run takes; nothing if no job is set."""
    run_slurm("srun", "--version")
    number = allocation_of(job["allocation"])
    return fields(run_slurm("scontrol", "--oneliner", "show", "job", number)) if number else {}


def _cluster() -> Cluster:
    partitions = run_slurm("scontrol", "--oneliner", "show", "partition")
    reservations = run_slurm("scontrol", "--oneliner", "show", "reservation")
    groups = run_slurm("sinfo", "--noheader", "--format=%R|%T|%f|%G|%N")
    accounts, qos = associations()
    return Cluster(
        [fields(line) for line in partitions.splitlines()],
        [fields(line) for line in reservations.splitlines()],
        groups_of(groups.splitlines()),
        accounts,
        qos,
    )


def groups_of(lines: Iterable[str]) -> dict[str, list[Group]]:
    """Return the node groups of each partition from the output of ``sinfo --noheader --format=%R|%T|%f|%G|%N``."""
    found: dict[str, list[Group]] = {}
    for line in lines:
        partition, state, features, gres, nodes = [*line.strip().split("|"), "", "", "", ""][:5]
        group = Group(_nodes(nodes), state, frozenset(_listed(features)), gres)
        found.setdefault(partition, []).append(group)
    return found


def note_faults(sbatch: Mapping[str, str], cluster: Cluster, findings: Findings) -> None:
    """Report everything that a job with these sbatch options cannot get; ``nodes`` is the number of nodes."""
    partition = _partition(sbatch.get("partition", ""), cluster, findings)
    _note_reservation(sbatch, cluster, findings)
    for option, known in (("account", cluster.accounts), ("qos", cluster.qos)):
        _note_association(option, sbatch.get(option, ""), known, partition or {}, findings)
    if partition:
        name = partition["PartitionName"]
        _note_time(sbatch.get("time", ""), partition, findings)
        _note_size(int(sbatch["nodes"]), partition, findings)
        _note_nodes(sbatch, name, cluster.groups.get(name, ()), findings)


def note_allocation(sbatch: Mapping[str, str], job: Fields, findings: Findings) -> None:
    """Report, from Slurm's data, why a step with these sbatch options cannot start in an existing job."""
    key, wanted = "training_launcher", int(sbatch["nodes"])
    if not job:
        remedy = "Run Ansible inside an allocation of salloc."
        findings.fault(key, SRUN, "There is no allocation: neither SLURM_JOB_ID nor training_slurm_job is set.", remedy)
        return
    name, state = f"Job {job.get('JobId')}", job.get("JobState")
    if state != "RUNNING":
        findings.fault(key, SRUN, f"{name} of Slurm is {state}, so it cannot start steps.", "Use a running job.")
        return
    left = nodes_left(job, sbatch.get("exclude", ""))
    if left < wanted:
        of = " left by training_slurm_exclude" if "exclude" in sbatch else ""
        message = f"{name} of Slurm has {counted(left, 'node')}{of}, but the run needs {wanted}."
        findings.fault("training_slurm_nodes", wanted, message, "Use fewer nodes, or a larger allocation.")


def nodes_left(job: Fields, excluded: str) -> int:
    """Return how many nodes a job has according to Slurm, without the excluded ones."""
    return len(_nodes(job.get("NodeList", "")) - _nodes(excluded))


def _partition(name: str, cluster: Cluster, findings: Findings) -> Fields | None:
    key = "training_slurm_partition"
    known = {one["PartitionName"]: one for one in cluster.partitions if "PartitionName" in one}
    if not name:
        found = next((one for one in known.values() if one.get("Default") == "YES"), None)
        if not found:
            findings.fault(key, None, "The cluster has no default partition.", f"Set one: {_few(known)}.")
        return found
    # Slurm accepts a list of partitions, and uses the first free one.
    names = name.split(",")
    for unknown in (one for one in names if one not in known):
        findings.fault(key, name, f"The cluster has no partition {unknown}.", f"Use one of {_few(known)}.")
    if any(one not in known for one in names):
        return None
    for closed in (one for one in names if known[one].get("State", "UP") != "UP"):
        state = known[closed]["State"]
        findings.fault(key, name, f"Partition {closed} is {state}: it starts no jobs.", "Use another one.")
    return known[names[0]] if len(names) == 1 else None


def _note_association(
    option: str, asked: str, known: frozenset[str] | None, partition: Fields, findings: Findings
) -> None:
    key, title = f"training_slurm_{option}", {"account": "account", "qos": "QOS"}[option]
    if not asked:
        return
    if known is not None and asked not in known:
        findings.fault(key, asked, f"You have no access to {title} {asked}.", f"Use one of {_few(known)}.")
        return
    name = {"account": "Accounts", "qos": "Qos"}[option]
    allowed, denied = partition.get(f"Allow{name}", ""), _listed(partition.get(f"Deny{name}", ""))
    where = partition.get("PartitionName")
    if allowed not in _NO_LIMIT and asked not in _listed(allowed):
        message = f"Partition {where} does not accept jobs of {title} {asked}."
        findings.fault(key, asked, message, f"Use one of {_few(_listed(allowed))}, or another partition.")
    if asked in denied:
        findings.fault(key, asked, f"Partition {where} denies {title} {asked}.", "Use another one.")


def _note_reservation(sbatch: Mapping[str, str], cluster: Cluster, findings: Findings) -> None:
    key, name = "training_slurm_reservation", sbatch.get("reservation", "")
    known = {one["ReservationName"]: one for one in cluster.reservations if "ReservationName" in one}
    if not name:
        return
    if name not in known:
        now = f"It currently has {_few(known)}." if known else "It currently has none."
        findings.fault(key, name, f"The cluster has no reservation {name}. {now}", "Fix the name, or leave it out.")
        return
    count = known[name].get("NodeCnt", "")
    if count.isdigit() and int(count) < int(sbatch["nodes"]):
        message = f"Reservation {name} has {count} nodes, but the job needs {sbatch['nodes']}."
        findings.fault(key, name, message, "Use fewer nodes, or another reservation.")


def _note_time(asked: str, partition: Fields, findings: Findings) -> None:
    limit = partition.get("MaxTime", "")
    if not asked or limit in _NO_LIMIT:
        return
    most, seconds = seconds_of(limit), seconds_of(asked)
    if most is not None and seconds is not None and seconds > most:
        message = f"Partition {partition['PartitionName']} ends jobs after {limit} (days-hours:minutes:seconds)."
        findings.fault("training_slurm_time_limit", asked, message, "Ask for less, or use another partition.")


def _note_size(nodes: int, partition: Fields, findings: Findings) -> None:
    name, most, least = partition["PartitionName"], partition.get("MaxNodes", ""), partition.get("MinNodes", "")
    if most.isdigit() and nodes > int(most):
        message = f"A job in partition {name} may have at most {most} nodes, but this one needs {nodes}."
        findings.fault("training_slurm_nodes", nodes, message, "Use fewer nodes, or another partition.")
    if least.isdigit() and nodes < int(least):
        message = f"A job in partition {name} must have at least {least} nodes, but this one has {nodes}."
        findings.fault("training_slurm_nodes", nodes, message, "Use more nodes, or another partition.")


def _note_nodes(sbatch: Mapping[str, str], partition: str, groups: Sequence[Group], findings: Findings) -> None:
    """Report conditions that leave too few nodes in a partition: each one separately, then all together."""
    if not groups:
        return
    wanted = int(sbatch["nodes"])
    excluded = _nodes(sbatch.get("exclude", ""))
    left = [(group, group.nodes - excluded) for group in groups]
    constraint = sbatch.get("constraint", "")
    features = set(re.findall(r"[\w.:-]+", re.sub(r"\*\d+", "", constraint)))
    known = frozenset().union(*(group.features for group in groups))
    if unknown := sorted(features - known):
        message = f"No node in partition {partition} has the feature {_few(unknown)}."
        findings.fault("training_slurm_constraint", constraint, message, f"Its nodes have {_few(known)}.")
        return
    if re.fullmatch(r"[\w.:&-]+", constraint):
        left = [(group, nodes) for group, nodes in left if features <= group.features]
    if gres := sbatch.get("gres"):
        left = [(group, nodes) for group, nodes in left if _has_gres(gres, group.gres)]
        if not left:
            has = _few({group.gres for group in groups})
            message = (
                f"No node in partition {partition}{' that meets the constraint' if constraint else ''} has {gres}."
            )
            findings.fault("training_slurm_gres", gres, message, f"Its nodes have {has}.")
            return
    # A node may be in several groups while its state changes.
    fitting, in_service = (
        len(frozenset().union(*(nodes for _group, nodes in some)))
        for some in (left, [one for one in left if not _OUT.search(one[0].state)])
    )
    conditions = [name for name in ("constraint", "gres", "exclude") if sbatch.get(name)]
    what = f" that meet the job's {', '.join(conditions)}" if conditions else ""
    if fitting < wanted:
        message = f"Partition {partition} has {fitting} nodes{what}, but the job needs {wanted}."
        findings.fault("training_slurm_nodes", wanted, message, "Use fewer nodes, or another partition.")
    elif in_service < wanted:
        message = f"Of the {fitting} nodes in partition {partition}{what}, {in_service} are in service now."
        findings.warn("training_slurm_nodes", wanted, message, "The job will wait; sinfo -R shows why.")


def _has_gres(asked: str, has: str) -> bool:
    """Return whether a node has all requested generic resources, for example gpu:8 and gpu:mi300x:8(S:0-1)."""
    counts: dict[tuple[str, str], int] = {}
    for name, kind, count in _gres_of(has):
        for key in dict.fromkeys([(name, kind), (name, "")]):
            counts[key] = counts.get(key, 0) + count
    return all(counts.get((name, kind), 0) >= count for name, kind, count in _gres_of(asked))


def _gres_of(text: str) -> list[tuple[str, str, int]]:
    """Return name, type (or nothing) and count of each resource, as in gpu:1g.10gb:7(S:0-1) and tmp:lustre:4K."""
    bare = re.sub(r"\([^)]*\)|:no_consume|\bgres/", "", text)
    return [
        (name, kind, int(count or 1) * 1024 ** _SUFFIXES.index(suffix.lower() or " "))
        for name, kind, count, suffix in _GRES.findall(bare)
    ]


def _nodes(hostlist: str) -> frozenset[str]:
    with contextlib.suppress(ValueError):
        return frozenset(expand_hostlist(hostlist))
    return frozenset()


def _listed(text: str) -> list[str]:
    return [] if text in _NO_LIMIT else [one.strip() for one in text.split(",")]


def _few(names: Collection[str]) -> str:
    return listed(sorted(names), _SHOWN) if names else "none"
