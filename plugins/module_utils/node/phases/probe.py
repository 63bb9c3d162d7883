# SPDX-License-Identifier: GPL-3.0-or-later
"""Measuring this node, alone or together with others, while the node is held for the test."""

from __future__ import annotations

import contextlib
import importlib
import typing as t

from ..identity import another_run
from ..phase import Answer, NodeError, RunGoneError
from ..probes.face import UNEXPECTED
from ..probes.known import PROBES
from ..probes.programs import Programs
from ..problems import problem
from ..run_state import read_state
from ..telemetry import Watch

if t.TYPE_CHECKING:
    from ..contracts import Request, State
    from ..probes.face import Measure, Reading

_LONGEST_SECONDS = 1e6


def probe(request: Request) -> Answer:
    """Return what each of the requested probes has ``measured``, and the ``problems`` of those that failed.

    ``telemetry`` has the accelerators' readings during the test, if the node is tested by itself. A node is tested only
    while the test holds it, so a training on it is never disturbed.
    """
    asked = request["probe"]
    measured, problems = [], {}
    # With other nodes it would be the same, and reading it would disturb latencies.
    watch = None if "partner" in asked or "group" in asked else Watch()
    with watch or contextlib.nullcontext():
        for name in asked["probes"]:
            programs = held_programs(request)
            try:
                measured += [_plausible(reading)._asdict() for reading in _measure(name)(asked, programs)]
            except (NodeError, OSError, ValueError) as error:
                problems[name] = str(error)
            except UNEXPECTED as error:
                problems[name] = f"unexpected output: {error!r}"
    # A failure while the node is being freed says nothing about the node.
    _held(request)
    answer = {"changed": False, "status": "running", "measured": measured, "problems": problems}
    return {**answer, "telemetry": watch.found()} if watch else answer


def held_programs(request: Request) -> Programs:
    """Return a runner of programs on this node. The node has to be held for tests before each program.

    Freeing the node ends its running programs, and nothing may start after that.
    """
    return Programs(request, _held(request), lambda: _held(request))


def _held(request: Request) -> State:
    state = read_state(request["node"], request["run_id"])
    if state is None or state["status"] != "running" or state.get("stop_requested"):
        raise RunGoneError(problems=[problem("tests_over")])
    if other := another_run(request, state):
        raise other
    return state


def module_of(name: str) -> t.Any:
    """Return the module that does a probe."""
    if name not in PROBES:
        raise ValueError(f"there is no probe {name!r}; there are {', '.join(PROBES)}")
    return importlib.import_module(f"...probes.{PROBES[name].module}", __name__)


def _plausible(reading: Reading) -> Reading:
    """Return a reading whose samples are times; the controller takes no answer with any other one."""
    if not reading.problem and not (reading.samples and all(0 < one <= _LONGEST_SECONDS for one in reading.samples)):
        raise ValueError(f"unexpected output: {reading.probe} of {reading.part} took {reading.samples} seconds")
    return reading


def _measure(name: str) -> Measure:
    return t.cast("Measure", module_of(name).measure)
