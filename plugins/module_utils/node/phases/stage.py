# SPDX-License-Identifier: GPL-3.0-or-later
"""Putting everything in place that the start of a run needs."""

from __future__ import annotations

import contextlib
import os
import typing as t

from ..accelerators import accelerator_problems
from ..claim import held_by_others, machine_locked, take
from ..dataset import dataset_function
from ..engines import Engine, engine_of
from ..files import write_text
from ..flight_recorder import pipes_function
from ..hardware import hardware_facts
from ..identity import ADOPTS, another_run
from ..interfaces import with_interfaces
from ..launch import LAUNCH_NAME, launch_script
from ..old_runs import old_runs, remove
from ..own_folders import make_run_folder
from ..phase import Answer, NodeError, NodeHeldError
from ..problems import Problem, file_problem, problem
from ..room import LEAST_BYTES, room_problems
from ..run_state import read_state, write_state
from ..secret_files import place

if t.TYPE_CHECKING:
    from ..contracts import Node, Request, State


def stage(request: Request) -> Answer:
    """Put everything in place that the start will need, and report everything that is missing.

    A run that is here already, running or ended, is left as it is, and the answer has its ``nonce``; `NodeHeldError` if
    it is another run of this name. A request that adopts a run stages nothing. ``keep`` says which earlier runs stay
    (`old_runs`); ``removed`` in the answer lists the others. ``gpu`` is the accelerator that the node must have:
    empty for any, None if it needs none.
    """
    run_id = request["run_id"]
    engine = engine_of(request["container_engine"])
    with contextlib.nullcontext() if request["check_mode"] else machine_locked():
        state = _existing_state(request)
        other = another_run(request, state) if state else None
        if other:
            raise other
        if state is not None and state["status"] != "staged":
            answer: Answer = {"changed": False, "status": state["status"], "warnings": []}
            return {**answer, "nonce": state["identity"]["nonce"]}
        nonce = request["identity"]["nonce"]
        if nonce == ADOPTS:
            raise NodeError(problems=[problem("not_started_here", run_id=run_id)])
        node = with_interfaces(request["node"])
        held = held_by_others(engine, run_id, nonce)
        problems = [*accelerator_problems(request.get("gpu")), *engine.problems(node), *_port_problems(node)]
        if held:
            # Other problems may come from that run, such as a port in use.
            raise NodeHeldError(held.by, held.running, [*problems, *held.problems])
        problems = problems or room_problems(_needs(engine, node))
        if problems:
            raise NodeError(problems=problems)
        keep = request.get("keep")
        old = old_runs(node, run_id, **keep) if keep else []
        if request["check_mode"]:
            removed = [run.run_id for run in old]
            return {"changed": state is None, "status": "staged", "warnings": [], "removed": removed}
        removed, kept = remove(old)
        functions = {**engine.preparation(node), **dataset_function(node), **pipes_function(node)}
        script = launch_script(node, run_id, functions)
        try:
            make_run_folder(node["run_folder"])
            changed = write_text(os.path.join(node["run_folder"], LAUNCH_NAME), script, 0o640)
            changed = _write_files(node, request["files"]) or changed
        except OSError as error:
            raise NodeError(problems=[file_problem(error, "run_folder_unwritable", node["run_folder"])]) from error
        warnings = kept + place(node, request["given_secrets"], request["secrets"])
        staged: State = {
            "run_id": run_id,
            "node": node["node"],
            "node_rank": node["node_rank"],
            "engine": engine.name,
            "identity": request["identity"],
            "status": "staged",
        }
        if state != staged:
            write_state(node, staged)
        take(node, run_id, nonce)
    facts = engine.prepare(node)
    facts["hardware"] = hardware_facts()
    return {"changed": changed or state is None, "status": "staged", "warnings": warnings, "removed": removed, **facts}


def _write_files(node: Node, files: dict[str, str]) -> bool:
    """Write the files of the request, by their paths in the run's folder, and return whether any was different."""
    changed = False
    for path, text in files.items():
        target = os.path.join(node["run_folder"], path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        changed = write_text(target, text, 0o640) or changed
    return changed


def _needs(engine: Engine, node: Node) -> dict[str, int]:
    """Return how many bytes the run needs at least, by path."""
    needs = {node["run_folder"]: LEAST_BYTES}
    if node.get("dataset"):
        needs[node["dataset"]["folder"]] = LEAST_BYTES
    return {**needs, **engine.room(node)}


def _existing_state(request: Request) -> State | None:
    node = request["node"]
    try:
        return read_state(node, request["run_id"])
    except OSError as error:
        raise NodeError(problems=[file_problem(error, "run_folder_unreadable", node["run_folder"])]) from error


def _port_problems(node: Node) -> list[Problem]:
    """Return a problem where rank 0's port is taken: the other nodes would meet a stranger there."""
    if node["node_rank"] != 0 or node["nnodes"] == 1:
        return []
    from ..inspection.network import port_problem  # noqa: PLC0415

    port = node["master_port"]
    why = port_problem(port)
    return [problem("port_taken", port=port, why=why)] if why else []
