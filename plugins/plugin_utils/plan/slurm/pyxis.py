# SPDX-License-Identifier: GPL-3.0-or-later
"""What srun is given to run the tasks of a job in the container of a plan, by NVIDIA's plugins Pyxis and Enroot.

Formats: https://github.com/NVIDIA/pyxis#usage and https://github.com/NVIDIA/enroot/blob/master/doc/cmd/import.md
"""

from __future__ import annotations

import posixpath
import shlex

from ...contracts import NodePlan

PYXIS = "pyxis"
# The task does the same in the container as on the node, so it is the same user there, and sees the run's folders.
_ALWAYS = ("--container-writable", "--no-container-remap-root", "--no-container-mount-home")


def container_options(node: NodePlan) -> str:
    """Return the options as the shell reads them; what differs between nodes is mounted by the folder above it."""
    mounts = [mount for mount in node["mounts"] if not mount.get("staged")]
    same = [posixpath.dirname(node["run_folder"]), *node["devices"]]
    same += ["/dev/shm"] if node["secrets"] else []
    given = [f"{mount['source']}:{mount['target']}{':ro' if mount.get('read_only') else ''}" for mount in mounts]
    given += [f"{path}:{path}" for path in same]
    return " ".join(
        [
            f"--container-image={shlex.quote(_enroot_name(node['image'] or ''))}",
            f'--container-mounts={shlex.quote(",".join(given))},"$PWD:$PWD"',
            '--container-workdir="$PWD"',
            *_ALWAYS,
        ]
    )


def _enroot_name(image: str) -> str:
    """Return the name of an image as Enroot takes it: a mark ends the registry. A path of a squashfs file stays."""
    registry, slash, rest = image.partition("/")
    has_registry = slash and registry and ("." in registry or ":" in registry or registry == "localhost")
    return f"{registry}#{rest}" if has_registry and not image.startswith((".", "/")) else image
