# SPDX-License-Identifier: GPL-3.0-or-later
"""How much room a run will still take on the controller."""

from __future__ import annotations

import math

from ...module_utils.node.phases.collect import KEPT_OF_BEGIN, KEPT_OF_END
from .board import Board

_LEAST_BYTES = 10 << 20
# Its steps, its log and its part of the report each take about as much as a node's log.
_TIMES = 3


def room_needed(board: Board) -> int:
    """Return about how many bytes a run takes in the end, by the logs of its nodes and how far these got."""
    size = 0.0
    for node in board.plan()["nodes"]:
        known = board.status(node["node"])
        share = (known.get("last_step") or 0) / (known.get("steps_total") or math.inf)
        size += min((known.get("log_bytes") or 0) / max(share, 0.01), KEPT_OF_BEGIN + KEPT_OF_END)
    return max(_LEAST_BYTES, int(_TIMES * size))
