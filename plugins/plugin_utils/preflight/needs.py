# SPDX-License-Identifier: GPL-3.0-or-later
"""What the inspection of a node has to look at for a plan."""

from __future__ import annotations

import posixpath
import typing as t
from collections.abc import Sequence

from ...module_utils.node.contracts import Inspection, Mount
from ..contracts import NodePlan, Plan

# The mode of a plan that replaces a missing training config.
MACHINE = "machine"
# Without a config, a run's output folders are unknown.
FOLDER = "/tmp"


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
        "framework": "",
        "tokens_per_step_per_gpu": None,
        "tokens_per_sequence_per_gpu": None,
        "gpu": gpu,
        "parameters": parameters,
        "container_engine": engine,
        "nodes": nodes,
    }
    return t.cast(Plan, plan)


def inspection_of(plan: Plan, node: NodePlan) -> Inspection:
    """Return the options of the inspection of a node."""
    if plan["mode"] == MACHINE:
        return {"paths": [FOLDER], "master_address": None, "master_port": None, "image": None}
    without_container = plan["container_engine"] == "none"
    paths = [node["run_folder"], cache_folder(plan, node), *(secret["source"] for secret in node["secrets"])]
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
    }


def shared_folder(plan: Plan) -> str | None:
    """Return the folder of rank 0's data cache, which all nodes of a training share; None where there is none."""
    return cache_folder(plan, plan["nodes"][0]) if plan["mode"] == "multi_node" else None


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
