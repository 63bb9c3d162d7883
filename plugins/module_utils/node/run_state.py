# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a run on a node: a file in the run's folder, so that the controller may go and come back.

``status`` is ``staged``, ``running``, ``exited`` (with ``exit_status``), ``killed`` (gone without an exit status) or
``stopped`` (by us). Times are seconds since the epoch by the node's clock.
"""

from __future__ import annotations

import os
import time
import typing as t

from .engines import ENGINES, engine_of
from .files import read_json, write_json
from .launch import EXIT_STATUS_NAME
from .own_folders import has_run_folder
from .processes import is_running

STATE_NAME = "state.json"
State = t.Dict[str, t.Any]

_STATUSES = ("staged", "running", "exited", "killed", "stopped")


def read_state(node: dict[str, t.Any], run_id: str) -> State | None:
    """Return the state of a run in a node's run folder, brought up to date with what became of the training.

    ValueError where the folder is not ours, or holds anything but a state of this run on this node.
    """
    if not has_run_folder(node["run_folder"]):
        return None
    state = _read(node, run_id)
    if state is None or state["status"] != "running" or is_running(state["handle"]):
        return state
    # A stop is noted before the first signal, so it stands there once the process is seen to be gone.
    state = _read(node, run_id) or state
    if state["status"] != "running":
        return state
    if state.get("stop_requested"):
        return write_state(node, dict(state, status="stopped", ended_at=_ended_at(node, state)))
    outcome = engine_of(state["engine"]).outcome(node, state["handle"])
    status = "killed" if outcome["exit_status"] is None else "exited"
    return write_state(node, dict(state, status=status, ended_at=_ended_at(node, state), **outcome))


def _read(node: dict[str, t.Any], run_id: str) -> State | None:
    path = os.path.join(node["run_folder"], STATE_NAME)
    state = read_json(path)
    if state is not None and (
        not isinstance(state, dict)
        or (state.get("run_id"), state.get("node")) != (run_id, node["node"])
        or state.get("engine") not in ENGINES
        or state.get("status") not in _STATUSES
    ):
        raise ValueError(f"{path} is no state of run {run_id} on {node['node']}")
    return state


def _ended_at(node: dict[str, t.Any], state: State) -> float:
    """Return when the launch script recorded the end of the training; without a record that is now.

    A file's time lags the clock by some milliseconds, so it is never taken to be before the start.
    """
    try:
        recorded = os.stat(os.path.join(node["run_folder"], EXIT_STATUS_NAME)).st_mtime
        return max(recorded, float(state["started_at"]))
    except FileNotFoundError:
        return time.time()


def write_state(node: dict[str, t.Any], state: State) -> State:
    """Keep the state in the node's run folder, and return it."""
    write_json(os.path.join(node["run_folder"], STATE_NAME), state)
    return state


def forget_state(node: dict[str, t.Any]) -> None:
    """Remove the state of a run that was staged and never started, so that it can be staged anew."""
    os.unlink(os.path.join(node["run_folder"], STATE_NAME))
