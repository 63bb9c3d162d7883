# SPDX-License-Identifier: GPL-3.0-or-later
"""What a training log yields: step rows, and the records made of them.

A *step row* is one training iteration as one node's log has it::

    {"attempt": 1, "step": 7, "steps_total": 30, "metrics": {"step_time_ms": 10235.8, "loss": 7.27}}

``attempt`` starts at 1 and grows by one whenever the step number goes back (a restart). ``metrics`` maps canonical
metric names, and those of `EVIDENCE`, to floats. They may be NaN or infinite: what the trainer printed is what is kept,
and NaN stands for a text in the place of a number, too. A step that is known not
to have been measured well has ``"left_out"``, the reason as a sentence; steps without it count.
"""

from __future__ import annotations

import typing as t


class LeftOut(t.TypedDict, total=False):
    """Why a step does not count, where it does not."""

    left_out: str


class StepRow(LeftOut):
    """A step of a log."""

    attempt: int
    step: int
    steps_total: int | None
    metrics: dict[str, float]


class Record(t.TypedDict):
    """One measurement of a step row."""

    attempt: int
    step: int
    metric: str
    value: float
    unit: str


class Metric(t.NamedTuple):
    """A canonical metric; the controller's half of the row is in `plugin_utils.metrics`.

    ``unit`` is what the value is measured in. ``better`` is ``higher``, ``lower`` or ``none``: in which direction
    a threshold bounds it. ``statistic`` is what of a node's counted steps is held against a threshold;
    of `METRICS_OF_RUN` it is of all steps. ``printed`` are the settings of a log with such a metric, each with
    how many of its units make one of the metric's; the largest value counts.
    """

    unit: str
    better: str
    statistic: str
    printed: tuple[tuple[str, float], ...] = ()


METRICS = {
    "step_time_ms": Metric("ms", "lower", "median"),
    "tflops_per_gpu": Metric("TFLOP/s", "higher", "median"),
    "tokens_per_sec_per_gpu": Metric("tokens/s", "higher", "median"),
    "memory_fraction": Metric("1", "lower", "max"),
    "loss": Metric("1", "lower", "last"),
    "grad_norm": Metric("1", "none", "median"),
    "learning_rate": Metric("1", "none", "last"),
    "skipped_iterations": Metric("iterations", "none", "max"),
    "nan_iterations": Metric("iterations", "none", "max"),
}

# A run has one value of each, not one for each step. The first two belong to the first step whose loss is at or below
# the plan's target; the last is the longest save that a log mentions.
METRICS_OF_RUN = {
    "steps_to_target_loss": Metric("steps", "lower", "first"),
    "time_to_target_loss": Metric("s", "lower", "first"),
    "checkpoint_save_seconds": Metric("s", "lower", "max", (("save_seconds", 1.0), ("save_ms", 1000.0))),
}
ALL_METRICS = {**METRICS, **METRICS_OF_RUN}

# What a step line says as well, by which a verdict knows the run that it is of: seconds of the log's own clock, the
# samples consumed since the first step, the sequences per second of a job whose tokens are not known, the global batch
# size, the loss scale, the norm of the weights, the tokens that
# have a loss and the updates of the weights. They stand with the metrics of a row, and are none themselves. Where one
# is printed and is no finite number, it is infinite. `OTHER_FIELDS` stands there only where any other field of the line
# is NaN or infinite, and is infinite itself.
OTHER_FIELDS = "other_fields"
EVIDENCE = (
    "clock",
    "consumed_samples",
    "sequences_per_sec",
    "global_batch_size",
    "loss_scale",
    "parameter_norm",
    "tokens_with_loss",
    "updates",
    OTHER_FIELDS,
)
