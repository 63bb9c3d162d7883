# SPDX-License-Identifier: GPL-3.0-or-later
"""The phases of a run on one node. Each takes a request and returns a plain answer, in one round trip.

A request holds ``run_id``, ``framework``, ``container_engine``, ``tokens_per_step_per_gpu``,
``tokens_per_sequence_per_gpu`` and ``node`` (the node's part of the plan), and what the phase needs as well.
`PhaseError` says what is wrong on this node.
"""

from __future__ import annotations

import base64
import contextlib
import os
import re
import time
import typing as t
import zlib

from ..logs.ending import failures_at_end
from ..logs.reader import read_log, tail
from .claim import claimed_by_other, give_back, machine_locked, take
from .dataset import dataset_function
from .engines import Engine, NoContainer, engine_of, engines_to_look_at
from .files import write_text
from .hang import ranks_here
from .hardware import hardware_facts
from .inspection.network import port_problem
from .interfaces import with_interfaces
from .launch import LAUNCH_NAME, launch_script, run_of_log
from .machine_changes import changes_since, memory_group, noted
from .old_runs import old_runs
from .old_runs import remove as remove_old_runs
from .own_folders import UntrustedError, has_run_folder, make_run_folder
from .room import LEAST_BYTES, room_problems
from .run_state import CIRCUMSTANCES, STATE_NAME, forget_state, note_state, read_state, write_state
from .secret_files import place, remove, remove_after
from .telemetry import readings

Request = t.Dict[str, t.Any]
Answer = t.Dict[str, t.Any]

_POLL_SECONDS = 0.1
# The most of a log that one answer holds, and the most that is read of it for one.
COLLECT_BYTES = 8 << 20
_READ_BYTES = 32 << 20
# What a trainer says before it is silent for a while, with good reason.
_PAUSE = re.compile("checkpoint|ckpt|compil|evaluat|validat", re.IGNORECASE)
_PAUSE_LINES = 2


class PhaseError(Exception):
    """What keeps a phase from being done on this node, as sentences for people."""


class HeldError(PhaseError):
    """Another run holds this node, which is no fault of the node."""


class GoneError(PhaseError):
    """What this node kept of the run is gone."""


def stage(request: Request) -> Answer:
    """Put everything in place that the start will need, and report everything that is missing.

    A run that is here already, staged, running or ended, is left as it is. ``keep`` says which runs before it stay
    (`old_runs`); ``removed`` of the answer are those that went.
    """
    run_id = request["run_id"]
    engine = engine_of(request["container_engine"])
    with contextlib.nullcontext() if request["check_mode"] else machine_locked():
        state = _existing_state(request)
        if state is not None and state["status"] != "staged":
            return {"changed": False, "status": state["status"], "warnings": []}
        node = with_interfaces(request["node"])
        busy = _busy(engine, run_id)
        problems = [*engine.problems(node), *_port_problems(node), *busy]
        problems = problems or room_problems(_needs(engine, node))
        if problems:
            raise (HeldError if busy else PhaseError)("; ".join(problems))
        old = old_runs(node, run_id, **request["keep"]) if request.get("keep") else []
        if request["check_mode"]:
            removed = [run.run_id for run in old]
            return {"changed": state is None, "status": "staged", "warnings": [], "removed": removed}
        removed, kept = remove_old_runs(old)
        script = launch_script(node, run_id, {**engine.preparation(node), **dataset_function(node)})
        try:
            make_run_folder(node["run_folder"])
            changed = write_text(os.path.join(node["run_folder"], LAUNCH_NAME), script, 0o640)
            changed = _write_files(node, request["files"]) or changed
        except OSError as error:
            raise PhaseError(f"the run's folder {node['run_folder']} cannot be written: {error.strerror}") from error
        warnings = kept + place(node, request["given_secrets"], request["secrets"])
        if state is None:
            fresh = {"run_id": run_id, "node": node["node"], "node_rank": node["node_rank"]}
            write_state(node, dict(fresh, engine=engine.name, status="staged"))
        take(node, run_id)
    facts = engine.prepare(node)
    facts["hardware"] = hardware_facts()
    return {"changed": changed or state is None, "status": "staged", "warnings": warnings, "removed": removed, **facts}


