# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast the GPUs of two nodes reduce together, with PyTorch: each node starts its own processes, as a training does.

So nodes need not reach each other by SSH. Processes meet at the port of the node that listens.
"""

from __future__ import annotations

import typing as t

from ...phase import NodeError
from ..face import Reading
from ..known import PROBES
from . import probe
from .running import lines_in, part_of, ran

if t.TYPE_CHECKING:
    from ...contracts import Asked
    from ..programs import Programs

NAME = "torch_pairs"


# The same look, so that it is taken once for both.
found = probe.found


def measure(asked: Asked, programs: Programs) -> list[Reading]:
    """Return, on the node that listens, the seconds of an all-reduce of 256 MiB: of the slowest GPU of it."""
    partner, seconds = asked["partner"], PROBES[NAME].seconds
    place = 0 if partner["serves"] else 1
    times = ["--patience", str(seconds - 10), "--limit", str(seconds - 5)]
    arguments = ["--nodes", "2", "--node", str(place), *times]
    meeting = {"MASTER_ADDR": partner["address"], "MASTER_PORT": str(partner["port"])}
    lines = lines_in(ran(NAME, arguments, seconds, programs, meeting))
    for line in lines:
        if line["problem"]:
            raise NodeError(f"{part_of(line)}: {line['problem']}")
    if not partner["serves"]:
        return []
    slowest = max((line["seconds"]["all_reduce"] for line in lines), key=sum)
    return [Reading("torch_all_reduce", "link", slowest)]
