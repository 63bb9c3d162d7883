# SPDX-License-Identifier: GPL-3.0-or-later
"""What fields of a log, settings of a training and parts of a run are called in a sentence."""

from __future__ import annotations

from .numbers import name_of

_COUNT = "number of "
_FIELDS = {
    "iterations": f"{_COUNT}iterations",
    "gpus": f"{_COUNT}ranks",
    "batch_per_device": "batch size per device",
    "accumulated_batches": f"{_COUNT}accumulated batches",
    "tensor_parallelism": "tensor parallel size",
    "pipeline_parallelism": "pipeline parallel size",
    "data_parallelism": "data parallel size",
    "context_parallelism": "context parallel size",
    "layers": f"{_COUNT}layers",
    "vocabulary": "vocabulary size",
    "parameter_norm": "norm of the weights",
    "tokens_with_loss": f"{_COUNT}tokens with a loss",
}
_PARTS = {"rest": "the rest", "first_fifth": "the first fifth", "second_fifth": "the second fifth"}


def field(name: str) -> str:
    """Return what a setting or a field of a step line is called: ``sequence length``, ``number of ranks``."""
    return _FIELDS.get(name) or name_of(name)


def is_count(name: str) -> bool:
    """Return whether a setting counts things: ``16 ranks`` as opposed to ``a sequence length of 4,096``."""
    return field(name).startswith(_COUNT)


def things(name: str) -> str:
    """Return what such a setting counts: ``ranks``."""
    return field(name).removeprefix(_COUNT)


def part(name: str) -> str:
    """Return what a part of the steps is called."""
    return _PARTS.get(name, name)
