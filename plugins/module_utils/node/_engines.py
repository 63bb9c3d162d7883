# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds the training on a node. One small face, several implementations; nothing else knows which is in use.

An engine is started once per run and node. What it returns is kept in the run's state file and handed back to it.
"""

from __future__ import annotations

import os
import subprocess
import typing as t

from ansible_collections.trainops.cluster.plugins.module_utils.node import _processes
from ansible_collections.trainops.cluster.plugins.module_utils.node._launch import LAUNCH_NAME

Handle = t.Dict[str, t.Any]


class NoEngine:
    """No container: the launch script is a process of its own session on the node."""

    def problems(self, node: dict[str, t.Any]) -> list[str]:
        """Return what would keep the training from starting on this node."""
        working_dir = node["working_dir"]
        if not os.path.isdir(working_dir):
            return [f"the folder {working_dir} is not there (megatron_root, or training_megatron_root)"]
        script = os.path.join(working_dir, node["argv"][1])
        return [] if os.path.isfile(script) else [f"the training script {script} is not there"]

    def start(self, node: dict[str, t.Any], run_id: str) -> Handle:
        """Start the launch script, detached from whoever calls, and return how to find it again."""
        process = subprocess.Popen(
            ["bash", os.path.join(node["run_folder"], LAUNCH_NAME)],
            env=dict(os.environ, **_processes.labels(run_id, node["node"])),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return {"pid": process.pid, "start_time": _processes.start_time(process.pid)}

    def is_running(self, handle: Handle) -> bool:
        """Tell whether the launch script is still there."""
        started = _processes.start_time(handle["pid"])
        return started is not None and started == handle["start_time"]

    def stop(self, node: dict[str, t.Any], run_id: str, grace_seconds: float) -> bool:
        """End everything that the training left running here, and return whether there was anything."""
        return _processes.end_members(run_id, node["node"], grace_seconds)


ENGINES = {"none": NoEngine}


def engine_of(name: str) -> NoEngine:
    """Return the engine of a name; ValueError names the known ones."""
    if name not in ENGINES:
        raise ValueError(f"container_engine {name!r} is not known on nodes; known: {', '.join(ENGINES)}")
    return ENGINES[name]()
