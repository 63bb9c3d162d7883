# SPDX-License-Identifier: GPL-3.0-or-later
"""Which steps in MaxText's log come from another process: on a node with several, each prints every step.

They share a log, and none waits for the others to print, so they are a few steps apart.
"""

from __future__ import annotations

import math
import typing as t
from collections.abc import Iterator

from ..find import Piece
from ..rows import FoundStep
from . import maxtext

# Further back a step is done again, after a restart whose begin the log does not show.
_APART = 4
# Losses are printed with three decimals.
_SAME_LOSS = 2e-3
_LOSS = "loss "


def parse(piece: Piece, memory: dict[str, t.Any]) -> Iterator[FoundStep]:
    """Yield the steps of ``maxtext.parse``, each as the first process prints it, and the values that are no number."""
    for found in maxtext.parse(piece, memory):
        furthest, step = memory.get("furthest"), found["step"]
        is_of_another = furthest is not None and not found["new_process"] and furthest - _APART <= step <= furthest
        if not is_of_another:
            memory["furthest"] = step
            _remember(found, memory)
        if not is_of_another or not all(map(math.isfinite, found["metrics"].values())) or _differs(found, memory):
            yield found


def _remember(found: FoundStep, memory: dict[str, t.Any]) -> None:
    """Keep the loss of the last steps as text, because a memory holds only plain values."""
    step = found["step"]
    for key in [key for key in memory if key.startswith(_LOSS) and not step - _APART <= int(key[len(_LOSS) :]) < step]:
        del memory[key]
    if "loss" in found["metrics"]:
        memory[f"{_LOSS}{step}"] = repr(found["metrics"]["loss"])


def _differs(found: FoundStep, memory: dict[str, t.Any]) -> bool:
    """Tell whether a step's loss differs from the one the first process printed: it is the loss of the whole batch."""
    loss, first = found["metrics"].get("loss"), memory.get(f"{_LOSS}{found['step']}")
    if loss is None or first is None:
        return False
    return bool(abs(loss - float(first)) > _SAME_LOSS * max(1.0, abs(float(first))))


GRAMMAR = maxtext.GRAMMAR._replace(parse=parse)
