# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts found about a run, which the judging functions read, including how far the training got."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ...module_utils.logs.grammar import EVERY_RANK, Grammar
from ...module_utils.logs.record import METRICS
from ..contracts import (
    FirstFailure,
    JudgedBound,
    LossTrend,
    Plan,
    Statistics,
    Status,
    TimeSpent,
    Workload,
)
from ..run.status import ended_well, last_line_of, said_interval

if t.TYPE_CHECKING:
    import pandas as pd

    from ...module_utils.logs.grammar import Grammar
    from .frame import Rows
    from .machine_events import AcceleratorsSeen
    from .rdma_traffic import RdmaTraffic
    from .warm_up import WarmUp


@dataclass(frozen=True)
class Reached:
    """The steps that a run reached.

    ``goal`` is the planned last step, None if that is unknown, and ``last_line`` the last step with a line: a log
    interval need not divide the steps. ``by_node`` has the last step of each node whose log must have steps, None for a
    log without steps. In a multi-node run whose trainer prints on one rank only, these are the nodes that have steps,
    else all nodes. ``unfinished`` are the nodes that ended with exit status 0 although their training did not reach the
    goal.
    """

    goal: int | None
    last_line: int | None
    by_node: dict[str, int | None]
    unfinished: frozenset[str]

    @property
    def finished(self) -> bool:
        """Return whether every node that has to reach the goal did."""
        last = self.last_line
        return last is not None and bool(self.by_node) and all(_at_least(step, last) for step in self.by_node.values())


def last_step_of(attempts: Mapping[str, Rows], node: str) -> int | None:
    """Return the last step of a node's last attempt, or None where its log has no step."""
    return int(attempts[node]["step"].max()) if node in attempts else None


def reached_by(plan: Plan, grammar: Grammar, statuses: list[Status], attempts: Mapping[str, Rows]) -> Reached:
    """Return the steps that a run reached, given the grammar of its logs.

    The goal comes from the plan, or from the logs if all logs that announce a goal announce more steps: one node alone
    does not make the others unfinished. If neither the plan nor a step line has a goal, it comes from the settings in
    the logs.
    """
    planned = plan["parameters"]["iterations"] or 0
    announced = [total for status in statuses if (total := status["steps"]["steps_total"])]
    total = max(planned, min(announced, default=0)) if planned else max(announced, default=0)
    said = [value for status in statuses for value in status["trainer"]["settings"].get("iterations", [])]
    total = total or int(max(said, default=0))
    goal = plan["first_step"] + total - 1 if total else None
    steps_of = {status["node"]: last_step_of(attempts, status["node"]) for status in statuses}
    with_steps: dict[str, int | None] = {node: step for node, step in steps_of.items() if step is not None}
    together = plan["mode"] == "multi_node"
    one_prints = together and grammar.printed_by != EVERY_RANK
    by_node: dict[str, int | None] = {**(with_steps if one_prints or (together and not with_steps) else steps_of)}
    if goal is None:
        return Reached(None, None, by_node, frozenset())
    last_line = last_line_of(goal, said_interval(status["trainer"]["settings"] for status in statuses))
    short = {node for node, step in steps_of.items() if not _at_least(step, last_line)}
    if together and with_steps and short.isdisjoint(with_steps):
        short = set()
    ended = {status["node"] for status in statuses if ended_well(status)}
    return Reached(goal, last_line, by_node, frozenset(short & ended))


def _at_least(step: int | None, goal: int) -> bool:
    return step is not None and step >= goal


@dataclass(frozen=True)
class Seen:
    """The facts found about a run; the functions that find them document each field.

    These are by node: the steps of its last attempt (``attempts``) and of earlier ones (``earlier``), the statistics of
    its counted steps (``by_node``), the trend of its loss, the time spent, its RDMA ``traffic``, and its accelerators'
    samples.
    """

    plan: Plan
    grammar: Grammar
    statuses: list[Status]
    steps: pd.DataFrame
    records: pd.DataFrame
    warm_up: WarmUp
    attempts: Mapping[str, Rows]
    earlier: Mapping[str, Rows]
    reached: Reached
    by_node: Mapping[str, dict[str, Statistics]]
    bounds: list[JudgedBound]
    trends: Mapping[str, LossTrend]
    times: Mapping[str, TimeSpent]
    first: FirstFailure | None
    interrupted: bool
    asks_for_rdma: bool
    traffic: Mapping[str, RdmaTraffic]
    accelerators: Mapping[str, AcceleratorsSeen] = field(default_factory=dict)

    @property
    def together(self) -> bool:
        """Return whether all nodes run one job."""
        return self.plan["mode"] == "multi_node"

    @property
    def workload(self) -> Workload | None:
        """Return the plan's workload, None if the plan has none."""
        return self.plan.get("workload")

    @cached_property
    def steps_per_line(self) -> int:
        """Return how many steps a step line has the means of, by the log interval in the logs; 1 if they have none."""
        return said_interval(status["trainer"]["settings"] for status in self.statuses) or 1

    @property
    def judged_metrics(self) -> list[str]:
        """Return the metrics of steps that have a threshold to meet, each once."""
        judged = (bound for bound in self.plan["expected"] if bound["kind"] != "info" and not bound.get("optional"))
        return list(dict.fromkeys(bound["metric"] for bound in judged if bound["metric"] in METRICS))
