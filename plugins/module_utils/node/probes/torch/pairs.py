# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast the GPUs of two nodes reduce together, and how fast they send to each other, with PyTorch."""

from __future__ import annotations

import typing as t

from ..face import Reading
from . import probe
from .running import Meeting, slowest_of, together

if t.TYPE_CHECKING:
    from ...contracts import Asked
    from ..programs import Programs

NAME = "torch_pairs"
# Data parallelism reduces, and pipeline parallelism sends and receives.
_WORKS = ("all_reduce", "send_recv")


# Sharing the function means that a node is checked once for all probes of PyTorch.
found = probe.found


def measure(asked: Asked, programs: Programs) -> list[Reading]:
    """Return, on the node that listens, the seconds of an all-reduce of 256 MiB, and of 64 MiB to and fro.

    The times are the slowest GPU's; each GPU sends to the GPU of the same number.
    """
    partner = asked["partner"]
    place = 0 if partner["serves"] else 1
    lines = together(NAME, _WORKS, Meeting(2, place, partner["address"], partner["port"]), programs)
    return [] if place else [Reading(f"torch_{work}", "link", slowest_of(lines, work)) for work in _WORKS]
