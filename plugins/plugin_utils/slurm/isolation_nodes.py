# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes of Slurm that an isolation tests: named ones, or all of a run, an allocation or a partition.

Formats: https://slurm.schedmd.com/scontrol.html, of ``show node``, ``show partition`` and ``show reservation``
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ..plan.job.options import SRUN, SlurmOptions
from ..text.words import counted, listed
from .commands import allocation_of, fields, reason_given, run_slurm
from .hostlist import expand_hostlist

# In these states Slurm starts nothing on a node until somebody or something brings it back.
_OUT = frozenset({"DOWN", "DRAIN", "DRAINED", "DRAINING", "ERROR", "FAIL", "FAILING", "NOT_RESPONDING", "UNKNOWN"})
# A state may end with a sign. A node with this one does not respond, and so gets no job; only later it is DOWN.
_SILENT = "*"
_NO_WORD = re.compile(r"[^A-Z_+]")
_FEATURES = re.compile(r"[\w.:-]+(?:&[\w.:-]+)*")
_SHOWN = 10


@dataclass(frozen=True)
class SlurmNode:
    """A node as Slurm shows it; ``out`` says why Slurm starts nothing there, and is empty where it does."""

    name: str
    address: str
    out: str
    is_idle: bool
    features: frozenset[str]


@dataclass(frozen=True)
class Wanted:
    """Which of the nodes that there are is wanted: those that are ``named``, if any, and so many at most, if not 0."""

    named: Sequence[str] = ()
    named_by: str = ""
    excluded: Collection[str] = ()
    constraint: str = ""
    count: int = 0


class Chosen(t.NamedTuple):
    """The addresses of the nodes to test, why other wanted nodes cannot be tested, and every fault with that."""

    nodes: dict[str, str]
    out: dict[str, str]
    problems: list[str]


def shown_nodes(output: str) -> list[SlurmNode]:
    """Return the nodes in the output of ``scontrol --oneliner show node``."""
    return [_node(line) for line in output.splitlines() if line.startswith("NodeName=")]


def _node(line: str) -> SlurmNode:
    node = fields(line)
    state = node.get("State", "UNKNOWN")
    states = _NO_WORD.sub("", state).split("+")
    given = reason_given(line)
    why = f": {given}" if given else ""
    features = node.get("ActiveFeatures", "(null)")
    return SlurmNode(
        name=node["NodeName"],
        address=node.get("NodeAddr", node["NodeName"]),
        out=f"Slurm has it as {state}{why}" if _OUT & set(states) or _SILENT in state else "",
        is_idle=states[0] == "IDLE",
        features=frozenset() if features == "(null)" else frozenset(features.split(",")),
    )


def chosen_nodes(there: Iterable[SlurmNode], of: str, wanted: Wanted) -> Chosen:
    """Return which of the nodes ``there``, which are those ``of`` something, are tested.

    Nodes that are out of service are left out, and are not counted. Idle ones are taken first.
    """
    known = {node.name: node for node in there}
    problems = []
    if missing := [name for name in wanted.named if name not in known]:
        problems.append(f"{wanted.named_by} lists {listed(missing, _SHOWN)}, not in {of}")
    nodes = [known[name] for name in wanted.named or known if name in known and name not in wanted.excluded]
    if wanted.constraint and not wanted.named:
        if not _FEATURES.fullmatch(wanted.constraint):
            problems.append(
                f"isolate.yml cannot select nodes by training_slurm_constraint {wanted.constraint!r}: list them in "
                "isolate_slurm_nodes"
            )
        nodes = [node for node in nodes if set(wanted.constraint.split("&")) <= node.features]
    out = {node.name: node.out for node in nodes if node.out}
    able = [node for node in nodes if not node.out]
    if wanted.count and not wanted.named:
        if len(able) < wanted.count:
            problems.append(
                f"training_slurm_nodes is {wanted.count}, but of {of} {counted(len(able), 'node')} can be tested"
            )
        # The order of the nodes is kept.
        taken = {node.name for node in sorted(able, key=lambda node: not node.is_idle)[: wanted.count]}
        able, out = [node for node in able if node.name in taken], {}
    return Chosen({node.name: node.address for node in able}, out, problems)


def expanded(name: str, hostlist: str, problems: list[str]) -> list[str]:
    """Return the nodes of a hostlist, which is the value of an option."""
    try:
        return expand_hostlist(hostlist) if hostlist else []
    except ValueError as error:
        problems.append(f"{name}: {error}")
        return []


def nodes_there(settings: SlurmOptions, are_named: bool, problems: list[str]) -> tuple[list[SlurmNode], str]:
    """Return the nodes to choose from, and where they come from."""
    if settings.training_launcher == SRUN:
        number = allocation_of(settings.training_slurm_job)
        shown = fields(_scontrol("job", number)) if number else {}
        hostlist, of = shown.get("NodeList", ""), f"job {number}" if number else "no job"
        if shown.get("JobState") != "RUNNING":
            hostlist = ""
    elif settings.training_slurm_reservation:
        name = settings.training_slurm_reservation
        hostlist, of = fields(_scontrol("reservation", name)).get("Nodes", ""), f"reservation {name}"
    elif are_named and not settings.training_slurm_partition:
        return shown_nodes(_scontrol("node")), "the cluster"
    else:
        hostlist, of = _of_partition(settings.training_slurm_partition, problems)
    return shown_nodes(_scontrol("node", hostlist)) if hostlist not in ("", "(null)") else [], of


def _of_partition(names: str, problems: list[str]) -> tuple[str, str]:
    """Return the nodes of some partitions, or of the default one, as a hostlist."""
    shown = [fields(line) for line in _scontrol("partition").splitlines()]
    known = {one["PartitionName"]: one for one in shown if "PartitionName" in one}
    wanted = names.split(",") if names else [name for name, one in known.items() if one.get("Default") == "YES"]
    if not wanted or not set(wanted) <= known.keys():
        wrong = f"is {names}, but the cluster has" if names else "is not set, and the cluster has no default, only"
        problems.append(f"training_slurm_partition {wrong} {listed(sorted(known), _SHOWN)}")
    lists = [nodes for name in wanted if (nodes := known.get(name, {}).get("Nodes", "")) not in ("", "(null)")]
    return ",".join(lists), f"partition {','.join(wanted)}"


def _scontrol(kind: str, name: str = "") -> str:
    return run_slurm("scontrol", "--oneliner", "show", kind, *([name] if name else []))
