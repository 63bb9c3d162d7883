# SPDX-License-Identifier: GPL-3.0-or-later
"""Looking which probes a node can do, while it is held for tests."""

from __future__ import annotations

import typing as t

from ..phase import Answer, NodeError
from .probe import held_programs, module_of

if t.TYPE_CHECKING:
    from ..contracts import Request


def tools(request: Request) -> Answer:
    """Return for each of the ``tools``, which are names of probes, what the node ``lacks`` for it, and its units."""
    programs, found = held_programs(request), {}
    for name in request["tools"]:
        try:
            found[name] = module_of(name).found(programs)._asdict()
        except (NodeError, OSError, ValueError) as error:
            found[name] = {"lacks": str(error), "units": []}
    return {"changed": False, "status": "running", "found": found}
