# SPDX-License-Identifier: GPL-3.0-or-later
"""Measuring this node, or this node and a partner, while the node is held for that."""

from __future__ import annotations

import importlib
import typing as t

from ..identity import another_run
from ..phase import Answer, NodeError, RunGoneError
from ..probes.known import NAMES
from ..run_state import read_state

if t.TYPE_CHECKING:
    from ..contracts import Request
    from ..probes.face import Measure


def probe(request: Request) -> Answer:
    """Return what each of the probes that are asked for has ``measured``, and the ``problems`` of those that failed.

    A node is tested only while it is held by what tests it: so what trains here is never disturbed.
    """
    state = read_state(request["node"], request["run_id"])
    if state is None or state["status"] != "running":
        raise RunGoneError("the node is not held for tests any more")
    if other := another_run(request, state):
        raise other
    asked = request["probe"]
    measured, problems = [], {}
    for name in asked["probes"]:
        try:
            measured += [reading._asdict() for reading in _measure(name)(asked)]
        except (NodeError, OSError, ValueError) as error:
            problems[name] = str(error)
    return {"changed": False, "status": "running", "measured": measured, "problems": problems}


def _measure(name: str) -> Measure:
    if name not in NAMES:
        raise ValueError(f"there is no probe {name!r}; there are {', '.join(NAMES)}")
    return t.cast("Measure", importlib.import_module(f"...probes.{name}", __name__).measure)
