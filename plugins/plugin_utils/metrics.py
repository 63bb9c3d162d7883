# SPDX-License-Identifier: GPL-3.0-or-later
"""The metrics: how each one reads, what thresholds call it, where a report shows it, and its name in other formats.

A metric is a row here and one in `module_utils.logs.record`, which nodes have as well: its unit, which direction is
better, and whether it is of a step or of the run. Its own name is its name in records, summaries, the history, CSV
files and JUnit. All else that differs between metrics stands here.
"""

from __future__ import annotations

import typing as t

from ..module_utils.logs.record import ALL_METRICS


class Family(t.NamedTuple):
    """A family of OpenMetrics: its name without the unit, and a factor for values."""

    name: str
    help: str
    unit: str = ""
    factor: float = 1.0


class Key(t.NamedTuple):
    """A key of CVS's thresholds files: a factor for its value, and the statistic unless it is the metric's own."""

    factor: float = 1.0
    statistic: str | None = None


class Row(t.NamedTuple):
    """A metric on the controller.

    ``name`` is for a sentence, ``label`` for the beginning of a line. ``did`` is the verb for its value on a node, with
    the fields of the row ``threshold_met`` of the catalogue. A metric with ``expected`` (a description of its
    threshold) is a key of ``result_dict`` by its own name and by each of the ``aliases``; thresholds files take both,
    and the ``keys``. ``place`` is its place among the figures of a report; without a place it is no figure.
    ``only_if_judged`` hides the figure of a run without a threshold. A line about a run shows the metrics that are
    ``in_short``. Reports draw a ``plotted`` metric over the steps, in the order of these numbers, and write one
    ``as_percent`` in percent. A metric with ``needs`` is judged only if the plan has that value.
    """

    name: str
    label: str
    family: Family
    did: str = ""
    expected: str = ""
    aliases: tuple[str, ...] = ()
    keys: t.Mapping[str, Key] = {}
    place: int = 0
    only_if_judged: bool = False
    in_short: bool = False
    plotted: int = 0
    as_percent: bool = False
    needs: t.Literal["target_loss"] | None = None


ROWS: dict[str, Row] = {
    "tflops_per_gpu": Row(
        "TFLOP/s per GPU",
        "Compute per GPU",
        Family("training_gpu_tflops", "TFLOP/s of a GPU as the trainer counts them."),
        did="reached {value}",
        expected="Minimum throughput.",
        aliases=("throughput_per_gpu", "tflops_per_sec_per_gpu"),
        place=2,
        in_short=True,
    ),
    "tokens_per_sec_per_gpu": Row(
        "tokens/s per GPU",
        "Throughput per GPU",
        Family("training_gpu_tokens_per_second", "Tokens per second that a GPU trains on."),
        did="reached {value}",
        expected="Minimum tokens per second.",
        aliases=("tokens_per_gpu",),
        place=1,
        in_short=True,
        plotted=1,
    ),
    "step_time_ms": Row(
        "step time",
        "Step time",
        Family("training_step_time", "Time of a training step.", "seconds", 0.001),
        did="took {value} per step",
        expected="Maximum step time.",
        aliases=("elapsed_time_per_iteration",),
        keys={
            "step_time_seconds": Key(1000.0, "mean"),
            "step_time_mean_ms": Key(1.0, "mean"),
            "step_time_p50_ms": Key(),
            "step_time_p95_ms": Key(1.0, "p95"),
        },
        place=4,
        in_short=True,
        plotted=3,
    ),
    "memory_fraction": Row(
        "GPU memory in use",
        "GPU memory in use",
        Family("training_gpu_memory", "GPU memory in use, a fraction of all.", "ratio"),
        did="used {value} of its GPU memory",
        expected="Maximum share of GPU memory.",
        aliases=("mem_usage",),
        place=6,
        only_if_judged=True,
        as_percent=True,
    ),
    "loss": Row(
        "loss",
        "Loss",
        Family("training_loss", "Loss at the last step."),
        did="ended with a loss of {value}",
        expected="Maximum loss at the last step.",
        keys={"final_loss": Key()},
        place=5,
        in_short=True,
        plotted=2,
    ),
    "grad_norm": Row("gradient norm", "Gradient norm", Family("training_gradient_norm", "Norm of the gradient.")),
    "learning_rate": Row(
        "learning rate", "Learning rate", Family("training_learning_rate", "Learning rate at the last step.")
    ),
    "skipped_iterations": Row(
        "skipped iterations",
        "Skipped iterations",
        Family("training_skipped_iterations", "Iterations that the trainer skipped."),
    ),
    "nan_iterations": Row(
        "NaN iterations",
        "NaN iterations",
        Family("training_nan_iterations", "Iterations that the trainer counts as NaN."),
    ),
    "steps_to_target_loss": Row(
        "steps to the target loss",
        "Steps to the target loss",
        Family("training_steps_to_target_loss", "First step at or below the target loss."),
        did="came to the target loss at step {value:number}",
        keys={"steps_to_target": Key()},
        needs="target_loss",
    ),
    "time_to_target_loss": Row(
        "time to the target loss",
        "Time to the target loss",
        Family("training_time_to_target_loss", "Time of the steps up to that one.", "seconds"),
        did="came to the target loss after {value}",
        keys={"time_to_target_seconds": Key()},
        needs="target_loss",
    ),
    "checkpoint_save_seconds": Row(
        "longest save of a checkpoint",
        "Longest save of a checkpoint",
        Family("training_checkpoint_save", "Longest save of a checkpoint.", "seconds"),
        did="took up to {value} to write a checkpoint",
    ),
    # Computed on the controller, of the run as a whole.
    "mfu": Row(
        "MFU",
        "MFU",
        Family("training_mfu", "Model FLOPs utilization.", "ratio"),
        place=3,
        as_percent=True,
    ),
}

LABELS = {metric: row.label for metric, row in ROWS.items()}
FIGURES = tuple(sorted((metric for metric, row in ROWS.items() if row.place), key=lambda metric: ROWS[metric].place))
IN_SHORT = tuple(metric for metric in FIGURES if ROWS[metric].in_short)
PLOTTED = tuple(sorted((metric for metric in FIGURES if ROWS[metric].plotted), key=lambda one: ROWS[one].plotted))
SPEEDS = ("tokens_per_sec_per_gpu", "tflops_per_gpu", "step_time_ms")

_OF_ALIAS = {alias: metric for metric, row in ROWS.items() for alias in (*row.aliases, metric) if metric in ALL_METRICS}


def in_percent(metric: str) -> bool:
    """Return whether a reader gets the values of a metric, or of another field of a step line, in percent."""
    return metric in ROWS and ROWS[metric].as_percent


def canonical_metric(name: str) -> str | None:
    """Return the canonical name of a metric or of its alias, or None where it is neither."""
    return _OF_ALIAS.get(name)
