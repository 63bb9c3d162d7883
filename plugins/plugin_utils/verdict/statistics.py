# SPDX-License-Identifier: GPL-3.0-or-later
"""Statistics of a run's metrics: per node, and for the run as a whole."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

import numpy as np

from ...module_utils.logs.record import METRICS, METRICS_OF_RUN
from ..contracts import Statistics
from .frame import rows_of_nodes
from .intervals import mean_interval, median_interval

if t.TYPE_CHECKING:
    import pandas as pd


def metric_columns(steps: pd.DataFrame) -> list[str]:
    """Return the metrics that a frame of steps has, in canonical order."""
    return [metric for metric in METRICS if metric in steps.columns]


def describe(steps: pd.DataFrame, rows: np.ndarray | None = None) -> dict[str, Statistics]:
    """Return the statistics by metric over the counted steps of all rows, or those at the given places in the frame.

    All in the metric's unit: ``median``, ``mean``, ``p05`` and ``p95`` (percentiles, linear between the two nearest
    values), ``stdev`` (of the sample, ddof 1; None for one value), and ``value``, which is the metric's own
    ``statistic``: median, max or last. ``interval`` is that of the median, for metrics that a threshold bounds by it
    (see `intervals`), else None; ``mean_interval`` likewise that of the mean. Besides ``samples``, ``first_step`` and
    ``last_step``: how many values these rest on, and of which steps. Values that are not finite are left out here; that
    they were printed is a finding of the verdict's own. A metric that no counted step has is left out.
    """
    counted = np.flatnonzero(steps["counted"].to_numpy()) if rows is None else rows[steps["counted"].to_numpy()[rows]]
    numbers = steps["step"].to_numpy()[counted]
    order = np.argsort(numbers, kind="stable")
    counted, numbers = counted[order], numbers[order]
    found = {}
    for metric in metric_columns(steps):
        values = steps[metric].to_numpy()[counted]
        finite = np.isfinite(values)
        if finite.any():
            found[metric] = _statistics(metric, values[finite], numbers[finite])
    return found


def _statistics(metric: str, values: np.ndarray, numbers: np.ndarray) -> Statistics:
    p05, median, p95 = (float(value) for value in np.quantile(values, [0.05, 0.5, 0.95]))
    statistic = METRICS[metric].statistic
    compared = METRICS[metric].better != "none" and statistic == "median"
    return {
        "value": float({"median": median, "max": values.max(), "last": values[-1]}[statistic]),
        "statistic": statistic,
        "median": median,
        "mean": float(values.mean()),
        "p05": p05,
        "p95": p95,
        "stdev": float(values.std(ddof=1)) if len(values) > 1 else None,
        "interval": median_interval(values) if compared else None,
        "mean_interval": mean_interval(values) if compared else None,
        "samples": len(values),
        "first_step": int(numbers[0]),
        "last_step": int(numbers[-1]),
    }


def of_nodes(steps: pd.DataFrame) -> dict[str, dict[str, Statistics]]:
    """Return the statistics by node and metric, of every node whose log has steps."""
    return {node: describe(steps, rows) for node, rows in rows_of_nodes(steps).items()}


def of_run(steps: pd.DataFrame, by_node: dict[str, dict[str, Statistics]]) -> dict[str, Statistics]:
    """Return the statistics of the run by metric: over the counted steps of all nodes together.

    Only ``value`` and the intervals are those of the worst node (``value_node``), so that no slow node hides behind the
    others. Values of a last step, as losses, are compared only between nodes that came to the last step of all.
    """
    run: dict[str, Statistics] = {}
    for metric, together in describe(steps).items():
        values = {
            node: found[metric]["value"]
            for node, found in by_node.items()
            if metric in found
            and (together["statistic"] != "last" or found[metric]["last_step"] == together["last_step"])
        }
        worst = min if METRICS[metric].better == "higher" else max
        node = worst(values, key=values.__getitem__)
        intervals = {name: by_node[node][metric][name] for name in ("interval", "mean_interval")}
        run[metric] = t.cast("Statistics", {**together, "value": values[node], "value_node": node, **intervals})
    for metric in METRICS_OF_RUN:
        once = {node: found[metric] for node, found in by_node.items() if metric in found}
        if once:
            worst = min if METRICS_OF_RUN[metric].better == "higher" else max
            node = worst(once, key=lambda name: once[name]["value"])
            run[metric] = {**once[node], "value_node": node}
    return run


def samples_of(found: Mapping[str, Statistics]) -> int:
    """Return how many steps of a node count, given its statistics by metric."""
    return max((of["samples"] for metric, of in found.items() if metric in METRICS), default=0)
