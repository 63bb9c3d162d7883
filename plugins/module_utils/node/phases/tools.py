# SPDX-License-Identifier: GPL-3.0-or-later
"""Checking which probes a node can do, while it is held for tests."""

from __future__ import annotations

import typing as t

from ..phase import Answer, NodeError
from ..probes.face import UNEXPECTED
from .probe import held_programs, module_of

if t.TYPE_CHECKING:
    from ..contracts import Request
    from ..probes.face import Found
    from ..probes.programs import Programs


def tools(request: Request) -> Answer:
    """Return for each of the ``tools``, which are names of probes, what the node ``lacks`` for it, and its units."""
    programs = held_programs(request)
    looks = {name: module_of(name).found for name in request["tools"]}
    # Probes with the same needs share one check, because it may take a minute.
    seen = {look: _seen(look, programs) for look in dict.fromkeys(looks.values())}
    return {"changed": False, "status": "running", "found": {name: seen[look] for name, look in looks.items()}}


def _seen(look: t.Callable[[Programs], Found], programs: Programs) -> dict[str, t.Any]:
    try:
        return dict(look(programs)._asdict())
    except (NodeError, OSError, ValueError) as error:
        return {"lacks": str(error), "units": []}
    except UNEXPECTED as error:
        return {"lacks": f"unexpected output: {error!r}", "units": []}
