# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes of a run on this node, found by the labels in their environment; nobody else's are ever touched."""

from __future__ import annotations

import os
import signal
import time
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Iterator

RUN_LABEL = "TRAINOPS_RUN_ID"
NODE_LABEL = "TRAINOPS_NODE"
_POLL_SECONDS = 0.05


def labels(run_id: str, node: str) -> dict[str, str]:
    """Return the environment variables that mark a process as this run's on this node."""
    return {RUN_LABEL: run_id, NODE_LABEL: node}


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
    wanted = {f"{name}={value}".encode() for name, value in labels(run_id, node).items()}
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as stream:
                environment = stream.read().split(b"\0")
        except OSError:
            continue
        if wanted.issubset(environment) and start_time(int(entry)) is not None:
            yield int(entry)


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
