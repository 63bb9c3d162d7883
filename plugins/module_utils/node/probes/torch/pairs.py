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
# Data parallelism reduces, and pipeline parallelism sends and receives: first from the GPUs of the first node.
_SENDS = ("send_of_first", "send_of_second")


# Sharing the function means that a node is checked once for all probes of PyTorch.
found = probe.found


def measure(asked: Asked, programs: Programs) -> list[Reading]:
    """Return the seconds of sending 64 MiB and, on the node that listens, of an all-reduce of 256 MiB.

    The times are the slowest GPU's; each GPU sends to the GPU of the same number of the other node.
    """
    partner = asked["partner"]
    place = 0 if partner["serves"] else 1
    meeting = Meeting(2, place, partner["address"], partner["port"])
    lines = together(NAME, ["all_reduce", *_SENDS], meeting, programs)
    reduced = [] if place else [Reading("torch_all_reduce", "link", slowest_of(lines, "all_reduce"))]
    return [*reduced, Reading("torch_send_recv", "link", slowest_of(lines, _SENDS[place]))]
