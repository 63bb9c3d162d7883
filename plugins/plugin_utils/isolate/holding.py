# SPDX-License-Identifier: GPL-3.0-or-later
"""How nodes are reserved during tests: as in a run, by a program on each node, which only waits.

So nothing that trains is disturbed, and no training begins meanwhile. The program ends by itself once the tests must be
over, even if the controller is gone.

With a training's plan it waits in that training's container, with its devices, mounts and environment, so the tests
cover the setup that will train.
"""

from __future__ import annotations

import math
import posixpath
import typing as t
from collections.abc import Mapping

from ...module_utils.node.processes import labels
from ...module_utils.node.single_launch import node_of
from ..contracts import NodePlan, Plan
from ..plan.job.environment_variables import without_recording

_MARGIN_SECONDS = 120
# Nodes look for the tools of all probes before the tests; the planned time does not include it.
_TOOLS_SECONDS = 240
# Nodes are reserved for this long in addition to the tests.
MOST_SECONDS_MORE = _TOOLS_SECONDS + _MARGIN_SECONDS


def held_nodes(
    name: str, nodes: Mapping[str, str], folder: str, seconds: float, training: Plan | None = None
) -> tuple[Plan, list[NodePlan]]:
    """Return a plan that reserves nodes, given with their addresses, for so long, and each node's part of it.

    ``folder`` is its place on a node, like a run's. A node that the training does not have is reserved like its first
    one.
    """
    command = ["sleep", str(math.ceil(seconds) + MOST_SECONDS_MORE)]
    if training:
        own = {part["node"]: part for part in training["nodes"]}
        first = training["nodes"][0]
        parts = [_as_trained(own.get(node, first), name, node, folder, command) for node in nodes]
    else:
        parts = [_bare(name, node, address, folder, command) for node, address in nodes.items()]
    plan = {
        "run_id": name,
        "framework": "",
        "container_engine": training["container_engine"] if training else "none",
        "tokens_per_step_per_gpu": None,
        "tokens_per_sequence_per_gpu": None,
        "nodes": parts,
    }
    return t.cast("Plan", plan), parts


def _bare(name: str, node: str, address: str, folder: str, command: list[str]) -> NodePlan:
    """Return a node that a process reserves."""
    asked = {
        "name": name,
        "node": node,
        "folder": folder,
        "engine": "none",
        "rank": 0,
        # Each is held by itself.
        "nnodes": 1,
        "master_address": address,
        # Nobody listens there, because nothing trains.
        "master_port": 0,
        "image": "",
        "image_archive": "",
        "environment": {},
        "command": command,
        "working_dir": "",
        "mounts": {},
        "devices": [],
        "options": {},
    }
    return t.cast("NodePlan", node_of(asked))


def _as_trained(part: NodePlan, name: str, node: str, folder: str, command: list[str]) -> NodePlan:
    """Return a node reserved as in a training, but without its data, its secrets and its files."""
    run_folder = posixpath.join(folder, name, node.replace(":", "+"))
    mounts = [mount for mount in part["mounts"] if not mount.get("staged")]
    options = part["container_options"]
    if options:
        mounts.append({"source": run_folder, "target": run_folder, "staged": True})
        options = {**options, "name": f"{name}-{node.replace(':', '-')}"}
    kept = {key: value for key, value in part.items() if key != "dataset"}
    held = {
        "node": node,
        "node_rank": 0,
        "nnodes": 1,
        "env": {**without_recording(part["env"], part["run_folder"]), **labels(name, node)},
        "argv": command,
        "script": "",
        "working_dir": run_folder,
        "mounts": mounts,
        "secrets": [],
        "files": {},
        "container_options": options,
        "run_folder": run_folder,
        "log_file": posixpath.join(run_folder, "output.log"),
    }
    return t.cast("NodePlan", {**kept, **held})
