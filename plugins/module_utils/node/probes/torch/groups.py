# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast all GPUs of a group of nodes reduce, and how fast each sends to all others, with PyTorch.

Times are for the same number of bytes through each GPU, whatever the size of the group: they are divided by the factor
that nccl-tests use to turn the bandwidth into the bus bandwidth (doc/PERFORMANCE.md there). So groups of all sizes can
be compared.
"""

from __future__ import annotations

import typing as t

from ..face import Reading
from . import probe
from .running import Meeting, slowest_of, together

if t.TYPE_CHECKING:
    from ...contracts import Asked
    from ..programs import Programs

NAME = "torch_groups"
# The factor is how often each byte passes a GPU when there are very many.
_WORKS = {"all_reduce": 2, "all_reduce_small": 2, "all_to_all": 1, "all_to_all_small": 1}


# Sharing the function means that a node is checked once for all probes of PyTorch.
found = probe.found


def measure(asked: Asked, programs: Programs) -> list[Reading]:
    """Return, on the first node, the seconds of each kind of work of the slowest GPU of it."""
    group = asked["group"]
    meeting = Meeting(group["size"], group["place"], group["address"], group["port"])
    lines = together(NAME, list(_WORKS), meeting, programs)
    if group["place"]:
        return []
    gpus = group["size"] * len(lines)
    measured = {work: slowest_of(lines, work) for work in _WORKS}
    return [
        Reading(f"{NAME}_{work}", "groups", [sample / (times * (gpus - 1) / gpus) for sample in samples])
        for work, times in _WORKS.items()
        if (samples := measured[work])
    ]
