# SPDX-License-Identifier: GPL-3.0-or-later
"""Ending everything of a run that is still running."""

from __future__ import annotations

import os
import typing as t

from ..claim import claimed_by_other, give_back, machine_locked
from ..engines import engines_to_look_at
from ..identity import is_same_run
from ..machine_changes import changes_since
from ..phase import Answer, NodeError
from ..problems import problem
from ..run_state import forget_state, note_state, read_state
from ..secret_files import remove
from .collect import collect

if t.TYPE_CHECKING:
    from ..contracts import Place, Request, State

# A log up to this size comes along with the answer, which saves a round trip.
_SMALL_LOG_BYTES = 1 << 20


def stop(request: Request) -> Answer:
    """End everything of the run that still runs on this node; a process that ended by itself keeps its exit status."""
    node, run_id = request["node"], request["run_id"]
    state, warnings = _look_at(node, run_id)
    if is_of_another(request, state):
        return {"changed": False, "status": "not_started", "warnings": warnings}
    remove(node)
    if state and state["status"] == "running":
        # First, so that a follower of the node sees a stop, and not a killed training.
        state = note_state(node, {**state, "stop_requested": True})
    ended, left = False, []
    for engine in engines_to_look_at(state["engine"] if state else request["container_engine"]):
        try:
            ended = engine.stop(node, run_id, request["grace_seconds"]) or ended
            left += [f"{what} is still there" for what in engine.left(node, run_id)]
        except ValueError as error:
            left.append(str(error))
    if left:
        raise NodeError(problems=[problem("not_ended", run_id=run_id, left=left)])
    with machine_locked():
        # A process that stages or starts the run holds the machine meanwhile, and may have done so since the last look.
        status = state["status"] if state else None
        now = _look_at(node, run_id)[0] if status in (None, "staged") else None
        is_late = now is not None and now["status"] != status
        if not is_late:
            give_back(node, run_id, request["identity"]["nonce"])
            if status == "staged":
                forget_state(node)
    if is_late:
        return stop(request)
    if state is None:
        return {"changed": ended, "status": "stopped" if ended else "not_started", "warnings": warnings}
    if status == "staged":
        return {"changed": True, "status": "not_started", "warnings": warnings}
    state = read_state(node, run_id) or state
    answer: Answer = {
        "changed": ended,
        "status": state["status"],
        "warnings": warnings,
        "machine_changes": changes_since(state["before"]),
    }
    if state.get("traffic"):
        answer["traffic"] = state["traffic"]
    log_file = node["log_file"]
    if request.get("with_log") and os.path.exists(log_file) and os.path.getsize(log_file) <= _SMALL_LOG_BYTES:
        answer["log"] = collect({**request, "offset": 0})
    return answer


def is_of_another(request: Request, state: State | None) -> bool:
    """Return whether the run of this name here is another run, which is none of the caller's business."""
    nonce = request["identity"]["nonce"]
    if state:
        return not is_same_run(nonce, state["identity"])
    claim = claimed_by_other(request["run_id"], nonce)
    return claim is not None and claim[0] == request["run_id"]


def _look_at(node: Place, run_id: str) -> tuple[State | None, list[str]]:
    """Return the state of the run, or a warning if it cannot be trusted."""
    try:
        return read_state(node, run_id), []
    except (OSError, ValueError) as error:
        return None, [str(error)]
