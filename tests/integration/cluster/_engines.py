# SPDX-License-Identifier: GPL-3.0-or-later
"""How podman and docker are set up on a node: files below /, the same on every node of this machine."""

from __future__ import annotations

import json
import typing as t

CLAMP: t.Final = "/usr/local/bin/oci-clamp"


def configuration(*, clamp: bool) -> dict[str, str]:
    """Files and their content. With ``clamp`` the engines start containers through oci_clamp.py instead of runc.

    Both engines keep images in their own store on the disk and must use overlay there: left to themselves they copy
    whole images for each container when something is wrong.
    """
    daemon: dict[str, t.Any] = {"storage-driver": "overlay2"}
    if clamp:
        daemon |= {"runtimes": {"clamp": {"path": CLAMP}}, "default-runtime": "clamp"}
    return {
        "etc/docker/daemon.json": json.dumps(daemon, indent=2) + "\n",
        "etc/containers/storage.conf": (
            "[storage]\n"
            'driver = "overlay"\n'
            'runroot = "/run/containers/storage"\n'
            'graphroot = "/var/lib/containers/storage"\n'
        ),
        "etc/containers/containers.conf": (
            "[engine]\n"
            f'runtime = "{"clamp" if clamp else "runc"}"\n'
            'cgroup_manager = "systemd"\n'
            "[engine.runtimes]\n"
            f'clamp = ["{CLAMP}"]\n'
            "[network]\n"
            'network_backend = "netavark"\n'
        ),
    }
