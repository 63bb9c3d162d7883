# SPDX-License-Identifier: GPL-3.0-or-later
"""Which GPUs fail in DCGM's quick diagnosis, level 1: pages that were retired, settings, libraries, the fabric manager.

It runs on the node, where DCGM is, and not in a container. It measures no time: a GPU that passes is in no list.
"""

from __future__ import annotations

import typing as t

from ...inspection.tools import ToolError, run_tool
from ...phase import NodeError
from ..face import Found, Reading
from ..known import PROBES
from .output import failures_in

if t.TYPE_CHECKING:
    from ...contracts import Asked
    from ..programs import Programs

NAME = "dcgm"
_LOOK_SECONDS = 10.0
# It fails if a GPU does, and prints the results as well.
_DIAGNOSIS = "dcgmi diag --run 1 --json || true"


def found(_programs: Programs) -> Found:
    """Return whether DCGM answers."""
    try:
        run_tool(["dcgmi", "discovery", "--list"], _LOOK_SECONDS)
    except ToolError as error:
        return Found(str(error))
    return Found("")


def measure(_asked: Asked, programs: Programs) -> list[Reading]:
    """Return the GPUs that fail, each with the messages of its tests."""
    output = programs.run_on_node(["sh", "-c", _DIAGNOSIS], PROBES[NAME].seconds, "dcgmi diag")
    try:
        failures = failures_in(output)
    except ValueError:
        raise NodeError("dcgmi diag printed no results; is nv-hostengine running?") from None
    return [Reading(NAME, part, [], problem) for part, problem in failures.items()]
