# SPDX-License-Identifier: GPL-3.0-or-later
"""Checking which probes a node can do, and its roll-call, while it is held for tests."""

from __future__ import annotations

import typing as t

from ..phase import Answer, NodeError
from ..probes.face import UNEXPECTED
from ..roll_call import roll_call
from .probe import held_programs, module_of

if t.TYPE_CHECKING:
    from ..contracts import Request
    from ..probes.face import Found
    from ..probes.programs import Programs


def tools(request: Request) -> Answer:
    """Return for each of the ``tools``, which are names of probes, what the node ``lacks`` for it, and its units.

    ``present`` is the roll-call, which comes first: looking for programs may use processors and GPUs.
    """
    programs = held_programs(request)
    present = roll_call(programs.node, request["run_id"])
    looks = {name: module_of(name).found for name in request["tools"]}
    # Probes with the same needs share one check, because it may take a minute.
    seen = {look: _seen(look, programs) for look in dict.fromkeys(looks.values())}
    found = {name: seen[look] for name, look in looks.items()}
    return {"changed": False, "status": "running", "found": found, "present": present}


def _seen(look: t.Callable[[Programs], Found], programs: Programs) -> dict[str, t.Any]:
    try:
        return dict(look(programs)._asdict())
    except (NodeError, OSError, ValueError) as error:
        return {"lacks": str(error), "units": []}
    except UNEXPECTED as error:
        return {"lacks": f"unexpected output: {error!r}", "units": []}
