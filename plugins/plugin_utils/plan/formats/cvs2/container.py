# SPDX-License-Identifier: GPL-3.0-or-later
"""The section ``container`` of CVS's later formats, as cvs/core/orchestrators/container.py of ROCm/cvs reads it."""

from __future__ import annotations

import typing as t

from pydantic import Field

from ....text.words import key_path, shown
from ...config.field_types import Flag
from ...config.findings import Findings
from ...config.kinds import PLACEHOLDER, OneOf, Words, is_placeholder
from ...config.model import ConfigSection, key, optional
from .places import put, value_at

Lifetime = t.Annotated[str, OneOf(("no_launch", "per_run", "persistent"))]
_AnyList = t.Annotated[list[t.Any], Words("a list")]


class RuntimeArguments(ConfigSection):
    """The section ``container.runtime.args``."""

    network: t.Any = optional("Always that of the host, unless the profile is hardened.")
    ipc: t.Any = optional("Always that of the host.")
    privileged: Flag | None = optional("container_profile decides that.")
    shm_size: t.Any = optional("Size of the container's /dev/shm.")
    shm_size_of_docker: t.Any = Field(None, alias="shm-size", description="The same, as docker spells it.")
    ulimit: _AnyList | None = optional("Limits; memlock and nofile are always raised.")
    volumes: t.Any = optional("Mounts, each as path on the node:path in the container.")
    devices: t.Any = optional("Devices of the node that the container can use.")
    cap_add: _AnyList | None = optional("Capabilities; container_profile decides them.")
    security_opt: _AnyList | None = optional("Security options; container_profile decides them.")
    group_add: _AnyList | None = optional("Groups; the container is in video.")
    env: t.Any = optional("Additional environment variables of the training.")


# Values move to keys of the first format, which checks them.
CHECKED_THERE = ("name", "image", "image_tar", "env", "shm_size", "shm-size", "volumes", "devices")
_ENGINES = ("docker", "podman")


class ContainerRuntime(ConfigSection):
    """The section ``container.runtime``."""

    name: t.Any = key("Container engine; container_engine decides.", default="docker")
    args: RuntimeArguments = key("How the container is started.", default_factory=RuntimeArguments)


class Container(ConfigSection):
    """The section ``container``."""

    lifetime: Lifetime | None = optional("Whether CVS starts a container; here each run has its own.")
    name: t.Any = optional("Name of the container on each node.")
    image: t.Any = optional("Container image; its name decides the trainer.")
    image_tar: t.Any = optional("An archive of the image; the image has to be on the nodes, or in a registry.")
    env: t.Any = optional("Additional environment variables of the training.")
    runtime: ContainerRuntime = key("What starts the container.", default_factory=ContainerRuntime)


# To the first format, from here.
MOVES = {
    "config.container_image": "container.image",
    "config.container_name": "container.name",
    "config.shm_size": "container.runtime.args.shm_size",
    "config.container_config.device_list": "container.runtime.args.devices",
    "config.container_config.volume_dict": "container.runtime.args.volumes",
    "config.container_config.env_dict": "container.env",
}
_OTHER_SPELLINGS = {
    "config.shm_size": "container.runtime.args.shm-size",
    "config.container_config.env_dict": "container.runtime.args.env",
}
_MODES = ("ro", "rw", "z", "Z")


def move_container(data: t.Mapping[str, t.Any], to: dict[str, t.Any], findings: Findings) -> dict[str, str]:
    """Move the section ``container`` of a file to the section ``config`` of the first format, and return the places."""
    places: dict[str, str] = {}
    for target, place in MOVES.items():
        for origin in filter(None, (place, _OTHER_SPELLINGS.get(target))):
            value = value_at(data, origin)
            if value is not None and not target.endswith("volume_dict"):
                put(to, target, value)
                places[target] = origin
    engine = value_at(data, "container.runtime.name")
    if engine is not None and engine not in _ENGINES:
        message = f"{shown(engine)} is not supported."
        findings.fault(
            "container.runtime.name", engine, message, f"Give {' or '.join(_ENGINES)}; see container_engine."
        )
    volumes = value_at(data, MOVES["config.container_config.volume_dict"])
    if volumes is not None and not isinstance(volumes, list):
        where = MOVES["config.container_config.volume_dict"]
        findings.fault(where, volumes, f"volumes is {shown(volumes)}, which is not a list.", "Give a list of mounts.")
    elif volumes is not None:
        mounts = {}
        for number, volume in enumerate(volumes):
            where = key_path(MOVES["config.container_config.volume_dict"], number)
            mount = _mount_of(volume)
            if mount is None:
                found = f"still contains {PLACEHOLDER}" if is_placeholder(volume) else "is not a mount"
                message = f"volumes[{number}] is {shown(volume)}, which {found}."
                findings.fault(where, volume, message, "Write /path/on/the/node:/path/in/the/container.")
            else:
                mounts[mount[0]] = mount[1]
                places[key_path("config.container_config.volume_dict", mount[0])] = where
        put(to, "config.container_config.volume_dict", mounts)
    return places


def _mount_of(volume: t.Any) -> tuple[str, str] | None:
    parts = volume.split(":") if isinstance(volume, str) else []
    if len(parts) == 3 and set(parts[2].split(",")) <= set(_MODES):
        parts.pop()
    return (parts[0], parts[1]) if len(parts) == 2 and all(part.startswith("/") for part in parts) else None
