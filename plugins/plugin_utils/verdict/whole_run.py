# SPDX-License-Identifier: GPL-3.0-or-later
"""Metrics of a run as a whole: when its loss came to the plan's target, and those that its log prints."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

import numpy as np

from ...module_utils.logs.record import METRICS_OF_RUN
from ..contracts import Plan, Statistics, Status
from ..run.status import said_interval

if t.TYPE_CHECKING:
    import pandas as pd


def with_whole_run(
    by_node: Mapping[str, dict[str, Statistics]],
    plan: Plan,
    statuses: Sequence[Status],
    attempts: Mapping[str, pd.DataFrame],
) -> dict[str, dict[str, Statistics]]:
    """Return the statistics of each node with those of `METRICS_OF_RUN` that it has, each of one value.

    ``attempts`` are the steps of the last attempt by node, which need not count: a loss is reached in the warm-up, too.
    """
    settings = {status["node"]: status["trainer"]["settings"] for status in statuses}
    # The last step at which the first line of a whole training may stand.
    first_line = plan["first_step"] + (said_interval(settings.values()) or 1) - 1
    return {
        node: {
            **found,
            **_to_target(attempts[node], plan, first_line),
            **_printed(settings.get(node, {}), int(attempts[node]["step"].iloc[-1])),
        }
        for node, found in by_node.items()
    }


def _to_target(rows: pd.DataFrame, plan: Plan, first_line: int) -> dict[str, Statistics]:
    """Return the number of the first step with a loss at or below the target, and the time of the steps up to it (s).

    There is none of a training that went on from a checkpoint, as its loss may have been there before. The time is the
    sum of the step times, as CVS counts it. Some trainers print none of their first step, which then is not in it; with
    another one missing it is not known. Source: compute_convergence in
    cvs/lib/training/jaxmaxtext/utils/maxtext_parsing.py of ROCm/cvs.
    """
    target, steps = plan.get("target_loss"), rows["step"].to_numpy()
    if target is None or "loss" not in rows or steps[0] > first_line:
        return {}
    reached = np.flatnonzero(rows["loss"].to_numpy() <= target)
    if not reached.size:
        return {}
    place = int(reached[0])
    step = int(steps[place])
    found = {"steps_to_target_loss": _once("steps_to_target_loss", float(step), step)}
    if "step_time_ms" in rows:
        # A line stands for all steps since the one before.
        times = rows["step_time_ms"].to_numpy()[: place + 1] * np.diff(
            steps[: place + 1], prepend=plan["first_step"] - 1
        )
        seconds = float((np.nan_to_num(times[0]) + times[1:].sum()) / 1000.0)
        if np.isfinite(seconds) and seconds > 0:
            found["time_to_target_loss"] = _once("time_to_target_loss", seconds, step)
    return found


def _printed(settings: Mapping[str, Sequence[float]], last_step: int) -> dict[str, Statistics]:
    """Return the metrics that the log itself prints, such as the longest save of a checkpoint."""
    values = {
        metric: [value / units for setting, units in row.printed for value in settings.get(setting, ())]
        for metric, row in METRICS_OF_RUN.items()
    }
    return {metric: _once(metric, max(said), last_step) for metric, said in values.items() if said}


def _once(metric: str, value: float, step: int) -> Statistics:
    return {
        "value": value,
        "statistic": METRICS_OF_RUN[metric].statistic,
        "median": value,
        "mean": value,
        "p05": value,
        "p95": value,
        "stdev": None,
        "interval": None,
        "mean_interval": None,
        "samples": 1,
        "first_step": step,
        "last_step": step,
    }
