# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of the next attempt at a run: its node at fault goes into quarantine, and a spare takes its place."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping, Sequence

from ..contracts import Plan
from .board import Board
from .retry import faults_of, next_attempt, node_faults, why_not_again
from .sweep import summary_of

if t.TYPE_CHECKING:
    from .quarantine import Quarantine

    MakePlan: t.TypeAlias = Callable[[Mapping[str, t.Any], Sequence[str]], Plan]
    NextJob: t.TypeAlias = Callable[[Plan, Mapping[str, str], Mapping[str, t.Any], MakePlan], Plan]


class NotJudgedError(ValueError):
    """A run cannot be retried: its folder has no plan or no summary."""


def plan_again(
    run_dir: str,
    options: Mapping[str, t.Any],
    spares: Sequence[str],
    quarantine: Quarantine | None,
    make: MakePlan,
    next_job: NextJob,
) -> Plan:
    """Return the plan of the next attempt at the run in a folder; ValueError or OSError if there is none.

    ``options`` are the variables of a plan. ``make`` returns the plan of such variables on hosts in rank order. If
    Slurm chooses the nodes, there are no hosts, and ``next_job`` makes the attempt, given the nodes at fault.
    """
    board = Board(run_dir)
    try:
        plan, summary = board.plan(), summary_of(run_dir)
    except ValueError as error:
        raise NotJudgedError(f"{error}.") from None
    if summary is None:
        raise NotJudgedError(f"{run_dir} was not judged, so it is not retried.")
    faults = node_faults(summary)
    interrupted = any(board.status(node["node"])["following"]["interrupted"] for node in plan["nodes"])
    # Slurm has a quarantine of its own: it drains nodes.
    if faults and quarantine and not interrupted and "slurm" not in plan:
        quarantine.add(faults, plan["run_id"], faults_of(summary))
    reason = why_not_again(plan, summary, int(options.get("training_retries", 0)), interrupted)
    if reason:
        raise ValueError(reason)
    if "slurm" in plan:
        return next_job(plan, faults, options, make)
    held = quarantine.hosts() if quarantine else {}

    def make_on(run_id: str, hosts: list[str]) -> Plan:
        given = {"training_run_id": run_id, "training_rank_order": hosts, "training_exclude": []}
        return make({**options, **given}, hosts)

    return next_attempt(plan, {host: one.reason for host, one in held.items()} | faults, spares, make_on)
