# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the disks of a node have room for a run's files."""

from __future__ import annotations

import os
import typing as t

from .problems import Problem, problem

_GIB = 1024**3
# Enough for logs, a token and an index cache.
LEAST_BYTES = 1024**3


def room_problems(needs: t.Mapping[str, int]) -> list[Problem]:
    """Return which disks have less room than ``needs`` says for all paths on them, in bytes by path.

    A missing path counts for the nearest folder above it. A disk whose room is unknown has room.
    """
    disks: dict[int, list[str]] = {}
    for path in needs:
        disks.setdefault(os.stat(_nearest(path)).st_dev, []).append(path)
    problems = []
    for paths in disks.values():
        needed, disk = sum(needs[path] for path in paths), os.statvfs(_nearest(paths[0]))
        free = disk.f_bavail * disk.f_frsize
        if disk.f_blocks and free < needed:
            sizes = {"needed_gib": needed / _GIB, "free_gib": free / _GIB}
            problems.append(problem("too_little_room", paths=paths, disk=_nearest(paths[0]), **sizes))
    return problems


def _nearest(path: str) -> str:
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return path


def in_gib(size: float) -> str:
    """Return a size for people."""
    return f"{size / 1024**3:,.1f} GiB"
