# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a log may be silent before its run counts as hung, by its steps so far."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from ...module_utils.logs.rows import StepBlock, rows_of

_LEAST_SECONDS = 60.0
_STEPS = 20
_REMEMBERED = 500
_FEW = 3


class StepPace:
    """The seconds between the step lines of a log; only the last few hundred count."""

    def __init__(self) -> None:
        """Begin without a step."""
        self._gaps: deque[float] = deque(maxlen=_REMEMBERED)
        self._last_step: int | None = None

    def add(self, blocks: Iterable[StepBlock]) -> None:
        """Take the steps of an answer: a trainer that prints each tenth step is silent for ten steps."""
        for row in rows_of(list(blocks)):
            steps = 1 if self._last_step is None else row["step"] - self._last_step
            if steps > 0 and "step_time_ms" in row["metrics"]:
                self._gaps.append(steps * row["metrics"]["step_time_ms"] / 1000)
            self._last_step = row["step"]

    def limit(self, longest: float, pausing: bool) -> float:
        """Return how many seconds there may be no line: 20 times the 95th percentile of the gaps, at least 60.

        It is at most ``longest``, and exactly that before the third step and while the trainer is ``pausing``:
        compiling, evaluating or writing a checkpoint.
        """
        if pausing or len(self._gaps) < _FEW:
            return longest
        p95 = sorted(self._gaps)[int(0.95 * (len(self._gaps) - 1))]
        return min(longest, max(_LEAST_SECONDS, _STEPS * p95))
