# SPDX-License-Identifier: GPL-3.0-or-later
"""One program on one node, without a plan: launched, found again and removed by the phases of a run."""

from __future__ import annotations

import contextlib
import json
import os
import time
import typing as t

from .files import read_text
from .identity import identity_of
from .launch import EXIT_STATUS_NAME
from .phase import NodeError, request_of
from .phases.stage import stage
from .phases.start import start
from .phases.stop import stop
from .run_state import forget_state, read_state

if t.TYPE_CHECKING:
    from .contracts import ContainerOptions, Mount, Node, Request, State

DEFINITION_NAME = "definition.json"
_POLL_SECONDS = 0.2
# A launch has no folder on the controller. This nonce keeps a training of the same name from being taken for one.
_NONCE = "container_launch"


def node_of(asked: t.Mapping[str, t.Any]) -> Node:
    """Return the commands of a node, given the options of a launch; see the module container_launch."""
    name, host = asked["name"], asked["node"]
    run_folder = f"{asked['folder'].rstrip('/')}/{name}/{host.replace(':', '+')}"
    in_container = asked["engine"] != "none"
    mounts: list[Mount] = [{"source": source, "target": target} for source, target in sorted(asked["mounts"].items())]
    if in_container:
        mounts.append({"source": run_folder, "target": run_folder, "staged": True})
    options: ContainerOptions = t.cast(
        "ContainerOptions", {"name": f"{name}-{host.replace(':', '-')}", **asked["options"]}
    )
    of_rank = {
        "NNODES": asked["nnodes"],
        "NODE_RANK": asked["rank"],
        "MASTER_ADDR": asked["master_address"],
        "MASTER_PORT": asked["master_port"],
    }
    of_run = {"TRAINOPS_RUN_ID": name, "TRAINOPS_NODE": host}
    return {
        "node": host,
        "node_rank": asked["rank"],
        "address": host,
        "nnodes": asked["nnodes"],
        "master_address": asked["master_address"],
        "master_port": asked["master_port"],
        "image": asked["image"] or None,
        "image_archive": asked["image_archive"],
        "env": {key: str(value) for key, value in {**of_rank, **asked["environment"], **of_run}.items()},
        "argv": [str(word) for word in asked["command"]],
        "script": "",
        "working_dir": asked["working_dir"] or run_folder,
        "mounts": mounts,
        "secrets": [],
        "devices": asked["devices"],
        "container_options": options if in_container else {},
        "run_folder": run_folder,
        "log_file": f"{run_folder}/output.log",
    }


def launched(asked: t.Mapping[str, t.Any], check_mode: bool) -> tuple[bool, State | None]:
    """Launch the program unless it is there, and return whether that changed anything, with its state.

    `NodeError` if it cannot be launched, or runs here with another definition, or has failed.
    """
    node, name = node_of(asked), asked["name"]
    definition = json.dumps(node, indent=1, sort_keys=True) + "\n"
    state = read_state(node, name)
    if state is not None and state["status"] != "staged":
        if read_text(os.path.join(node["run_folder"], DEFINITION_NAME)) != definition:
            raise NodeError(f"{name} was launched here with other options; remove it first with state absent")
        return False, state
    if asked["engine"] == "none" and asked["working_dir"] and not os.path.isdir(asked["working_dir"]):
        raise NodeError(f"working_dir is {asked['working_dir']}, but there is no such folder")
    request = _request(asked, node, check_mode)
    stage({**request, "files": {DEFINITION_NAME: definition}, "given_secrets": {}, "secrets": {}})
    if not check_mode:
        start(request)
    return True, None if check_mode else read_state(node, name)


def ended(asked: t.Mapping[str, t.Any], state: State) -> State:
    """Return the state once the program has ended, or after ``wait_seconds``."""
    deadline = time.monotonic() + asked["wait_seconds"]
    node = node_of(asked)
    while state["status"] == "running" and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        state = read_state(node, asked["name"]) or state
    return state


def removed(asked: t.Mapping[str, t.Any], check_mode: bool) -> bool:
    """End the program and forget it, but keep its output; return whether there was anything to do."""
    node, name = node_of(asked), asked["name"]
    state = read_state(node, name)
    # Without a state here, a container of this name may belong to a training.
    if state is None or check_mode:
        return state is not None
    request: Request = {**_request(asked, node, check_mode), "grace_seconds": asked["grace_seconds"]}
    stop(request)
    if read_state(node, name) is not None:
        forget_state(node)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(node["run_folder"], EXIT_STATUS_NAME))
    return True


def _request(asked: t.Mapping[str, t.Any], node: Node, check_mode: bool) -> Request:
    plan = {
        "run_id": asked["name"],
        "framework": "",
        "container_engine": asked["engine"],
        "tokens_per_step_per_gpu": None,
        "tokens_per_sequence_per_gpu": None,
    }
    of_node = t.cast("dict[str, t.Any]", node)
    return {**request_of(plan, of_node, "", identity_of(plan, of_node, _NONCE)), "check_mode": check_mode}
