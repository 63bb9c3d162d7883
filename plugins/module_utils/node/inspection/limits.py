# SPDX-License-Identifier: GPL-3.0-or-later
"""The limits of a training on a node: resource limits of its login, shared memory, room on disks."""

from __future__ import annotations

import os
import resource
import typing as t
from collections.abc import Sequence

from ..rdma_library import kind_of
from .elf import shared_library
from .files import below, number, text


def limit_facts(root: str) -> dict[str, t.Any]:
    """Return ``memlock`` (bytes) and ``nofile`` of this login as ``soft`` and ``hard``, -1 for unlimited.

    ``uid`` is whose login it is, ``nr_open`` the most that the kernel lets ``nofile`` be, ``shm`` the size of /dev/shm
    in bytes.
    """
    room = _room(below(root, "/dev/shm"))
    return {
        "memlock": _limit(resource.RLIMIT_MEMLOCK),
        "nofile": _limit(resource.RLIMIT_NOFILE),
        "uid": os.geteuid(),
        "nr_open": number(root, "/proc/sys/fs/nr_open"),
        "shm": {"total_bytes": room["total_bytes"], "free_bytes": room["free_bytes"]},
    }


def _limit(which: int) -> dict[str, int]:
    soft, hard = resource.getrlimit(which)
    return {"soft": soft, "hard": hard}


def path_facts(root: str, path: str) -> dict[str, t.Any]:
    """Return what a path is, and its free space.

    ``kind`` is ``file``, ``directory``, ``other`` or ``missing``, symbolic links followed. ``nearest`` is the path, or
    if it is missing the nearest existing folder above it: that is where ``total_bytes``, ``free_bytes`` and
    ``free_inodes`` (None if the file system counts none) were taken, its ``file_system``, and whether it is
    ``writable``. A shared library has ``library`` as well.
    """
    kind = kind_of(below(root, path))
    nearest = path
    while nearest != "/" and not os.path.exists(below(root, nearest)):
        nearest = os.path.dirname(nearest)
    facts: dict[str, t.Any] = {
        "kind": kind,
        "nearest": nearest,
        "writable": os.access(below(root, nearest), os.W_OK),
        "file_system": _file_system(text(root, "/proc/self/mounts") or "", nearest),
        **_room(below(root, nearest)),
    }
    if kind == "file" and ".so" in os.path.basename(path):
        facts["library"] = shared_library(below(root, path))
    if kind == "directory":
        facts["empty"] = _is_empty(below(root, path))
    return facts


def _is_empty(path: str) -> bool | None:
    try:
        with os.scandir(path) as entries:
            return next(entries, None) is None
    except OSError:
        return None


def _room(path: str) -> dict[str, int | None]:
    try:
        room = os.statvfs(path)
    except OSError:
        return {"total_bytes": None, "free_bytes": None, "free_inodes": None}
    return {
        "total_bytes": room.f_blocks * room.f_frsize,
        "free_bytes": room.f_bavail * room.f_frsize,
        "free_inodes": room.f_favail if room.f_files else None,
    }


def _file_system(mounts: str, path: str) -> str | None:
    """Return the file system type of a path: the type of the longest mount point above it."""
    rows: Sequence[list[str]] = [row.split() for row in mounts.splitlines()]
    over = [row for row in rows if len(row) > 2 and _is_above(row[1], path)]
    # If two have the same mount point, the later one covers the earlier.
    return max(reversed(over), key=lambda row: len(row[1]))[2] if over else None


def _is_above(mount_point: str, path: str) -> bool:
    return mount_point in ("/", path) or path.startswith(mount_point + "/")
