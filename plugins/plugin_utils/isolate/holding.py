# SPDX-License-Identifier: GPL-3.0-or-later
"""How nodes are held while they are tested: as a run holds them, by a program of its own on each, which only waits.

So nothing that trains is disturbed, and no training begins meanwhile. The program ends by itself once the tests must be
over, whatever became of the controller.
"""

from __future__ import annotations

import math
import typing as t

from ...module_utils.node.single_launch import node_of
from ..contracts import NodePlan, Plan

_MARGIN_SECONDS = 120


def held_nodes(name: str, nodes: t.Mapping[str, str], folder: str, seconds: float) -> tuple[Plan, list[NodePlan]]:
    """Return what holds some nodes, given with their addresses, for so long: a plan, and its part of each node.

    ``folder`` is where it is kept on a node, as a run is.
    """
    parts = [
        node_of(
            {
                "name": name,
                "node": node,
                "folder": folder,
                "engine": "none",
                "rank": rank,
                # Each is held by itself.
                "nnodes": 1,
                "master_address": address,
                # Nobody listens there: this is no training.
                "master_port": 0,
                "image": "",
                "image_archive": "",
                "environment": {},
                "command": ["sleep", str(math.ceil(seconds) + _MARGIN_SECONDS)],
                "working_dir": "",
                "mounts": {},
                "devices": [],
                "options": {},
            }
        )
        for rank, (node, address) in enumerate(nodes.items())
    ]
    plan = {
        "run_id": name,
        "framework": "",
        "container_engine": "none",
        "tokens_per_step_per_gpu": None,
        "tokens_per_sequence_per_gpu": None,
        "nodes": parts,
    }
    return t.cast("Plan", plan), t.cast("list[NodePlan]", parts)
