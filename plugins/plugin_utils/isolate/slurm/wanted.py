# SPDX-License-Identifier: GPL-3.0-or-later
"""What an isolation wants of Slurm, and everything that keeps it from getting that."""

from __future__ import annotations

import contextlib
import math
import typing as t
from collections.abc import Mapping

from ...contracts import Finding
from ...inventory.hostlist import expand_hostlist
from ...inventory.slurm import fields
from ...plan.config.findings import Findings
from ...plan.slurm.cluster import seconds_of
from ...plan.slurm.options import SRUN, LaunchOptions, SlurmOptions
from ...plan.slurm.script import nodes_to_come
from ...run.slurm.cluster import refused
from ...run.slurm.job import SlurmError, run_slurm
from ...text.words import counted, listed
from ..holding import MOST_SECONDS_MORE
from ..left_behind import LeftBehind
from ..planned import LEAST_NODES
from .asking import (
    Chosen,
    SlurmNode,
    UnderSlurm,
    Wanted,
    allocation_of,
    chosen_nodes,
    options_of_job,
    script_of,
    shown_nodes,
)

# Tasks take so long to begin and to end.
_START_SECONDS = 180
_SHOWN = 10
_MORE_MINUTES = math.ceil((MOST_SECONDS_MORE + _START_SECONDS) / 60)


def under_slurm(
    settings: LaunchOptions, left: LeftBehind, arguments: Mapping[str, t.Any]
) -> tuple[UnderSlurm, list[str]]:
    """Return which nodes of Slurm are tested and how, and every problem with that as sentences without a full stop.

    They are those that are named, or else those of a run that left something behind, if any. SlurmError where Slurm
    cannot be asked.
    """
    problems: list[str] = []
    # The plan of the tests refuses a budget that is no number of minutes.
    minutes = math.ceil(arguments["budget"] if math.isfinite(arguments["budget"]) else 0) + _MORE_MINUTES
    if arguments["quarantine_days"]:
        problems.append(
            "isolate_quarantine_days has no effect under Slurm, which has no quarantine: pass slurm_exclude.txt of the "
            "isolation to --exclude, or drain the nodes with scontrol"
        )
    given = _expanded("isolate_slurm_nodes", arguments["slurm_nodes"], problems)
    named, by = (given, "isolate_slurm_nodes") if given else (left.nodes, f"Run {left.run_id}")
    excluded = _expanded("training_slurm_exclude", settings.training_slurm_exclude, problems)
    there, of = _nodes_there(settings, bool(named), problems)
    wanted = Wanted(named, by, excluded, settings.training_slurm_constraint, settings.training_slurm_nodes)
    chosen = chosen_nodes(there, of, wanted)
    problems += chosen.problems
    are_few = len(chosen.nodes) < LEAST_NODES
    # Slurm knows more than its nodes show only of an allocation.
    asks = settings.training_launcher == SRUN or not (problems or are_few)
    faults, warnings = _refused(settings, chosen, minutes, ask=asks)
    if are_few and not (problems or faults):
        problems += [
            f"{counted(len(chosen.nodes), 'node')} of {of} can be tested, but to compare them takes {LEAST_NODES}",
            *(f"{node}: {why}" for node, why in chosen.out.items()),
        ]
    problems += [f"{fault['key']}: {fault['message']} {fault['remedy']}".rstrip(".") for fault in faults]
    problems += _too_short(settings, minutes)
    return UnderSlurm(settings, chosen, minutes, [f"{one['key']}: {one['message']}" for one in warnings]), problems


def _expanded(name: str, hostlist: str, problems: list[str]) -> list[str]:
    try:
        return expand_hostlist(hostlist) if hostlist else []
    except ValueError as error:
        problems.append(f"{name}: {error}")
        return []


def _nodes_there(settings: SlurmOptions, are_named: bool, problems: list[str]) -> tuple[list[SlurmNode], str]:
    """Return the nodes that can be wanted, and what they are those of."""
    if settings.training_launcher == SRUN:
        number = allocation_of(settings)
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


def _refused(
    settings: LaunchOptions, chosen: Chosen, minutes: int, *, ask: bool
) -> tuple[list[Finding], list[Finding]]:
    """Return the faults and warnings of a job on the nodes: of its options, and those of Slurm, where we ``ask`` it."""
    found = Findings()
    nodes_to_come(settings, len(chosen.nodes) or 1, "", found)
    if found.faults or not ask:
        return found.faults, []
    asked = options_of_job(settings, list(chosen.nodes), minutes)
    if settings.training_launcher == SRUN:
        size = {"nodes": asked["nodes"]}
        return refused({"script": "", "preflight": False, "sbatch": size, "allocation": settings.training_slurm_job})
    faults, warnings = refused({"script": script_of(asked, settings), "preflight": False, "sbatch": asked})
    return [_of_budget(fault, settings) for fault in faults], warnings


def _of_budget(fault: Finding, settings: SlurmOptions) -> Finding:
    """Return a fault, which is one of the budget where the time of the job follows from that."""
    if settings.training_slurm_time_limit or fault["key"] != "training_slurm_time_limit":
        return fault
    return {**fault, "key": "isolate_budget", "remedy": "Set a smaller isolate_budget, or use another partition."}


def _too_short(settings: SlurmOptions, minutes: int) -> list[str]:
    """Return what is wrong if the time of the job, or what is left of the allocation, is too short for the tests."""
    left, said = settings.training_slurm_time_limit, "training_slurm_time_limit is {}"
    if settings.training_launcher == SRUN and (number := allocation_of(settings)):
        with contextlib.suppress(SlurmError):
            left = run_slurm("squeue", "--noheader", f"--jobs={number}", "--format=%L").strip()
        said = f"Job {number} of Slurm has {{}} left"
    seconds = seconds_of(left)
    if seconds is None or seconds >= 60 * minutes:
        return []
    needed = f"the tests need up to {minutes} minutes, which are isolate_budget and {_MORE_MINUTES} for what comes "
    remedy = "before and after them. Ask for more time, or set a smaller isolate_budget"
    return [f"{said.format(left)}, but {needed}{remedy}"]
