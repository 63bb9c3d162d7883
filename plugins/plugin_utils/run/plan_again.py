# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of the next attempt at a run: its node at fault goes into quarantine, and a spare takes its place."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping, Sequence

from ..contracts import Plan
from ..plan.slurm.script import excluding
from .board import Board
from .retry import faults_of, next_attempt, node_faults, why_not_again
from .slurm.cluster import nodes_for
from .sweep import summary_of

if t.TYPE_CHECKING:
    from .quarantine import Quarantine

    MakePlan = Callable[[Mapping[str, t.Any], Sequence[str]], Plan]


class NotJudgedError(ValueError):
    """A run cannot be retried, as its folder has no plan or no summary."""


def plan_again(
    run_dir: str, options: Mapping[str, t.Any], spares: Sequence[str], quarantine: Quarantine | None, make: MakePlan
) -> Plan:
    """Return the plan of the next attempt at the run in a folder; ValueError or OSError where there is none.

    ``options`` are the variables of a plan. ``make`` returns the plan of such variables on hosts in rank order; under
    Slurm, which chooses the nodes, the hosts are none.
    """
    board = Board(run_dir)
    try:
        plan, summary = board.plan(), summary_of(run_dir)
    except ValueError as error:
        raise NotJudgedError(f"{error}.") from None
    if summary is None:
        raise NotJudgedError(f"{run_dir} was not judged, so it is not retried.")
    faults = node_faults(summary)
    interrupted = any(board.status(node["node"]).get("interrupted") for node in plan["nodes"])
    # Slurm has a quarantine of its own: it drains nodes.
    if faults and quarantine and not interrupted and "slurm" not in plan:
        quarantine.add(faults, plan["run_id"], faults_of(summary))
    reason = why_not_again(plan, summary, int(options.get("training_retries", 0)), interrupted)
    if reason:
        raise ValueError(reason)
    if "slurm" in plan:
        return _under_slurm(plan, faults, options, make)
    held = quarantine.hosts() if quarantine else {}

    def make_on(run_id: str, hosts: list[str]) -> Plan:
        given = {"training_run_id": run_id, "training_rank_order": hosts, "training_exclude": []}
        return make({**options, **given}, hosts)

    return next_attempt(plan, {host: one.reason for host, one in held.items()} | faults, spares, make_on)


def _under_slurm(plan: Plan, faults: dict[str, str], options: Mapping[str, t.Any], make: MakePlan) -> Plan:
    """Return the next plan of a Slurm job, on other nodes than those at fault now and before."""
    before = plan["retry"]["left_out"] if "retry" in plan else []
    names = [*(one["node"] for one in before), *faults]
    excluded = excluding(options.get("training_slurm_exclude") or "", names)
    left, used = nodes_for(plan["slurm"], excluded), len(plan["nodes"]) - len(faults)
    spares = ["another node"] * (len(faults) if left is None else left - used)

    def make_on(run_id: str, hosts: list[str]) -> Plan:
        given = {"training_slurm_exclude": excluded, "training_slurm_nodes": len(hosts)}
        return make({**options, "training_run_id": run_id, **given}, ())

    return next_attempt(plan, faults, spares, make_on)
