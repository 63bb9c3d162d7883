# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every framework hands to the plan: one job, and what differs from node to node."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ansible_collections.trainops.cluster.plugins.module_utils.logs._record import METRICS, canonical_metric
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._config import joined
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._types import with_user

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._faults import Findings
    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._options import PlanOptions
    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._ranks import Node
    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._cvs import Branch, ExpectedResults

LOG_NAME = "train.log"
_CONTAINER_KEYS = ("container_image", "container_name", "shm_size")


@dataclass(frozen=True)
class Job:
    """A resolved training job, before it is spelled out node by node.

    ``environment`` is what the training script reads, given as environment and as KEY=VALUE arguments;
    ``own_environment`` is given as environment only. ``mounts`` maps paths on the node to paths in the container.
    """

    framework: str
    branch: Branch
    parameters: dict[str, t.Any]
    tokens_per_step_per_gpu: float
    expected: list[dict[str, t.Any]]
    image: str | None
    environment: dict[str, str]
    own_environment: dict[str, str]
    command: list[str]
    working_dir: str
    log_dir: str
    mounts: dict[str, str]
    devices: list[str]
    container_options: dict[str, t.Any]

    def for_node(self, node: Node, place: int, run_id: str, container_engine: str) -> dict[str, t.Any]:
        """Return what one node will run, to the last byte. ``place`` is the node's place in rank order.

        In single-node mode every node is rank 0 of a job of its own.
        """
        node_rank = place if self.branch.mode == "multi_node" else 0
        run_folder = f"{self.log_dir}/{run_id}/{node.name}"
        read = self.environment | {"NODE_RANK": str(node_rank), "LOG_DIR": run_folder}
        labels = {"TRAINOPS_RUN_ID": run_id, "TRAINOPS_NODE": node.name}
        mounts = dict(self.mounts) if container_engine == "none" else {**self.mounts, run_folder: run_folder}

        def resolved(values: Mapping[str, str]) -> dict[str, str]:
            return {with_user(key, node.user): with_user(value, node.user) for key, value in values.items()}

        read = resolved(read)
        return {
            "node": node.name,
            "node_rank": node_rank,
            "address": node.address,
            "image": self.image,
            "env": read | resolved(self.own_environment) | labels,
            "argv": [*self.command, *(f"{key}={value}" for key, value in read.items())],
            "working_dir": with_user(self.working_dir, node.user),
            "mounts": [{"source": source, "target": target} for source, target in resolved(mounts).items()],
            "devices": [with_user(device, node.user) for device in self.devices],
            "container_options": self.container_options,
            "run_folder": with_user(run_folder, node.user),
            "log_file": with_user(f"{run_folder}/{LOG_NAME}", node.user),
        }


def container_options(name: str, shm_size: str) -> dict[str, t.Any]:
    """Return how a training container is started on AMD GPUs, as AMD's guide to Megatron-LM for ROCm gives it."""
    return {
        "name": name,
        "network": "host",
        "ipc": "host",
        "privileged": True,
        "group_add": ["video"],
        "cap_add": ["SYS_PTRACE", "IPC_LOCK"],
        "security_opt": ["seccomp=unconfined"],
        "shm_size": shm_size,
        "ulimits": {"memlock": "-1:-1", "nofile": "1048576:1048576"},
    }


def expected_of(
    results: ExpectedResults, branch: Branch, options: PlanOptions, findings: Findings
) -> list[dict[str, t.Any]]:
    """Return the thresholds as ``metric`` (canonical), ``kind`` (min or max) and ``value``."""
    if options.training_record_only:
        return []
    expected: dict[str, dict[str, t.Any]] = {}
    for key, value in results.model_dump(exclude_none=True).items():
        metric = str(canonical_metric(key))
        if metric in expected and expected[metric]["value"] != value:
            findings.fault(
                joined(branch.path, "result_dict", key),
                value,
                f"{key} says {value:g}, another name of the same metric says {expected[metric]['value']:g}.",
                "Keep one of the two.",
            )
        kind = "min" if METRICS[metric].better == "higher" else "max"
        expected[metric] = {"metric": metric, "kind": kind, "value": value}
    if not expected and not findings.faults:
        findings.fault(
            joined(branch.path, "result_dict"),
            None,
            "there is no threshold to judge the run by.",
            "Give one, for example tokens_per_gpu, or say -e training_record_only=true to run without.",
        )
    return list(expected.values())


def warn_without_container(given: Mapping[str, t.Any], findings: Findings) -> None:
    """Note the keys that only a container would read, where training runs without one."""
    container = given.get("container_config")
    keys = [key for key in _CONTAINER_KEYS if key in given]
    if isinstance(container, dict):
        keys += [f"container_config.{key}" for key in ("device_list", "volume_dict") if container.get(key)]
    if keys:
        findings.warn(
            "container_engine",
            "none",
            f"without a container these have no effect: {', '.join(keys)}.",
            "Leave them out, or choose a container engine.",
        )
