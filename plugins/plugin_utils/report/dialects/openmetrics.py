# SPDX-License-Identifier: GPL-3.0-or-later
"""The run as an OpenMetrics text file, such as the textfile collector of Prometheus' node_exporter reads.

Units are OpenMetrics' base units (seconds and ratios). All families are gauges without timestamps, so that readers of
Prometheus' older text format understand the file, too.
"""

from __future__ import annotations

import math
import typing as t
from collections.abc import Iterable
from dataclasses import dataclass

if t.TYPE_CHECKING:
    from .judged_run import JudgedRun

Sample = tuple[dict[str, t.Any], float]

VERDICTS = ("PASS", "FAIL", "INCONCLUSIVE", "ERROR")


@dataclass(frozen=True)
class Family:
    """A metric family of a canonical metric: name and unit (the end of the name), and by what values are multiplied."""

    name: str
    help: str
    unit: str = ""
    factor: float = 1.0


FAMILIES = {
    "step_time_ms": Family("training_step_time_seconds", "Time of a training step.", "seconds", 0.001),
    "tflops_per_gpu": Family("training_gpu_tflops", "TFLOP/s of a GPU as the trainer counts them."),
    "tokens_per_sec_per_gpu": Family("training_gpu_tokens_per_second", "Tokens that a GPU trains on in a second."),
    "memory_fraction": Family("training_gpu_memory_ratio", "GPU memory in use, a fraction of all.", "ratio"),
    "loss": Family("training_loss", "Loss at the last step."),
    "grad_norm": Family("training_gradient_norm", "Norm of the gradient."),
    "learning_rate": Family("training_learning_rate", "Learning rate at the last step."),
    "skipped_iterations": Family("training_skipped_iterations", "Iterations that the trainer skipped."),
    "nan_iterations": Family("training_nan_iterations", "Iterations that the trainer counts as NaN."),
}


def openmetrics(run: JudgedRun) -> str:
    """Return the text. Each sample has the label ``run_id``; those of a metric are one for each node."""
    summary = run.summary
    of_run = {"run_id": summary["run_id"]}
    about = {name: summary[name] for name in ("framework", "model", "gpu", "mode")}
    about |= {"image": run.image or "", "image_digest": run.image_digest or ""}
    verdicts = [({**of_run, "verdict": verdict}, float(verdict == summary["verdict"])) for verdict in VERDICTS]
    families = [
        _family(Family("training_run", "What was run; the value is always 1."), [({**of_run, **about}, 1.0)]),
        _family(Family("training_run_verdict", "1 for the verdict of the run, 0 for the others."), verdicts),
        *_times(run, of_run),
        _family(
            Family("training_run_nodes", "Nodes of the run."),
            [(of_run, float(len(summary["nodes"])))],
        ),
    ]
    if summary.get("mfu") is not None:
        mfu = Family("training_mfu_ratio", "Model FLOPs utilization.", "ratio")
        families.append(_family(mfu, [(of_run, summary["mfu"])]))
    for metric, family in FAMILIES.items():
        samples = _of_nodes(summary, metric, of_run, family.factor)
        if samples:
            families.append(_family(family, samples))
        limits = _limits(summary, metric, of_run, family.factor)
        if limits:
            families.append(_family(_threshold_of(family), limits))
    return "".join(families) + "# EOF\n"


def _times(run: JudgedRun, of_run: dict[str, t.Any]) -> list[str]:
    known = []
    ended = run.instant("ended_at")
    if run.seconds is not None:
        family = Family("training_run_duration_seconds", "How long the run took.", "seconds")
        known.append(_family(family, [(of_run, run.seconds)]))
    if ended is not None:
        family = Family("training_run_end_timestamp_seconds", "When the run ended, since the epoch.", "seconds")
        known.append(_family(family, [(of_run, ended)]))
    return known


def _of_nodes(summary: dict[str, t.Any], metric: str, of_run: dict[str, t.Any], factor: float) -> list[Sample]:
    return [
        ({**of_run, "node": node["node"]}, node["metrics"][metric]["value"] * factor)
        for node in summary["nodes"]
        if metric in node["metrics"]
    ]


def _limits(summary: dict[str, t.Any], metric: str, of_run: dict[str, t.Any], factor: float) -> list[Sample]:
    """Return the limits of a metric's first threshold: at least this, at most that, or both."""
    bounds = (bound for bound in summary["thresholds"] if bound["metric"] == metric)
    bound: dict[str, t.Any] = next(bounds, {})
    sides = (("min", bound.get("least")), ("max", bound.get("greatest")))
    return [({**of_run, "direction": side}, limit * factor) for side, limit in sides if limit is not None]


def _threshold_of(family: Family) -> Family:
    unit = f"_{family.unit}" if family.unit else ""
    return Family(f"{family.name.removesuffix(unit)}_threshold{unit}", f"Limit of {family.name}.", family.unit)


def _family(family: Family, samples: Iterable[Sample]) -> str:
    lines = [f"# TYPE {family.name} gauge"]
    if family.unit:
        lines.append(f"# UNIT {family.name} {family.unit}")
    lines.append(f"# HELP {family.name} {family.help}")
    lines += [f"{family.name}{_labels(labels)} {_number(value)}" for labels, value in samples]
    return "\n".join(lines) + "\n"


def _labels(labels: dict[str, t.Any]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(str(value))}"' for name, value in labels.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(float(value))
