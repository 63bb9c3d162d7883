# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the GPUs of a node pass a recipe of AMD's GPU Field Health Check (AGFHC): compute, HBM and XGMI in 5 minutes.

It runs on the node, where AGFHC is, and not in a container. It measures no time, and does not say which GPU fails: its
logs in the folder of the isolation do.
"""

from __future__ import annotations

import os
import shlex
import typing as t

from ...inspection.tools import ToolError, run_tool
from ...phase import NodeError
from ..face import Found, Reading
from ..known import PROBES
from .output import failure_in

if t.TYPE_CHECKING:
    from ...contracts import Asked
    from ..programs import Programs

NAME = "agfhc"
# The installer puts it there, which is in no PATH.
_WITH_FOLDER = 'PATH="$PATH:/opt/amd/agfhc"; '
_LOOK_SECONDS = 20.0
_RECIPE = "all_lvl1"


def found(_programs: Programs) -> Found:
    """Return whether AGFHC is installed."""
    try:
        run_tool(["sh", "-c", f"{_WITH_FOLDER}exec agfhc -v"], _LOOK_SECONDS, NAME)
    except ToolError as error:
        return Found(str(error))
    return Found("")


def measure(_asked: Asked, programs: Programs) -> list[Reading]:
    """Return the GPUs of the node if a test of the recipe fails, with its line; nothing if all pass."""
    logs = os.path.join(programs.node["run_folder"], NAME)
    # It fails if a test does, and prints the results as well.
    recipe = f"{_WITH_FOLDER}agfhc -r {_RECIPE} -o {shlex.quote(logs)} 2>&1 || true"
    output = programs.run_on_node(["sh", "-c", recipe], PROBES[NAME].seconds, NAME)
    try:
        failure = failure_in(output)
    except ValueError as error:
        said = (output.strip().splitlines() or ["nothing"])[-1]
        raise NodeError(f"agfhc did not come to its end: {error}, which ends with {said!r}") from None
    return [Reading(NAME, "GPUs", [], f"{failure}; its logs are in {logs}")] if failure else []
