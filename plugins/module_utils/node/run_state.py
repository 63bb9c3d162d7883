# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a run on a node: a file in the run's folder, so that the controller may go and come back.

``status`` is ``staged``, ``running``, ``exited`` (with ``exit_status``), ``killed`` (gone without an exit status) or
``stopped`` (by us). Times are seconds since the epoch by the node's clock. If the run ended without our stop,
``booted`` says whether the machine booted meanwhile, ``engine_problem`` why the container engine cannot say how it
ended, ``container_removed`` whether the container was gone, ``full_disk`` the folder of the log where nothing more
could be written, ``ran_seconds`` how long it ran by the node's monotonic clock, and ``traffic`` how much its RDMA ports
had moved by then (`rdma_traffic`).
"""

from __future__ import annotations

import errno
import os
import signal
import time
import typing as t

from .engines import ENGINES, engine_of
from .files import read_json, write_json
from .identity import is_identity, is_same_run
from .launch import recorded_end, recorded_outcome, recorded_seconds
from .machine_changes import boot_id, killed_for_memory
from .own_folders import has_run_folder
from .problems import ProblemError
from .processes import is_running
from .rdma_traffic import traffic_since

if t.TYPE_CHECKING:
    from .contracts import Outcome, Place, State

STATE_NAME = "state.json"
# The room for a trainer's next lines.
_FULL_BYTES = 64 << 10
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
# The rest of the state if a training ended without our stop.
CIRCUMSTANCES = ("booted", "engine_problem", "container_removed", "full_disk", "ran_seconds")
# A shell adds this to the number of the signal that ended a process.
_SIGNALLED = 128
_STATUSES = ("staged", "running", "exited", "killed", "stopped")


def read_state(node: Place, run_id: str) -> State | None:
    """Return the state of a run in a node's run folder, updated with the end of the training, if it has ended.

    ValueError if the folder is not ours, or contains anything but a state of this run on this node.
    """
    if not has_run_folder(node["run_folder"]):
        return None
    state = _read(node, run_id)
    if state is None or state["status"] != "running":
        return state
    booted = state["before"]["boot_id"] != boot_id()
    if not booted and is_running(state["handle"]):
        return state
    # A stop is noted before the first signal, so the note is there once the process is seen to be gone.
    state = _read(node, run_id) or state
    if state["status"] != "running":
        return state
    if state.get("stop_requested"):
        return note_state(node, {**state, "status": "stopped", "ended_at": _ended_at(node, state)})
    if booted:
        outcome: Outcome = recorded_outcome(node)
        # A shutdown ends processes with a signal; any other end was before the boot.
        booted = outcome["exit_status"] is None or outcome["exit_status"] > _SIGNALLED
        outcome["exit_status"] = None if booted else outcome["exit_status"]
    else:
        outcome = engine_of(state["engine"]).outcome(node, state["handle"])
        by_sigkill = outcome["exit_status"] in (None, _SIGNALLED + signal.SIGKILL)
        outcome["oom_killed"] = outcome["oom_killed"] or killed_for_memory(state["before"], by_sigkill)
    ended: State = {
        **state,
        **outcome,
        "status": "killed" if outcome["exit_status"] is None else "exited",
        "booted": booted,
        "full_disk": _full_disk(node),
        "ran_seconds": recorded_seconds(node),
        "ended_at": _ended_at(node, state),
        # Now, before somebody else uses the network.
        "traffic": traffic_since(state["before"]),
    }
    return note_state(node, ended)


def _full_disk(node: Place) -> str | None:
    """Return the run's folder, which has the log, if nothing more can be written there."""
    folder = node["run_folder"]
    try:
        disk = os.statvfs(folder)
    except OSError:
        return None
    return folder if disk.f_bavail * disk.f_frsize < _FULL_BYTES or (disk.f_files and not disk.f_favail) else None


def _read(node: Place, run_id: str) -> State | None:
    path = os.path.join(node["run_folder"], STATE_NAME)
    state = read_json(path)
    if state is not None and (
        not isinstance(state, dict)
        or (state.get("run_id"), state.get("node")) != (run_id, node["node"])
        or state.get("engine") not in ENGINES
        or not is_identity(state.get("identity"))
        or state.get("status") not in _STATUSES
        or (state["status"] != "staged" and not isinstance(state.get("before"), dict))
    ):
        raise ProblemError("other_state", path=path, run_id=run_id, node=node["node"])
    return t.cast("State | None", state)


def holds_another_run(node: Place, run_id: str, nonce: str) -> bool:
    """Return whether a node's run folder has a run of this name without this nonce."""
    state = _read(node, run_id)
    return state is not None and not is_same_run(nonce, state["identity"])


def _ended_at(node: Place, state: State) -> float:
    """Return when the training ended: before now, and after its start, whatever clock or file was changed meanwhile."""
    now = time.time()
    return max(min(recorded_end(node) or now, now), float(state["started_at"]))


def write_state(node: Place, state: State) -> State:
    """Keep the state in the node's run folder, and return it."""
    write_json(os.path.join(node["run_folder"], STATE_NAME), state)
    return state


def note_state(node: Place, state: State) -> State:
    """Keep the state of a run that has been started, if the disk has room; it is returned in any case."""
    try:
        return write_state(node, state)
    except OSError as error:
        if error.errno not in _NO_SPACE:
            raise
        return state


def forget_state(node: Place) -> None:
    """Remove the state of a run that was staged and never started, so that it can be staged again."""
    os.unlink(os.path.join(node["run_folder"], STATE_NAME))
