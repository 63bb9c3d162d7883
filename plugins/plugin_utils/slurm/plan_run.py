# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a run, whatever starts it, and the next attempt at a run that Slurm started."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from ...module_utils.slurm.placement import address_before, is_before, name_before
from ..contracts import Plan
from ..plan.config.findings import Findings
from ..plan.job.options import ON_HOSTS, SRUN, SSH, LaunchOptions
from ..plan.job.ranks import Node
from ..plan.plan import asked_by, make_plan, typed_options
from ..run.retry import next_attempt
from .cluster import nodes_for
from .commands import has_pyxis
from .script import SBATCH, slurm_job

if t.TYPE_CHECKING:
    from ..plan.threshold_files import ThresholdsFile
    from ..run.plan_again import MakePlan

# More, for example after a typo, would fill the memory before anything is reported.
_MOST_NODES = 65_536
# Options of a job, which an allocation already has.
_OF_JOBS = (*(name for name, option in SBATCH.items() if option != "exclude"), "training_slurm_options")
# Options for inventory hosts, which Slurm does not use.
_OF_HOSTS = {
    "training_rank_order": "Slurm decides the order of nodes.",
    "training_exclude": "List nodes to leave out in training_slurm_exclude.",
    "training_spares": "Slurm provides spare nodes.",
}


def plan_run(
    text: str,
    source: str,
    options: Mapping[str, t.Any],
    nodes: Sequence[Node],
    now: str = "",
    unreadable: str | None = None,
    thresholds: ThresholdsFile | None = None,
) -> Plan:
    """Return the plan of `make_plan`, which takes the same arguments.

    If Slurm starts the run, its nodes are stand-ins for the ones that Slurm will choose, all with the user of the first
    host, and ``slurm`` is its job.
    """
    settings = typed_options(options, Findings())
    if settings.training_launcher == SSH:
        return make_plan(text, source, options, nodes, now, unreadable, thresholds)
    findings = Findings()
    asked = asked_by("" if unreadable else text, source, options, 0).nodes
    to_come = nodes_to_come(settings, asked, nodes[0].user if nodes else "", findings)
    plan = make_plan(text, source, options, to_come, now, unreadable, thresholds)
    if findings.faults:
        return {**plan, "faults": [*findings.faults, *plan["faults"]], "nodes": []}
    return {**plan, "slurm": slurm_job(plan, settings)} if plan["nodes"] else plan


def next_job(plan: Plan, faults: Mapping[str, str], options: Mapping[str, t.Any], make: MakePlan) -> Plan:
    """Return the plan of the next attempt at a job, without the nodes at fault now and before.

    `plan_again` explains ``options`` and ``make``.
    """
    before = plan["retry"]["left_out"] if "retry" in plan else []
    # Slurm does not know the stand-ins.
    out = [name for name in (*(one["node"] for one in before), *faults) if not is_before(name)]
    excluded = ",".join(filter(None, [options.get("training_slurm_exclude"), *out]))
    left, used = nodes_for(plan["slurm"], excluded), len(plan["nodes"]) - len(faults)
    spares = ["another node"] * (len(faults) if left is None else left - used)

    def make_on(run_id: str, hosts: list[str]) -> Plan:
        given = {"training_slurm_exclude": excluded, "training_slurm_nodes": len(hosts)}
        return make({**options, "training_run_id": run_id, **given}, ())

    return next_attempt(plan, faults, spares, make_on)


def with_pyxis(options: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the variables of a run, which uses Pyxis if Slurm starts it and srun, on this machine, has Pyxis."""
    uses = options.get("training_launcher", SSH) != SSH and has_pyxis()
    return {**options, "training_slurm_pyxis": True} if uses else dict(options)


def nodes_to_come(options: LaunchOptions, asked: int | None, user: str, findings: Findings) -> list[Node]:
    """Return stand-ins for the nodes that Slurm will choose; ``asked`` is the number in the config, if any."""
    launcher = options.training_launcher
    of_jobs = dict.fromkeys(_OF_JOBS, "Pass it to salloc.")
    of_steps = {"training_slurm_job": "The run is its own job."}
    for name, remedy in (_OF_HOSTS | (of_jobs if launcher == SRUN else of_steps)).items():
        if given := getattr(options, name):
            findings.fault(
                name, given, f"{name} has no effect with training_launcher={launcher}.", f"Leave it out. {remedy}"
            )
    if options.training_platform not in (None, ON_HOSTS):
        message = f"Slurm cannot start anything on {options.training_platform}."
        findings.fault("training_launcher", launcher, message, "Leave out training_launcher or training_platform.")
    count = options.training_slurm_nodes or asked
    if count is None:
        findings.fault(
            "training_slurm_nodes",
            None,
            "Neither the training config nor a variable sets the number of nodes.",
            "Set training_slurm_nodes.",
        )
        return []
    if count > _MOST_NODES:
        message = f"The job would have {count:,} nodes; a plan has at most {_MOST_NODES:,}."
        findings.fault("training_slurm_nodes", count, message, "Use fewer.")
        return []
    return [Node(name_before(rank), address_before(rank), user) for rank in range(count)]
