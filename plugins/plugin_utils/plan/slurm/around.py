# SPDX-License-Identifier: GPL-3.0-or-later
"""Running the tasks of a job in the container of a plan: with NVIDIA's Pyxis and Enroot for srun, or Apptainer.

Formats: https://github.com/NVIDIA/pyxis#usage, https://github.com/NVIDIA/enroot/blob/master/doc/cmd/import.md and
https://apptainer.org/docs/user/main/cli/apptainer_exec.html
"""

from __future__ import annotations

import posixpath
import shlex

from ...contracts import NodePlan

PYXIS, APPTAINER = "pyxis", "apptainer"
# The task behaves the same in the container as on the node: it is the same user, and sees the run's folders.
_PYXIS = "--container-writable --no-container-remap-root --no-container-mount-home"
_APPTAINER = "apptainer exec --writable-tmpfs --no-home"


def container_options(engine: str, node: NodePlan, shares_folder: bool) -> str:
    """Return the shell text that follows srun's options; empty if an engine on the node is used.

    Folders that differ between nodes are mounted through their parent. ``shares_folder``: the nodes see the run's
    folder.
    """
    image = node["image"] or ""
    mounts = shlex.quote(",".join(_mounts(node)))
    folder = "/"
    if shares_folder:
        mounts, folder = f'{mounts},"$PWD:$PWD"', '"$PWD"'
    if engine == PYXIS:
        name = shlex.quote(_enroot_name(image))
        return f" --container-image={name} --container-mounts={mounts} --container-workdir={folder} {_PYXIS}"
    if engine == APPTAINER:
        name = shlex.quote(image if _is_path(image) else f"docker://{image}")
        return f" {_APPTAINER} --bind {mounts} --pwd {folder} {name}"
    return ""


def _mounts(node: NodePlan) -> list[str]:
    mounts = [mount for mount in node["mounts"] if not mount.get("staged")]
    same = [posixpath.dirname(node["run_folder"]), *node["devices"]]
    same += ["/dev/shm"] if node["secrets"] else []
    given = [f"{mount['source']}:{mount['target']}{':ro' if mount.get('read_only') else ''}" for mount in mounts]
    return given + [f"{path}:{path}" for path in same]


def _enroot_name(image: str) -> str:
    """Return an image name for Enroot, with # after the registry. The path of a squashfs file is unchanged."""
    registry, slash, rest = image.partition("/")
    has_registry = slash and registry and ("." in registry or ":" in registry or registry == "localhost")
    return f"{registry}#{rest}" if has_registry and not _is_path(image) else image


def _is_path(image: str) -> bool:
    return image.startswith((".", "/"))
