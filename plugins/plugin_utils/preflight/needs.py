# SPDX-License-Identifier: GPL-3.0-or-later
"""What the inspection of a node has to look at for a plan."""

from __future__ import annotations

import posixpath
import typing as t
from collections.abc import Sequence

from ...module_utils.node.contracts import Mount
from ..contracts import NodePlan, Plan

# The mode of a plan that replaces a missing training config.
MACHINE = "machine"
# Without a config, a run's output folders are unknown.
FOLDER = "/tmp"


def node_of(plan: Plan, name: str) -> NodePlan:
    """Return a node's part of a plan; ValueError where the plan has no such node."""
    for node in plan["nodes"]:
        if node["node"] == name:
            return node
    raise ValueError(f"the plan has no node {name}")


def machine_plan(names: Sequence[str], engine: str, gpu: str = "", gpus_per_node: int | None = None) -> Plan:
    """Return the substitute for a plan if there is no training config: the nodes, without anything to run.

    ``gpu`` and ``gpus_per_node`` are each node's values in the inventory, if set.
    """
    node = {"node_rank": 0, "env": {}, "mounts": [], "devices": [], "container_options": {}, "script": ""}
    node |= {"image": None, "run_folder": FOLDER}
    nodes = [{"node": name, **node} for name in names]
    parameters = {} if gpus_per_node is None else {"gpus_per_node": gpus_per_node}
    plan = {
        "mode": MACHINE,
        "run_id": "",
        "gpu": gpu,
        "parameters": parameters,
        "container_engine": engine,
        "nodes": nodes,
    }
    return t.cast(Plan, plan)


def needs_of_machine() -> dict[str, t.Any]:
    """Return the options of the module ``node_inspect`` without a training config."""
    return {"paths": [FOLDER], "master_address": None, "master_port": None, "image": None, "cache_folder": None}


def needs_of(plan: Plan, name: str) -> dict[str, t.Any]:
    """Return the options of the module ``node_inspect`` for a node of a plan, and ``cache_folder``.

    ``cache_folder`` is where the dataset's index cache lies on the node, or None where it lies inside the container.
    """
    node = node_of(plan, name)
    without_container = plan["container_engine"] == "none"
    cache = cache_folder(plan, node)
    paths = [node["run_folder"], cache, *(secret["source"] for secret in node["secrets"])]
    if without_container:
        paths += [node["working_dir"], script_of(node)]
    else:
        paths += [mount["source"] for mount in node["mounts"]]
        paths += [*node["devices"], node.get("image_archive")]
    return {
        "paths": list(dict.fromkeys(path for path in paths if path)),
        "master_address": node["master_address"],
        "master_port": node["master_port"],
        "image": None if without_container else node["image"],
        "cache_folder": cache,
    }


def cache_folder(plan: Plan, node: NodePlan) -> str | None:
    """Return the folder on the node that the training sees as DATA_CACHE_PATH, or None."""
    path: str | None = node["env"].get("DATA_CACHE_PATH")
    if path is None or plan["container_engine"] == "none":
        return path
    return path_on_node(node["mounts"], path)


def path_on_node(mounts: Sequence[Mount], path: str) -> str | None:
    """Return the node's path of a path in the container; None if it is not on a mount, so only in the container."""
    over = [mount for mount in mounts if path == mount["target"] or path.startswith(mount["target"].rstrip("/") + "/")]
    if not over:
        return None
    mount = max(over, key=lambda mount: len(mount["target"]))
    return posixpath.normpath(mount["source"] + "/" + path[len(mount["target"]) :])


def script_of(node: NodePlan) -> str | None:
    """Return the training script of a run without a container, or None where the trainer is an installed module."""
    return posixpath.join(node["working_dir"], node["script"]) if node["script"] else None
