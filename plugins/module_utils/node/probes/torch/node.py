# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast the GPUs of a node reduce together, over NVLink, XGMI or PCIe, with PyTorch."""

from __future__ import annotations

import socket
import typing as t

from ..face import Found, Reading
from . import probe
from .running import Meeting, slowest_of, together

if t.TYPE_CHECKING:
    from ...contracts import Asked
    from ..programs import Programs

NAME = "torch_node"
_WORKS = ("all_reduce", "reduce_scatter")
_HERE = "127.0.0.1"


def found(programs: Programs) -> Found:
    """Return whether the Python of the image, or of the node, has PyTorch that sees several GPUs."""
    seen = probe.found(programs)
    return Found(seen.lacks or ("" if len(seen.units) > 1 else "PyTorch sees one GPU there"), [])


def measure(asked: Asked, programs: Programs) -> list[Reading]:  # noqa: ARG001
    """Return the seconds that the slowest GPU takes to reduce 256 MiB, and to reduce and scatter as much."""
    with socket.socket() as free:
        free.bind((_HERE, 0))
        port = free.getsockname()[1]
    lines = together(NAME, _WORKS, Meeting(1, 0, _HERE, port), programs)
    return [Reading(f"{NAME}_{work}", "GPUs", slowest_of(lines, work)) for work in _WORKS]
