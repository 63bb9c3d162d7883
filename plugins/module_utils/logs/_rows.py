# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The step rows that were read of a log."""

from __future__ import annotations

import typing as t
from itertools import repeat

from ansible_collections.trainops.cluster.plugins.module_utils.logs._record import with_derived_metrics

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from ansible_collections.trainops.cluster.plugins.module_utils.logs._record import StepRow


class StepBlock(t.NamedTuple):
    """Steps in their order that have the same metrics, as columns, which all have the same length.

    ``timer_kept_on`` tells whether their process measured its first two steps together.
    """

    steps: t.List[int]
    totals: t.List[int]
    metrics: t.Dict[str, t.List[float]]
    timer_kept_on: bool

    def each(self) -> Iterator[tuple[int, int, dict[str, float]]]:
        """Yield each step with its total and its metrics."""
        names = tuple(self.metrics)
        values = zip(*self.metrics.values()) if names else repeat(())
        return zip(self.steps, self.totals, (dict(zip(names, row)) for row in values))

    def found(self) -> Iterator[dict[str, t.Any]]:
        """Yield what each of the steps says, as a grammar's ``parse`` does."""
        for step, total, metrics in self.each():
            yield {"step": step, "steps_total": total, "metrics": metrics, "timer_kept_on": self.timer_kept_on}


class StepRows:
    """Step rows in their order, as an iterable with a length.

    A log may have hundreds of thousands of them, and to make one takes longer than to read it: so those of a block are
    made when they are looked at. Token rates that a log lacks are filled in with ``tokens_per_step_per_gpu``, see
    `with_derived_metrics`.
    """

    def __init__(self, tokens_per_step_per_gpu: float | None = None) -> None:
        """Begin with none."""
        self._tokens_per_step_per_gpu = tokens_per_step_per_gpu
        self._parts: list[StepRow | tuple[int, StepBlock]] = []

    def __len__(self) -> int:
        return sum(1 if isinstance(part, dict) else len(part[1].steps) for part in self._parts)

    def __bool__(self) -> bool:
        return bool(self._parts)

    def __iter__(self) -> Iterator[StepRow]:
        tokens = self._tokens_per_step_per_gpu
        for part in self._parts:
            rows = (part,) if isinstance(part, dict) else _rows(*part)
            yield from rows if tokens is None else (with_derived_metrics(row, tokens) for row in rows)

    def add(self, row: StepRow) -> None:
        """Add a row."""
        self._parts.append(row)

    def add_block(self, attempt: int, block: StepBlock) -> None:
        """Add steps of an attempt, all of which count."""
        self._parts.append((attempt, block))

    def take_last(self) -> StepRow:
        """Remove the last row and return it, without metrics that were filled in; raises IndexError for no rows."""
        part = self._parts.pop()
        if isinstance(part, dict):
            return part
        *rows, last = _rows(*part)
        self._parts += rows
        return last


def _rows(attempt: int, block: StepBlock) -> Iterator[StepRow]:
    for step, total, metrics in block.each():
        yield {"attempt": attempt, "step": step, "steps_total": total, "metrics": metrics}
