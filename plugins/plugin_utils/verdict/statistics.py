# SPDX-License-Identifier: GPL-3.0-or-later
"""Statistics of a run's metrics: per node, for the run as a whole, and as a share of the accelerators' peak."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

import numpy as np

from ...module_utils.logs.record import METRICS, METRICS_OF_RUN
from ..contracts import MetricOfRun, Plan, Statistics, Status, Utilization, Workload
from ..run.status import said_interval
from .frame import Rows, rows_of
from .intervals import mean_interval, median_interval

if t.TYPE_CHECKING:
    import pandas as pd


def describe(rows: Rows) -> dict[str, Statistics]:
    """Return the statistics by metric over the counted rows.

    All in the metric's unit: ``median``, ``mean``, ``p05`` and ``p95`` (percentiles, linear between the two nearest
    values), ``stdev`` (of the sample, ddof 1; None for one value), and ``value``, which is the metric's own
    ``statistic``: median, max or last. ``interval`` is the interval of the median, if thresholds on this metric use the
    median (see `intervals`), else None; ``mean_interval`` is the same for the mean. ``samples``, ``first_step`` and
    ``last_step`` tell how many values these rest on, and from which steps. Values that are not finite are left out
    here, and the verdict reports them separately. A metric that no counted step has is left out.
    """
    counted = np.flatnonzero(rows["counted"])
    counted = counted[np.argsort(rows["step"][counted], kind="stable")]
    numbers = rows["step"][counted]
    found = {}
    for metric in (metric for metric in METRICS if metric in rows):
        values = rows[metric][counted]
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


def of_nodes(attempts: Mapping[str, Rows]) -> dict[str, dict[str, Statistics]]:
    """Return the statistics by node and metric, given the rows of each node whose log has steps."""
    return {node: describe(rows) for node, rows in attempts.items()}


def of_run(steps: pd.DataFrame, by_node: dict[str, dict[str, Statistics]]) -> dict[str, Statistics]:
    """Return the statistics of the run by metric: over the counted steps of all nodes together.

    Only ``value`` and the intervals come from the worst node (``value_node``), so that no slow node hides behind the
    others. Last-step values, such as losses, are compared only between nodes that reached the run's last step.
    """
    run: dict[str, Statistics] = {}
    for metric, together in describe(rows_of(steps)).items():
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


def with_whole_run(
    by_node: Mapping[str, dict[str, Statistics]],
    plan: Plan,
    statuses: Sequence[Status],
    attempts: Mapping[str, Rows],
) -> dict[str, dict[str, Statistics]]:
    """Return the statistics of each node plus the `METRICS_OF_RUN` that it has, each with one value.

    ``attempts`` are the steps of the last attempt by node, which need not count: a loss is reached in the warm-up, too.
    """
    settings = {status["node"]: status["trainer"]["settings"] for status in statuses}
    # The latest step for the first line of a complete training.
    first_line = plan["first_step"] + (said_interval(settings.values()) or 1) - 1
    return {
        node: {
            **found,
            **_to_target(attempts[node], plan, first_line),
            **_printed(settings.get(node, {}), int(attempts[node]["step"][-1])),
        }
        for node, found in by_node.items()
    }


def _to_target(rows: Rows, plan: Plan, first_line: int) -> dict[str, Statistics]:
    """Return the number of the first step with a loss at or below the target, and the time of the steps up to it (s).

    Both are missing for a training that resumed from a checkpoint, because it may have reached the target before. Like
    in CVS, the time is the sum of the step times. Some trainers print no time for the first step, which is then not
    included; if another step's time is missing, the time is unknown. Source: compute_convergence in
    cvs/lib/training/jaxmaxtext/utils/maxtext_parsing.py of ROCm/cvs.
    """
    target, steps = plan.get("target_loss"), rows["step"]
    if target is None or "loss" not in rows or steps[0] > first_line:
        return {}
    reached = np.flatnonzero(rows["loss"] <= target)
    if not reached.size:
        return {}
    place = int(reached[0])
    step = int(steps[place])
    found = {"steps_to_target_loss": _once("steps_to_target_loss", float(step), step)}
    if "step_time_ms" in rows:
        # A line stands for all steps since the one before.
        times = rows["step_time_ms"][: place + 1] * np.diff(steps[: place + 1], prepend=plan["first_step"] - 1)
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


MODEL_FLOPS, TFLOPS = "model FLOPs and tokens/s", "TFLOP/s as the trainer counts them"


def utilization_of(
    workload: Workload | None, measured: Mapping[str, MetricOfRun | Statistics], *, on_cpus: bool = False
) -> Utilization:
    """Return ``mfu`` (a fraction of the peak, or None), ``mfu_basis``, and ``mfu_reason`` if there is none.

    ``workload`` is the plan's, ``measured`` are statistics by metric, each with its ``value``. MFU is model FLOPs per
    token × tokens/s of a GPU / its peak (appendix B of arXiv 2204.02311). If the model's FLOPs are unknown, MFU is the
    trainer's TFLOP/s / the peak, which trainers count in different ways. There is no MFU on CPUs, because the planned
    peak does not apply to them.
    """
    tokens, tflops = (
        measured[name]["value"] if name in measured else None for name in ("tokens_per_sec_per_gpu", "tflops_per_gpu")
    )
    if not workload:
        return _none("The plan does not state the workload.")
    peak, flops = workload["peak_tflops_per_gpu"], workload["model_flops_per_token"]
    if not peak or on_cpus:
        return _none("The nodes have no accelerator." if on_cpus else workload["peak_reason"])
    if flops and tokens is not None:
        return {"mfu": flops * tokens / (peak * 1e12), "mfu_basis": MODEL_FLOPS, "mfu_reason": None}
    if tflops is not None:
        return {"mfu": tflops / peak, "mfu_basis": TFLOPS, "mfu_reason": None}
    if tokens is None:
        return _none("No counted step shows tokens/s or TFLOP/s.")
    return _none(workload["model_flops_reason"])


def _none(reason: str | None) -> Utilization:
    return {"mfu": None, "mfu_basis": None, "mfu_reason": reason}
