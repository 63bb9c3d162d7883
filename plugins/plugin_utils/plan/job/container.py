# SPDX-License-Identifier: GPL-3.0-or-later
"""What of the node a training's container sees, and how it is started."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from pydantic import BaseModel, Field

from ...contracts import ContainerOptions
from ..config.field_types import DeviceList, Environment, Mounts
from ..config.findings import Findings
from ..config.secret_names import is_secret_name
from ..config.words import key_path, listed

# Keys of a training config that only a container reads, at any depth.
CONTAINER_KEYS = ("container_image", "container_name", "shm_size", "device_list", "volume_dict")


class ContainerConfig(BaseModel):
    """What of the node the container sees."""

    device_list: DeviceList = Field(
        default=[], description="Devices of the node that the container may use.", examples=[["/dev/dri", "/dev/kfd"]]
    )
    volume_dict: Mounts = Field(
        default={},
        description="Mounts: each path on the node with the path in the container where it appears.",
        examples=[{"/home/{user-id}": "/home/{user-id}"}],
    )
    env_dict: Environment = Field(
        default={},
        description="Variables of the training besides those that the plan sets, which win. No secrets.",
        examples=[{"NCCL_PROTO": "Simple"}],
    )


def container_options(name: str, shm_size: str, profile: str) -> ContainerOptions:
    """Return how a training container is started on AMD GPUs, as AMD's guides to training on ROCm give it.

    The profile ``hardened`` leaves the privileges out: the devices that are named and these capabilities have to do.
    """
    return {
        "name": name,
        "network": "host",
        "ipc": "host",
        "privileged": profile == "privileged",
        "group_add": ["video"],
        "cap_add": ["SYS_PTRACE", "IPC_LOCK"],
        "security_opt": ["seccomp=unconfined"],
        "shm_size": shm_size,
        "ulimits": {"memlock": "-1:-1", "nofile": "1048576:1048576"},
    }


def check_container(container: ContainerConfig, findings: Findings, path: str, instead: str = "") -> None:
    """Note what no container can be started with, and secrets, which would stand in the plan.

    ``path`` is the key path of the section, ``instead`` what to do in place of giving a secret.
    """
    sources: dict[str, str] = {}
    for source, target in (container.volume_dict or {}).items():
        if target in sources:
            findings.fault(
                key_path(path, "volume_dict", source),
                target,
                f"{target} is also where {sources[target]} is mounted.",
                "Mount each in a place of its own.",
            )
        sources.setdefault(target, source)
    for name in container.env_dict or {}:
        if is_secret_name(name):
            findings.fault(
                key_path(path, "env_dict", name),
                None,
                f"{name} looks like a secret, which would stand in the plan, on the nodes and in docker inspect.",
                f"Leave it out{instead}.",
            )


def is_mounted(path: str, mounts: Mapping[str, str]) -> bool:
    """Tell whether a path in the container lies in a mount."""
    return any(path == target or path.startswith(f"{target.rstrip('/')}/") for target in mounts.values())


def warn_without_container(given: Mapping[str, t.Any], findings: Findings) -> None:
    """Note the keys that only a container would read, where training runs without one."""
    inner = given.get("container_config")
    keys = [key for key in CONTAINER_KEYS if key in given]
    if isinstance(inner, dict):
        keys += [key_path("container_config", key) for key in CONTAINER_KEYS if inner.get(key)]
    if keys:
        findings.warn(
            "container_engine",
            "none",
            f"Without a container these keys of config have no effect: {listed(keys)}.",
            "Leave them out, or choose a container engine.",
        )
