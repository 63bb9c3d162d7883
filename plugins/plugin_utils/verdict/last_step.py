# SPDX-License-Identifier: GPL-3.0-or-later
"""How far the training got: the last step of every node, and whether it is the last one of the run."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

if t.TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Reached:
    """The steps that a run reached.

    ``goal`` is the last step it was to reach, None where that is not known. ``by_node`` is the last step in the log of
    each node whose log has to have steps, None for a log without any: in a multi-node run those that have some, as a
    trainer may print the steps on one rank only, else all. ``unfinished`` are the nodes that ended with exit status 0
    although the training that they took part in did not reach the goal.
    """

    goal: int | None
    by_node: dict[str, int | None]
    unfinished: frozenset[str]

    @property
    def finished(self) -> bool:
        """Tell whether the goal was reached wherever it had to be."""
        goal = self.goal
        return goal is not None and bool(self.by_node) and all(_at_least(step, goal) for step in self.by_node.values())


def last_step_of(steps: pd.DataFrame, node: str) -> int | None:
    """Return the last step of a node's last attempt, or None where its log has no step."""
    own = steps[steps["node"] == node]
    return None if own.empty else int(own.loc[own["attempt"] == own["attempt"].max(), "step"].max())


def reached_by(plan: dict[str, t.Any], statuses: list[dict[str, t.Any]], steps: pd.DataFrame) -> Reached:
    """Return what a run reached. Its goal is the plan's, or the log's own where that announces more steps."""
    total = max([plan["parameters"]["iterations"] or 0, *(status.get("steps_total") or 0 for status in statuses)])
    goal = plan["first_step"] + total - 1 if total else None
    by_node = {status["node"]: last_step_of(steps, status["node"]) for status in statuses}
    if goal is None:
        return Reached(None, by_node, frozenset())
    short = {node for node, step in by_node.items() if not _at_least(step, goal)}
    if plan["mode"] == "multi_node":
        by_node = {node: step for node, step in by_node.items() if step is not None}
        if by_node and short.isdisjoint(by_node):
            short = set()
    exited = [status for status in statuses if status["status"] == "exited" and status.get("exit_status") == 0]
    return Reached(goal, by_node, frozenset(short.intersection(status["node"] for status in exited)))


def _at_least(step: int | None, goal: int) -> bool:
    return step is not None and step >= goal
