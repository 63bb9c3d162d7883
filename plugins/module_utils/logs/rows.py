# SPDX-License-Identifier: GPL-3.0-or-later
"""The step rows of a log, as blocks.

A *step block* contains consecutive rows with the same metrics, as columns of the same length. A node sends such blocks,
and the controller keeps them::

    {"attempt": 1, "steps": [7, 8], "steps_total": 30, "metrics": {"step_time_ms": [10235.8, 10236.1]}}

A step that is left out is in a block of its own, which has ``"left_out"``.
"""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Iterator
from itertools import repeat

from .record import EVIDENCE, METRICS, LeftOut, Record, StepRow


class StepBlock(LeftOut):
    """Rows of one attempt as columns."""

    attempt: int
    steps: list[int]
    steps_total: int | None
    metrics: dict[str, list[float]]


class _OfSomeGrammars(t.TypedDict, total=False):
    sequences_per_sec: float | None
    new_process: bool
    timer_kept_on: bool


class FoundStep(_OfSomeGrammars):
    """The values that a grammar found for a step; see `grammar.Grammar`."""

    step: int
    steps_total: int | None
    metrics: dict[str, float]


class FoundSteps(t.NamedTuple):
    """The values that a grammar found for several steps in their order, as columns of the same length; see `StepBlock`.

    ``timer_kept_on`` says whether their process measured its first two steps together.
    """

    steps: t.List[int]
    steps_total: int
    metrics: t.Dict[str, t.List[float]]
    timer_kept_on: bool

    def each(self) -> Iterator[FoundStep]:
        """Yield each step by itself, in the form that a grammar's ``parse`` yields."""
        for step, metrics in _each(self.steps, self.metrics):
            yield {
                "step": step,
                "steps_total": self.steps_total,
                "metrics": metrics,
                "timer_kept_on": self.timer_kept_on,
            }


class StepRows:
    """Step rows in their order, as an iterable with a length.

    They are kept as blocks, because building a row costs more than reading it. Token rates that a log lacks are filled
    in with ``tokens_per_step_per_gpu``, see `blocks`; ``tokens_per_sequence_per_gpu`` is for who adds rows of
    sequences/s.
    """

    def __init__(
        self, tokens_per_step_per_gpu: float | None = None, tokens_per_sequence_per_gpu: float | None = None
    ) -> None:
        """Begin with none."""
        self.tokens_per_sequence_per_gpu = tokens_per_sequence_per_gpu
        self._tokens_per_step_per_gpu = tokens_per_step_per_gpu
        self._blocks: list[StepBlock] = []
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[StepRow]:
        return rows_of(self.blocks())

    def blocks(self) -> list[StepBlock]:
        """Return the blocks.

        If a step has a time and no token rate, the rate is ``tokens_per_step_per_gpu`` / step time, in tokens/s/GPU.
        ``tokens_per_step_per_gpu`` is global batch size × sequence length / GPUs of the job, in tokens; the closing
        lines of ROCm Megatron-LM's train_llama3.sh use the same formula.
        """
        tokens = self._tokens_per_step_per_gpu
        if tokens is None:
            return self._blocks
        return [filled for block in self._blocks for filled in _with_token_rates(block, tokens)]

    def add(self, row: StepRow) -> None:
        """Add a row."""
        self._size += 1
        if self._blocks and _fits(row, self._blocks[-1]):
            block = self._blocks[-1]
            block["steps"].append(row["step"])
            for metric, column in block["metrics"].items():
                column.append(row["metrics"][metric])
            return
        began: StepBlock = {
            "attempt": row["attempt"],
            "steps": [row["step"]],
            "steps_total": row["steps_total"],
            "metrics": {metric: [value] for metric, value in row["metrics"].items()},
        }
        if "left_out" in row:
            began["left_out"] = row["left_out"]
        self._blocks.append(began)

    def add_found(self, attempt: int, found: FoundSteps) -> None:
        """Add steps of an attempt. All of them count."""
        self._size += len(found.steps)
        self._blocks.append(
            {
                "attempt": attempt,
                "steps": found.steps,
                "steps_total": found.steps_total,
                "metrics": found.metrics,
            }
        )

    def take_last(self) -> StepRow:
        """Remove the last row and return it, without metrics that were filled in; raises IndexError for no rows."""
        block = self._blocks[-1]
        row = _row(block, block["steps"].pop(), {metric: column.pop() for metric, column in block["metrics"].items()})
        self._size -= 1
        if not block["steps"]:
            self._blocks.pop()
        return row


def rows_of(blocks: Iterable[StepBlock]) -> Iterator[StepRow]:
    """Yield the rows of blocks."""
    for block in blocks:
        for step, metrics in _each(block["steps"], block["metrics"]):
            yield _row(block, step, metrics)


def records_of(blocks: Iterable[StepBlock]) -> Iterator[Record]:
    """Yield one record per measurement of blocks, in the order of their steps."""
    for block in blocks:
        attempt, columns = block["attempt"], block["metrics"]
        measured = [(metric, METRICS[metric].unit, columns[metric]) for metric in columns if metric not in EVIDENCE]
        for place, step in enumerate(block["steps"]):
            for metric, unit, column in measured:
                yield {"attempt": attempt, "step": step, "metric": metric, "value": column[place], "unit": unit}


def _fits(row: StepRow, block: StepBlock) -> bool:
    return (
        block["metrics"].keys() == row["metrics"].keys()
        and block["attempt"] == row["attempt"]
        and block["steps_total"] == row["steps_total"]
        and "left_out" not in row
        and "left_out" not in block
    )


def _row(block: StepBlock, step: int, metrics: dict[str, float]) -> StepRow:
    row: StepRow = {"attempt": block["attempt"], "step": step, "steps_total": block["steps_total"], "metrics": metrics}
    if "left_out" in block:
        row["left_out"] = block["left_out"]
    return row


def _each(steps: list[int], metrics: dict[str, list[float]]) -> Iterator[tuple[int, dict[str, float]]]:
    values = zip(*metrics.values()) if metrics else repeat(())
    return zip(steps, (dict(zip(metrics, row)) for row in values))


def _with_token_rates(block: StepBlock, tokens: float) -> list[StepBlock]:
    metrics = block["metrics"]
    if "tokens_per_sec_per_gpu" in metrics or "step_time_ms" not in metrics:
        return [block]
    times = metrics["step_time_ms"]
    if all(times):
        rates = [tokens * 1000.0 / time for time in times]
        return [{**block, "metrics": {**metrics, "tokens_per_sec_per_gpu": rates}}]
    if len(times) == 1:
        return [block]
    return [filled for one in _one_by_one(block) for filled in _with_token_rates(one, tokens)]


def _one_by_one(block: StepBlock) -> Iterator[StepBlock]:
    for place, step in enumerate(block["steps"]):
        columns = {metric: column[place : place + 1] for metric, column in block["metrics"].items()}
        yield {**block, "steps": [step], "metrics": columns}
