# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a node as arrays: judging a thousand steps one by one takes a hundred times as long."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .extremes import LARGEST_COUNT

if t.TYPE_CHECKING:
    from ...module_utils.logs.rows import StepBlock

# Trainers compute what they print in no wider format.
_LARGEST = float(np.finfo(np.float32).max)
# Seconds since 1970, until the year 2286.
_LARGEST_OF = {"clock": 1e10}


@dataclass(frozen=True)
class StepColumns:
    """Steps in their order, one row per attempt and step, as arrays of the same length.

    ``left_out`` is the reason of the row's own not to count, else empty. ``printed`` tells which rows have a metric;
    its value in ``metrics`` is NaN where they have not, and where NaN was printed.
    """

    attempt: np.ndarray
    step: np.ndarray
    left_out: np.ndarray
    metrics: dict[str, np.ndarray]
    printed: dict[str, np.ndarray]

    def __len__(self) -> int:
        """Return how many rows there are."""
        return int(self.step.size)


def columns_of(blocks: Iterable[StepBlock]) -> StepColumns:
    """Return the steps of step blocks. A value that float32 cannot hold is infinite, and a time that no calendar knows.

    A step is read twice where the log repeats it, or where the run was followed again. Its later values count, but one
    that the later row lacks, as its line was torn, is not lost.
    """
    kept = list(blocks)
    sizes = [len(block["steps"]) for block in kept]
    attempt = np.repeat(np.array([block["attempt"] for block in kept], dtype=np.int64), sizes)
    step = np.array([min(one, LARGEST_COUNT) for block in kept for one in block["steps"]], dtype=np.int64)
    reason = np.repeat(np.array([block.get("left_out", "") for block in kept], dtype=object), sizes)
    order = np.lexsort((step, attempt))
    changes = (np.diff(attempt[order]) != 0) | (np.diff(step[order]) != 0)
    # The row that each line becomes. Of lines that become the same one, what is assigned last stays.
    row = np.empty(step.size, dtype=np.int64)
    row[order] = np.cumsum(np.concatenate(([False], changes)))[: step.size]
    size = int(row.max()) + 1 if step.size else 0
    once = np.empty(size, dtype=np.int64)
    once[row] = np.arange(step.size)
    metrics: dict[str, np.ndarray] = {}
    printed: dict[str, np.ndarray] = {}
    begin = 0
    for block, length in zip(kept, sizes, strict=True):
        lines = row[begin : begin + length]
        begin += length
        for name, values in block["metrics"].items():
            if name not in metrics:
                metrics[name], printed[name] = np.full(size, np.nan), np.zeros(size, dtype=bool)
            metrics[name][lines] = values
            printed[name][lines] = True
    for name, column in metrics.items():
        large = np.abs(column) > _LARGEST_OF.get(name, _LARGEST)
        column[large] = np.copysign(np.inf, column[large])
    return StepColumns(attempt[once], step[once], reason[once], metrics, printed)