def _write_files(node: dict[str, t.Any], files: dict[str, str]) -> bool:
    """Write what came along with the request, by its path in the run's folder, and return whether it was different."""
    changed = False
    for path, text in files.items():
        target = os.path.join(node["run_folder"], path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        changed = write_text(target, text, 0o640) or changed
    return changed


def _needs(engine: Engine, node: dict[str, t.Any]) -> dict[str, int]:
    """Return how many bytes the run needs at least, by path."""
    needs = {node["run_folder"]: LEAST_BYTES}
    if node.get("dataset"):
        needs[node["dataset"]["folder"]] = LEAST_BYTES
    return {**needs, **engine.room(node)}


def _existing_state(request: Request) -> dict[str, t.Any] | None:
    node = request["node"]
    try:
        return read_state(node, request["run_id"])
    except OSError as error:
        raise PhaseError(f"the run's folder {node['run_folder']} cannot be read: {error.strerror}") from error


def _busy(engine: Engine, run_id: str) -> list[str]:
    """Return by which other runs the machine is held, as sentences."""
    holders = {claimed_by_other(run_id), engine.holder(run_id), NoContainer().holder(run_id)} - {None}
    return [
        f"the node is held by run {holder}; wait for its end, or stop it: "
        f"ansible-playbook playbooks/stop.yml -e training_run_id={holder}"
        for holder in sorted(map(str, holders))
    ]


def _port_problems(node: dict[str, t.Any]) -> list[str]:
    """Return a problem where rank 0's port is taken: the other nodes would meet a stranger there."""
    if node["node_rank"] != 0 or node["nnodes"] == 1:
        return []
    port = node["master_port"]
    problem = port_problem(port)
    return [f"port {port}, where the nodes are to meet, is not free here ({problem})"] if problem else []


def start(request: Request) -> Answer:
    """Start the training that was staged. One that runs already, or has ended, is left as it is."""
    node, run_id = request["node"], request["run_id"]
    with machine_locked():
        state = read_state(node, run_id)
        if state is None:
            raise PhaseError(f"run {run_id} is not staged here and cannot be started")
        if state["status"] != "staged":
            return {"changed": False, "status": state["status"]}
        engine = engine_of(state["engine"])
        busy = _busy(engine, run_id)
        if busy:
            raise HeldError("; ".join(busy))
        before, started_at = noted(), time.time()
        handle = engine.start(node, run_id)
        before["memory_group"] = memory_group(handle["pid"])
        write_state(node, dict(state, status="running", handle=handle, started_at=started_at, before=before))
        take(node, run_id)
    remove_after(node, handle["pid"])
    return {"changed": True, "status": "running"}


def follow(request: Request) -> Answer:
    """Wait until the training ends, at most ``wait_seconds``, and return what the log said since ``cursor``.

    With ``sample`` the answer holds ``readings`` of the accelerators, too, and with ``look_at_ranks`` what each rank
    does. ``pausing`` says whether the trainer compiles, evaluates or writes a checkpoint, by its last lines.
    """
    deadline = time.monotonic() + request["wait_seconds"]
    state = _state_of(request)
    while state["status"] == "running" and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        state = _state_of(request)
    log_file = request["node"]["log_file"]
    log_bytes = os.path.getsize(log_file) if os.path.exists(log_file) else 0
    news = read_log(
        log_file,
        request["framework"],
        request["cursor"],
        final=state["status"] != "running",
        max_bytes=_READ_BYTES,
        tokens_per_step_per_gpu=request["tokens_per_step_per_gpu"],
        tokens_per_sequence_per_gpu=request["tokens_per_sequence_per_gpu"],
        failures="open",
    )
    has_ended = state["status"] != "running"
    if has_ended and news["cursor"]["offset"] < log_bytes:
        # The log did not fit one answer: the end follows with the rest of it.
        state = dict(state, status="running", exit_status=None, ended_at=None)
    answer = {
        "changed": False,
        "status": state["status"],
        "has_ended": has_ended,
        "exit_status": state.get("exit_status"),
        "oom_killed": state.get("oom_killed", False),
        "started_at": state.get("started_at"),
        "ended_at": state.get("ended_at"),
        "now": time.time(),
        "log_bytes": log_bytes,
        "log_run_id": run_of_log(log_file),
    }
    problem = _log_problem(log_file, request["cursor"].get("offset", 0), log_bytes)
    if problem:
        answer["log_problem"] = problem
    last_lines = tail(log_file)
    answer["pausing"] = any(_PAUSE.search(line) for line in last_lines[-_PAUSE_LINES:])
    if request.get("sample"):
        answer["readings"] = readings()
    if request.get("look_at_ranks"):
        answer.update(last_lines=last_lines, ranks_seen=ranks_here(request["run_id"], request["node"]["node"]))
    if state["status"] != "running":
        answer.update({name: state[name] for name in CIRCUMSTANCES if state.get(name)})
        answer["last_lines"] = last_lines
        answer["failures_at_end"] = failures_at_end(log_file, request["framework"])
    rows = news.pop("rows")
    return dict(answer, blocks=rows.blocks(), **news)


def _state_of(request: Request) -> dict[str, t.Any]:
    node = request["node"]
    state = read_state(node, request["run_id"])
    if state is None:
        folder = node["run_folder"]
        what = f"{folder}/{STATE_NAME} is" if os.path.isdir(folder) else f"the run's folder {folder} is, with its log,"
        raise GoneError(f"{what} gone: somebody removed it after the start")
    return state


def _log_problem(log_file: str, read: int, log_bytes: int) -> str | None:
    """Return what happened to a log that is shorter than what was ``read`` of it, in bytes."""
    if log_bytes >= read:
        return None
    if not os.path.exists(log_file):
        return f"{log_file} was moved or removed while the training wrote it"
    return f"{log_file} was cut or replaced: it has {log_bytes} bytes, and {read} had been read"


def stop(request: Request) -> Answer:
    """End what is still running of the run on this node; what ended by itself keeps its exit status.

    Whatever became of the run's folder, what carries the run's labels is ended, and `PhaseError` says what is left.
    ``warnings`` names a folder or a state that cannot be trusted, ``machine_changes`` what happened since the start.
    """
    node, run_id = request["node"], request["run_id"]
    state, warnings = None, []
    try:
        state = read_state(node, run_id)
    except (OSError, ValueError) as error:
        warnings.append(str(error))
    remove(node)
    if state and state["status"] == "running":
        # First, so that whoever follows the node meanwhile sees a stop, and not a training that was killed.
        state = note_state(node, dict(state, stop_requested=True))
    ended, left = False, []
    for engine in engines_to_look_at(state["engine"] if state else request["container_engine"]):
        try:
            ended = engine.stop(node, run_id, request["grace_seconds"]) or ended
            left += [f"{what} is still there" for what in engine.left(node, run_id)]
        except ValueError as error:
            left.append(str(error))
    if left:
        raise PhaseError(f"run {run_id} may not have ended here: {'; '.join(left)}")
    with machine_locked():
        give_back(node, run_id)
    if state is None:
        return {"changed": ended, "status": "stopped" if ended else "not_started", "warnings": warnings}
    if state["status"] == "staged":
        forget_state(node)
        return {"changed": True, "status": "not_started", "warnings": warnings}
    state = read_state(node, run_id) or state
    changes = changes_since(state["before"])
    return {"changed": ended, "status": state["status"], "warnings": warnings, "machine_changes": changes}


def collect(request: Request) -> Answer:
    """Return the part of the log from byte ``offset`` on, compressed, and how long the whole is.

    A folder that somebody else could have written gives none; stop has warned of it.
    """
    node = request["node"]
    try:
        is_there = has_run_folder(node["run_folder"]) and os.path.exists(node["log_file"])
    except UntrustedError:
        is_there = False
    if not is_there:
        return {"changed": False, "data": "", "offset": 0, "size": 0}
    with open(node["log_file"], "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        stream.seek(request["offset"])
        part = stream.read(min(COLLECT_BYTES, max(0, size - request["offset"])))
    data = base64.b64encode(zlib.compress(part)).decode("ascii")
    return {"changed": False, "data": data, "offset": request["offset"] + len(part), "size": size}


PHASES = {"stage": stage, "start": start, "follow": follow, "stop": stop, "collect": collect}
