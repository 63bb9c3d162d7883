# SPDX-License-Identifier: GPL-3.0-or-later
"""Starting a run that was staged."""

from __future__ import annotations

import time
import typing as t

from ..claim import held_by_others, machine_locked, take
from ..engines import engine_of
from ..identity import another_run
from ..machine_changes import memory_group, noted
from ..phase import Answer, NodeError
from ..problems import problem
from ..run_state import read_state, write_state
from ..secret_files import remove_after

if t.TYPE_CHECKING:
    from ..contracts import Request, State


def start(request: Request) -> Answer:
    """Start the training that was staged. One that runs already, or has ended, is left as it is."""
    node, run_id = request["node"], request["run_id"]
    with machine_locked():
        state = read_state(node, run_id)
        if state is None:
            raise NodeError(problems=[problem("not_staged", run_id=run_id)])
        if other := another_run(request, state):
            raise other
        if state["status"] != "staged":
            return {"changed": False, "status": state["status"]}
        engine = engine_of(state["engine"])
        held = held_by_others(engine, run_id, state["identity"]["nonce"])
        if held:
            raise held
        before, started_at = noted(), time.time()
        handle = engine.start(node, run_id)
        before["memory_group"] = memory_group(handle["pid"])
        running: State = {**state, "status": "running", "handle": handle, "started_at": started_at, "before": before}
        write_state(node, running)
        take(node, run_id, state["identity"]["nonce"])
    remove_after(node, handle["pid"])
    return {"changed": True, "status": "running"}
