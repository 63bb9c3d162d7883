# SPDX-License-Identifier: GPL-3.0-or-later
"""What a process reports about its training: sizes, and the checkpoint that it resumes from."""

from __future__ import annotations

import math
from collections.abc import Iterable

from .find import Piece, Printed
from .pattern import later
from .record import METRICS_OF_RUN

# Values of metrics of the run, such as how long writing a checkpoint took. A log may have many of these; the largest
# one is kept.
LARGEST = tuple(setting for metric in METRICS_OF_RUN.values() for setting, _units in metric.printed)
SETTINGS = (
    "sequence_length",
    "micro_batch_size",
    "global_batch_size",
    "iterations",
    "gpus",
    "tensor_parallelism",
    "pipeline_parallelism",
    "data_parallelism",
    "context_parallelism",
    "steps_per_line",
    "vocabulary",
    # For the whole model.
    "layers",
    "hidden_size",
    "billions_of_parameters",
    # For the first rank of a model, which is a part of it if it is split.
    "parameters_of_rank",
    # TFLOPs of a device.
    "tflops_of_step",
    # Sequences of a micro batch on each device, and how many of these a step takes.
    "batch_per_device",
    "accumulated_batches",
    # The step that the training resumed from, its first step, and the last step that it reported.
    "resumed",
    "begun",
    "ended",
    # The rank that was the slowest of all for some steps.
    "slowest_rank",
    *LARGEST,
)
# A log has one of these every few steps. The value that most of them have is kept, if any has more than half, by the
# majority vote of Boyer and Moore: the value, its lead, which is less than the lines that have it, and all lines.
VOTED = ("slowest_rank",)
# The words that a trainer prints about its run, by the names of its own arguments.
ARGUMENTS = (
    *("fp16", "bf16", "fp8", "fp8_format", "recompute_granularity", "tokenizer_model"),
    *("dtype", "quantization", "remat_policy", "tokenizer_path"),
    # The times when a process reported the begin or the end of its training.
    "datetime",
    # The evaluations that printed NaN or infinity.
    "evaluation_not_finite",
)
# More values of one setting than a log of one run has.
MOST_VALUES = 4
_NUMBER = later(rb"[0-9]+(?:\.[0-9]+)?")


def add_settings(before: dict[str, list[float]], known: Iterable[Printed], piece: Piece) -> dict[str, list[float]]:
    """Return the settings of the report and of the piece, each with its different values, in their order, or
    with the largest one, or as `VOTED` says.

    A group of a pattern that is named as one of `SETTINGS` has its number, or several numbers whose product it is.
    """
    found = {name: list(values) for name, values in before.items()}
    for printed in known:
        for match in printed.matches(piece):
            name = match.lastgroup or ""
            values = found.setdefault(name, [])
            value = math.prod(map(float, _NUMBER.findall(match.group(name))))
            if name in LARGEST:
                values[:] = [max([value, *values])]
            elif name in VOTED:
                values[:] = _voted(value, *(values or (value, 0.0, 0.0)))
            elif value not in values and len(values) < MOST_VALUES:
                values.append(value)
    return found


def _voted(value: float, leader: float, lead: float, lines: float) -> list[float]:
    if not lead or value == leader:
        return [value, lead + 1, lines + 1]
    return [leader, lead - 1, lines + 1]


def add_arguments(before: dict[str, list[str]], known: Iterable[Printed], piece: Piece) -> dict[str, list[str]]:
    """Return the arguments of the report and of the piece, each with its different texts, in their order.

    A group of a pattern is named as one of `ARGUMENTS`.
    """
    found = before
    for printed in known:
        for match in printed.matches(piece):
            name = match.lastgroup or ""
            text = " ".join(match.group(name).decode("utf-8", "replace").split())
            values = found.get(name, [])
            if text not in values and len(values) < MOST_VALUES:
                found = {**found, name: [*values, text]}
    return found
