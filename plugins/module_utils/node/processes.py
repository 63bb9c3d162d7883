# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes of a run on this node, found by the labels in their environment; nobody else's are ever touched."""

from __future__ import annotations

import os
import signal
import time
import typing as t
from collections.abc import Iterator

from .lock_folder import DEFAULT_LOCK_FOLDER, LOCK_FOLDER, LOCK_FOLDER_VARIABLE

RUN_LABEL = "TRAINOPS_RUN_ID"
NODE_LABEL = "TRAINOPS_NODE"
_POLL_SECONDS = 0.05


def labels(run_id: str, node: str) -> dict[str, str]:
    """Return the environment variables that mark a process as this run's on this node."""
    return {RUN_LABEL: run_id, NODE_LABEL: node}


def is_running(handle: dict[str, t.Any]) -> bool:
    """Tell whether the process of a handle, its ``pid`` and ``start_time``, is still there."""
    started = start_time(handle["pid"])
    return started is not None and started == handle["start_time"]


def start_time(pid: int) -> str | None:
    """Return when a live process was started, in clock ticks since boot; None for a zombie or no process.

    Together with the pid it names one process for good, as pids are used again.
    """
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            fields = stream.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else fields[19]


def members(run_id: str, node: str) -> Iterator[int]:
    """Yield the pids of all live processes that carry the labels of a run on a node, this one left out."""
    for pid, found in _labelled():
        if found == labels(run_id, node):
            yield pid


def runs_on(node: str) -> list[str]:
    """Return the run_ids of all live processes that carry the label of a node."""
    return sorted({found[RUN_LABEL] for _pid, found in _labelled() if found[NODE_LABEL] == node})


def _labelled() -> Iterator[tuple[int, dict[str, str]]]:
    """Yield every live process that carries our labels, with them, as far as this user may look.

    Only those of the cluster that this machine stands for, where it stands for several: its lock folder tells which.
    """
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as stream:
                environment = stream.read().decode("utf-8", "replace").split("\0")
        except OSError:
            continue
        variables = dict(variable.partition("=")[::2] for variable in environment)
        found = {name: variables[name] for name in (RUN_LABEL, NODE_LABEL) if name in variables}
        if len(found) < len(labels("", "")) or start_time(int(entry)) is None:
            continue
        if os.path.realpath(variables.get(LOCK_FOLDER_VARIABLE, DEFAULT_LOCK_FOLDER)) == os.path.realpath(LOCK_FOLDER):
            yield int(entry), found


def end_members(run_id: str, node: str, grace_seconds: float) -> bool:
    """End all processes of a run on a node: SIGTERM, and SIGKILL for what is there after the grace.

    JAX processes and hung collectives ignore SIGTERM, so the second signal is no rarity. Returns whether there was
    anything to end.
    """
    if not _signal_members(run_id, node, signal.SIGTERM):
        return False
    deadline = time.monotonic() + grace_seconds
    while time.monotonic() < deadline and any(members(run_id, node)):
        time.sleep(_POLL_SECONDS)
    while _signal_members(run_id, node, signal.SIGKILL):
        time.sleep(_POLL_SECONDS)
    return True


def _signal_members(run_id: str, node: str, number: int) -> bool:
    found = list(members(run_id, node))
    for pid in found:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
    return bool(found)
