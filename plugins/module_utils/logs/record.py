# SPDX-License-Identifier: GPL-3.0-or-later
"""The yield of a training log: step rows, and the records made of them.

A *step row* is one training iteration as one node's log has it::

    {"attempt": 1, "step": 7, "steps_total": 30, "metrics": {"step_time_ms": 10235.8, "loss": 7.27}}

``attempt`` starts at 1 and grows by one whenever the step number goes back (a restart). ``metrics`` maps canonical
metric names and the names in `EVIDENCE` to floats. They may be NaN or infinite, as printed by the trainer; NaN also
stands for a text in the place of a number. A step that is known to be badly measured has ``"left_out"``, the reason as
a sentence; steps without it count.
"""

from __future__ import annotations

import typing as t


class LeftOut(t.TypedDict, total=False):
    """Why a step does not count, if it does not."""

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

    ``better`` is ``higher``, ``lower`` or ``none``, the side of a good value. A threshold is compared with the
    ``statistic`` over a node's counted steps, of `METRICS_OF_RUN` over all steps. ``printed`` are the settings of a log
    with such a metric, each with how many of its units make one of the metric's; the largest value counts.
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

# Further values of a step line. They show a verdict which run the line belongs to: seconds of the log's own clock, the
# samples consumed since the first step, the sequences per second of a job whose tokens are not known, the global batch
# size, the loss scale, the norm of the weights, the tokens that have a loss and the updates of the weights. They are
# stored with the metrics of a row, but are not metrics. If one is printed but is not a finite number, it is infinite.
# `OTHER_FIELDS` is present only if any other field of the line is NaN or infinite, and is infinite itself.
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
