# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast each RDMA adapter of a node writes to itself: ib_write_bw of perftest, with both ends on the node.

Nothing leaves the node, so a slow or dead adapter shows without a partner, a cable or a switch.
"""

from __future__ import annotations

import shlex
import typing as t

from ...phase import NodeError
from ..face import Reading
from ..known import PROBES
from . import probe as pairs
from .output import bits_per_second

if t.TYPE_CHECKING:
    from ...contracts import Asked
    from ..programs import Programs

NAME = "ib_loopback"
_PORT = 18515
# The end that connects tries until the other one listens.
_TRIES = 10
found = pairs.found


def measure(asked: Asked, programs: Programs) -> list[Reading]:
    """Return the seconds that each adapter takes to write a gigabyte to itself."""
    return [_measured(adapter, place, programs) for place, adapter in enumerate(asked["units"][NAME])]


def script(adapter: str, place: int, environment: t.Mapping[str, str]) -> str:
    """Return the script that starts both ends of an adapter; the listening one prints nothing."""
    listening, connecting = (
        shlex.join(pairs.command(adapter, _PORT + place, environment, address)) for address in ("", "127.0.0.1")
    )
    return (
        f"{listening} >/dev/null 2>&1 & other=$!; "
        f"for try in $(seq {_TRIES}); do sleep 0.2; {connecting} && exit 0; done; "
        "kill $other 2>/dev/null; exit 1"
    )


def _measured(adapter: str, place: int, programs: Programs) -> Reading:
    samples, problem = [], ""
    try:
        both = ["bash", "-c", script(adapter, place, programs.node["env"])]
        output = programs.run(f"{NAME}_{adapter}", both, PROBES[NAME].more)
        samples = [pairs.BITS / bits_per_second(output)]
    except (NodeError, ValueError) as error:
        problem = str(error)
    return Reading(f"{NAME} {adapter}", f"HCA {adapter}", samples, problem)
