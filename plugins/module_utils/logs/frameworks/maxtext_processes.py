# SPDX-License-Identifier: GPL-3.0-or-later
"""Which steps of MaxText's log are those of another process: where a node runs several, all print each step.

They share a log, and none waits for the others to print, so they are a few steps apart.
"""

from __future__ import annotations

import math
import typing as t
from collections.abc import Iterator

from ..find import Piece
from . import maxtext

# Further back a step is done again, after a restart whose begin the log does not show.
_APART = 4


def parse(piece: Piece, memory: dict[str, t.Any]) -> Iterator[dict[str, t.Any]]:
    """Yield the steps of ``maxtext.parse``, each as the first process prints it, and what is no number of any."""
    for found in maxtext.parse(piece, memory):
        furthest, step = memory.get("furthest"), found["step"]
        is_of_another = furthest is not None and not found["new_process"] and furthest - _APART <= step <= furthest
        if not is_of_another:
            memory["furthest"] = step
        if not is_of_another or not all(map(math.isfinite, found["metrics"].values())):
            yield found


GRAMMAR = maxtext.GRAMMAR._replace(parse=parse)
