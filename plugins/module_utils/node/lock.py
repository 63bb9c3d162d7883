# SPDX-License-Identifier: GPL-3.0-or-later
"""One run at a time on a node: a lock file that names the run that holds it.

The lock is taken when a run is staged and given back when it is stopped. A lock whose run has ended, or whose run
folder is gone, holds nobody off. What really runs on the node is asked of the engine besides: a lock is only a promise.
"""

from __future__ import annotations

import fcntl
import os
import time
import typing as t

from .files import read_json, write_json
from .lock_folder import LOCK_FOLDER
from .run_state import read_state

_STAGING_SECONDS = 60


def take(node: dict[str, t.Any], run_id: str) -> str | None:
    """Take the node for a run, or return the run_id of the run that holds it."""
    os.makedirs(LOCK_FOLDER, exist_ok=True)
    # Sticky, as /tmp is.
    if os.stat(LOCK_FOLDER).st_uid == os.getuid():
        os.chmod(LOCK_FOLDER, 0o1777)
    # The folder itself is locked while one looks at the node's lock and takes it, so that nobody else does meanwhile.
    folder = os.open(LOCK_FOLDER, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        holder = holding(node)
        if holder is not None:
            return None if holder == run_id else holder
        write_json(_path(node), {"run_id": run_id, "node": node["node"], "run_folder": node["run_folder"]}, 0o644)
        return None
    finally:
        os.close(folder)


def holding(node: dict[str, t.Any]) -> str | None:
    """Return the run_id of the run that holds the node, or None where nobody does."""
    try:
        lock = read_json(_path(node))
        if lock is None:
            return None
        state = read_state(lock)
        is_new = time.time() - os.stat(_path(node)).st_mtime < _STAGING_SECONDS
    except (OSError, ValueError):
        return None
    # A run takes the lock before it writes its state.
    holds = is_new if state is None else state["status"] in ("staged", "running")
    return str(lock["run_id"]) if holds else None


def give_back(node: dict[str, t.Any], run_id: str) -> None:
    """Give the node back, if this run holds it."""
    lock = read_json(_path(node))
    if lock and lock["run_id"] == run_id:
        os.unlink(_path(node))


def _path(node: dict[str, t.Any]) -> str:
    return os.path.join(LOCK_FOLDER, f"{node['node']}.lock")
