# SPDX-License-Identifier: GPL-3.0-or-later
"""The rank that a trainer itself names as the slowest, again and again: a suspicion, which tests of its node decide.

It times what each rank does by itself, so that the ranks do not wait for each other in it.
"""

from __future__ import annotations

import typing as t

from .seen import Seen

if t.TYPE_CHECKING:
    from .reasons import Reasons

_FEWEST_LINES = 10
# Equally fast ranks are each named now and then.
_SHARE = 0.5


def note_slow_rank(seen: Seen, reasons: Reasons) -> None:
    """Note a rank that was the slowest in more than half of the trainer's lines, of which there are at least 10.

    Stages of a pipeline have different work, so that one is always the slowest: there, none is noted.
    """
    parameters = seen.plan["parameters"]
    gpus = parameters.get("gpus_per_node")
    split = parameters.get("pipeline_parallelism")
    if seen.plan["mode"] != "multi_node" or not isinstance(gpus, int) or split not in (None, 1):
        return
    for status in seen.statuses:
        rank, lead, lines = (*status["trainer"]["settings"].get("slowest_rank", ()), 0.0, 0.0, 0.0)[:3]
        if not (lines >= _FEWEST_LINES and lead > _SHARE * lines):
            continue
        node = next((one["node"] for one in seen.statuses if one["node_rank"] == rank // gpus), None)
        if node:
            reasons.remark("slow_rank", node, rank=int(rank), gpu=int(rank % gpus), lines=int(lines), share=_SHARE)
