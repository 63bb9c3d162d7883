# SPDX-License-Identifier: GPL-3.0-or-later
"""What was found about a run: the input of the functions that judge it."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field

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

if t.TYPE_CHECKING:
    import pandas as pd

    from ...module_utils.logs.grammar import Grammar
    from .accelerators_seen import AcceleratorsSeen
    from .last_step import Reached
    from .warm_up import WarmUp


@dataclass(frozen=True)
class Seen:
    """What was found about a run; the functions that found it document each field.

    By node are the steps of its last attempt (``attempts``) and those before (``earlier``), the statistics of its
    counted steps (``by_node``), the trend of its loss, the time that was spent, and what was sampled of its
    accelerators.
    """

    plan: Plan
    grammar: Grammar
    statuses: list[Status]
    steps: pd.DataFrame
    records: pd.DataFrame
    warm_up: WarmUp
    attempts: Mapping[str, pd.DataFrame]
    earlier: Mapping[str, pd.DataFrame]
    reached: Reached
    by_node: Mapping[str, dict[str, Statistics]]
    bounds: list[JudgedBound]
    trends: Mapping[str, LossTrend]
    times: Mapping[str, TimeSpent]
    first: FirstFailure | None
    interrupted: bool
    accelerators: Mapping[str, AcceleratorsSeen] = field(default_factory=dict)

    @property
    def together(self) -> bool:
        """Return whether all nodes run one job."""
        return self.plan["mode"] == "multi_node"

    @property
    def workload(self) -> Workload | None:
        """Return what the plan computes, None where it does not say."""
        return self.plan.get("workload")

    @property
    def judged_metrics(self) -> list[str]:
        """Return the metrics of steps that have a threshold to meet, each once."""
        judged = (bound for bound in self.plan["expected"] if bound["kind"] != "info" and not bound.get("optional"))
        return list(dict.fromkeys(bound["metric"] for bound in judged if bound["metric"] in METRICS))
