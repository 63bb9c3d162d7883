# SPDX-License-Identifier: GPL-3.0-or-later
"""The phases of a run on one node. Each takes a request and returns a plain answer, in one round trip.

A request holds ``run_id``, ``framework``, ``container_engine``, ``tokens_per_step_per_gpu``,
``tokens_per_sequence_per_gpu`` and ``node`` (the node's part of the plan), and what the phase needs besides.
`PhaseError` says what is wrong on this node.
"""

from __future__ import annotations

import base64
import os
import time
import typing as t
import zlib

from ..logs.ending import failures_at_end
from ..logs.reader import read_log, tail
from .dataset import dataset_function
from .engines import Engine, engine_of
from .files import write_text
from .hardware import hardware_facts
from .inspection.network import port_problem
from .interfaces import with_interfaces
from .launch import LAUNCH_NAME, launch_script, run_of_log
from .lock import give_back, holding, take
from .run_state import STATE_NAME, forget_state, read_state, write_state
from .secret_files import place, remove

Request = t.Dict[str, t.Any]
Answer = t.Dict[str, t.Any]

_POLL_SECONDS = 0.1
_COLLECT_BYTES = 8 * 1024 * 1024


class PhaseError(Exception):
    """What keeps a phase from being done on this node, as sentences for people."""


def stage(request: Request) -> Answer:
    """Put everything in place that the start will need, and tell all that is missing.

    A run that is here already, staged, running or ended, is left as it is.
    """
    node, run_id = request["node"], request["run_id"]
    state = _existing_state(node)
    if state is not None and state["status"] != "staged":
        return {"changed": False, "status": state["status"], "warnings": []}
    engine = engine_of(request["container_engine"])
    node = with_interfaces(node)
    problems = [*engine.problems(node), *_port_problems(node), *_busy(engine, node, run_id)]
    if problems:
        raise PhaseError("; ".join(problems))
    if request["check_mode"]:
        return {"changed": state is None, "status": "staged", "warnings": []}
    holder = take(node, run_id)
    if holder:
        raise PhaseError(_held_by(holder))
    script = launch_script(node, run_id, {**engine.preparation(node), **dataset_function(node)})
    try:
        os.makedirs(node["run_folder"], mode=0o750, exist_ok=True)
        changed = write_text(os.path.join(node["run_folder"], LAUNCH_NAME), script, 0o640)
        if state is None:
            fresh = {"run_id": run_id, "node": node["node"], "node_rank": node["node_rank"]}
            write_state(node, dict(fresh, engine=engine.name, status="staged"))
        warnings = place(node, request["given_secrets"], request["secrets"])
        changed = _write_files(node, request["files"]) or changed
    except OSError as error:
        give_back(node, run_id)
        raise PhaseError(f"the run's folder {node['run_folder']} cannot be written: {error.strerror}") from error
    facts = engine.prepare(node)
    facts["hardware"] = hardware_facts()
    return {"changed": changed or state is None, "status": "staged", "warnings": warnings, **facts}


def _write_files(node: dict[str, t.Any], files: dict[str, str]) -> bool:
    """Write what came along with the request, by its path in the run's folder, and return whether it was different."""
    changed = False
    for path, text in files.items():
        target = os.path.join(node["run_folder"], path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        changed = write_text(target, text, 0o640) or changed
    return changed


def _existing_state(node: dict[str, t.Any]) -> dict[str, t.Any] | None:
    try:
        return read_state(node)
    except OSError as error:
        raise PhaseError(f"the run's folder {node['run_folder']} cannot be read: {error.strerror}") from error


def _busy(engine: Engine, node: dict[str, t.Any], run_id: str) -> list[str]:
    holders = {engine.holder(node, run_id), holding(node)} - {None, run_id}
    return [_held_by(str(holder)) for holder in sorted(map(str, holders))]


def _held_by(holder: str) -> str:
    return (
        f"the node is held by run {holder}; wait for its end, or stop it: "
        f"ansible-playbook playbooks/stop.yml -e training_run_id={holder}"
    )


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
    state = read_state(node)
    if state is None:
        raise PhaseError(f"run {run_id} is not staged here and cannot be started")
    if state["status"] != "staged":
        return {"changed": False, "status": state["status"]}
    started_at = time.time()
    handle = engine_of(state["engine"]).start(node, run_id)
    write_state(node, dict(state, status="running", handle=handle, started_at=started_at))
    return {"changed": True, "status": "running"}


def follow(request: Request) -> Answer:
    """Wait until the training ends, at most ``wait_seconds``, and return what the log told since ``cursor``."""
    deadline = time.monotonic() + request["wait_seconds"]
    state = _state_of(request)
    while state["status"] == "running" and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        state = _state_of(request)
    ended = state["status"] != "running"
    log_file = request["node"]["log_file"]
    news = read_log(
        log_file,
        request["framework"],
        request["cursor"],
        final=ended,
        tokens_per_step_per_gpu=request["tokens_per_step_per_gpu"],
        tokens_per_sequence_per_gpu=request["tokens_per_sequence_per_gpu"],
        failures="open",
    )
    answer = {
        "changed": False,
        "status": state["status"],
        "exit_status": state.get("exit_status"),
        "oom_killed": state.get("oom_killed", False),
        "started_at": state.get("started_at"),
        "ended_at": state.get("ended_at"),
        "now": time.time(),
        "log_bytes": os.path.getsize(log_file) if os.path.exists(log_file) else 0,
        "log_run_id": run_of_log(log_file),
    }
    if ended:
        answer["last_lines"] = tail(log_file)
        if news["cursor"]["step"] is not None:
            answer["failures_at_end"] = failures_at_end(log_file, request["framework"])
    rows = news.pop("rows")
    return dict(answer, blocks=rows.blocks(), **news)


def _state_of(request: Request) -> dict[str, t.Any]:
    node = request["node"]
    state = read_state(node)
    if state is None:
        raise PhaseError(f"the state of run {request['run_id']} is gone: there is no {node['run_folder']}/{STATE_NAME}")
    return state


def stop(request: Request) -> Answer:
    """End what is still running of the run on this node; what ended by itself keeps its exit status."""
    node, run_id = request["node"], request["run_id"]
    state = read_state(node)
    remove(node)
    if state is None:
        give_back(node, run_id)
        return {"changed": False, "status": "not_started"}
    if state["status"] == "running":
        # First, so that whoever follows the node meanwhile sees a stop, and not a training that was killed.
        state = write_state(node, dict(state, stop_requested=True))
    ended = engine_of(state["engine"]).stop(node, run_id, request["grace_seconds"])
    give_back(node, run_id)
    if state["status"] == "staged":
        forget_state(node)
        return {"changed": True, "status": "not_started"}
    state = read_state(node) or state
    return {"changed": ended, "status": state["status"]}


def collect(request: Request) -> Answer:
    """Return the part of the log from byte ``offset`` on, compressed, and how long the whole is."""
    log_file = request["node"]["log_file"]
    if not os.path.exists(log_file):
        return {"changed": False, "data": "", "offset": 0, "size": 0}
    with open(log_file, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        stream.seek(request["offset"])
        part = stream.read(min(_COLLECT_BYTES, max(0, size - request["offset"])))
    data = base64.b64encode(zlib.compress(part)).decode("ascii")
    return {"changed": False, "data": data, "offset": request["offset"] + len(part), "size": size}


PHASES = {"stage": stage, "start": start, "follow": follow, "stop": stop, "collect": collect}
