# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes that have a device of the node open, found without any tool. Only root sees other users' processes."""

from __future__ import annotations

import os
import pwd
import typing as t
from collections.abc import Iterable

from ..processes import RUN_LABEL
from .files import below, names, text


def process(root: str, pid: int) -> dict[str, t.Any] | None:
    """Return ``pid``, ``command``, ``user``, and ``run_id`` if it is of a run of ours; None once it is gone."""
    words = [word for word in (text(root, f"/proc/{pid}/cmdline") or "").split("\0") if word]
    try:
        owner = os.stat(below(root, f"/proc/{pid}")).st_uid
    except OSError:
        return None
    variables = dict(row.partition("=")[::2] for row in (text(root, f"/proc/{pid}/environ") or "").split("\0"))
    return {
        "pid": pid,
        "command": " ".join(words[:3]) or (text(root, f"/proc/{pid}/comm") or "").strip(),
        "user": _user(owner),
        "run_id": variables.get(RUN_LABEL),
    }


def processes(root: str, pids: Iterable[int]) -> list[dict[str, t.Any]]:
    """Return the processes of these pids that are there."""
    return [found for found in (process(root, pid) for pid in sorted(set(pids))) if found]


def processor_seconds(root: str) -> dict[int, float]:
    """Return by process how many seconds of processors it has used (proc(5), /proc/<pid>/stat)."""
    ticks = os.sysconf("SC_CLK_TCK")
    found = {}
    for name in names(root, "/proc"):
        # The name of a process may contain spaces and brackets.
        after_name = (text(root, f"/proc/{name}/stat") or "").rpartition(")")[2].split() if name.isdigit() else []
        if len(after_name) > 12:
            found[int(name)] = (int(after_name[11]) + int(after_name[12])) / ticks
    return found


def holders(root: str, prefixes: tuple[str, ...]) -> list[dict[str, t.Any]]:
    """Return the processes that have a file open whose path begins with one of the prefixes."""
    pids = [int(name) for name in names(root, "/proc") if name.isdigit()]
    return processes(root, [pid for pid in pids if _holds(root, pid, prefixes)])


def _holds(root: str, pid: int, prefixes: tuple[str, ...]) -> bool:
    folder = f"/proc/{pid}/fd"
    for number in names(root, folder):
        try:
            if os.readlink(below(root, f"{folder}/{number}")).startswith(prefixes):
                return True
        except OSError:
            continue
    return False


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
