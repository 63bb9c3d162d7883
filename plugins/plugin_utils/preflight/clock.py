# SPDX-License-Identifier: GPL-3.0-or-later
"""How far the clock of a node is from this machine's, by when it was asked and when its answer came."""

from __future__ import annotations

import typing as t


def with_offset(facts: t.Any, sent: float, received: float) -> dict[str, t.Any]:
    """Return the facts of an inspection that was ``sent`` and ``received`` at these times of this machine, in seconds.

    ``offset_seconds`` of their ``clock`` is the least and the most that the node's clock is ahead: whatever the way
    there and back took, the inspection lies between the two. ValueError without such times.
    """
    try:
        clock = facts["clock"]
        offset = [clock["time"] - received, clock["began"] - sent]
        return {**facts, "clock": {**clock, "offset_seconds": offset}}
    except (KeyError, TypeError, OverflowError):
        raise ValueError("its answer is invalid: it has no time that a clock could show") from None
