# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes of a run on this node, found by the labels in their environment; nobody else's are ever touched."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import typing as t
from collections.abc import Iterator

from .own_folders import FOLDER_VARIABLE

if t.TYPE_CHECKING:
    import subprocess

    from .contracts import Handle

RUN_LABEL = "TRAINOPS_RUN_ID"
NODE_LABEL = "TRAINOPS_NODE"
_POLL_SECONDS = 0.05
# A process that survives SIGKILL this long waits for a device or a disk, maybe for ever.
_KILL_SECONDS = 10.0
_TOLD_CHARACTERS = 80
# Linux takes arguments and environment together up to 6 MiB (execve(2)).
_LONGEST_ENVIRONMENT = 6 << 20


def labels(run_id: str, node: str) -> dict[str, str]:
    """Return the environment variables that mark a process as this run's on this node."""
    return {RUN_LABEL: run_id, NODE_LABEL: node}


def is_running(handle: Handle) -> bool:
    """Return whether the process of a handle, its ``pid`` and ``start_time``, is still there."""
    started = start_time(handle["pid"])
    return started is not None and started == handle["start_time"]


def start_time(pid: int) -> str | None:
    """Return when a live process was started, in clock ticks since boot; None for a zombie or no process.

    Together with the pid it identifies one process for good, because pids are used again.
    """
    fields = stat_fields(pid)
    return None if not fields or fields[0] in ("Z", "X") else fields[19]


def stat_fields(pid: int) -> list[str]:
    """Return the fields of /proc/<pid>/stat from the state on (proc(5)); an empty list if the process is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            return stream.read().rpartition(")")[2].split()
    except OSError:
        return []


def members(run_id: str, node: str) -> Iterator[int]:
    """Yield the pids of all live processes of this user that carry the labels of a run on a node, this one left out."""
    for pid, owner, found in _labelled():
        if found == labels(run_id, node) and owner == os.geteuid():
            yield pid


def runs_here() -> list[str]:
    """Return the run_ids of all live processes of this user or root that carry our labels."""
    return sorted({found[RUN_LABEL] for _pid, _owner, found in _labelled()})


def begin(argv: list[str], **options: t.Any) -> subprocess.Popen[bytes]:
    """Start a program that talks to nobody and survives its caller."""
    import subprocess  # noqa: PLC0415

    # Runs on a node without AnsibleModule.
    return subprocess.Popen(  # pylint: disable=ansible-bad-function
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        **options,
    )


def process_text(pid: int) -> str:
    """Return a process in words."""
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as stream:
            command = stream.read(_TOLD_CHARACTERS).replace("\0", " ").strip()
    except OSError:
        command = ""
    return f"process {pid} ({command or 'name unreadable'})"


def _labelled() -> Iterator[tuple[int, int, dict[str, str]]]:
    """Yield every live process of this user or root that carries our labels, with its owner and them.

    Anybody can label their own processes. If this machine stands for several clusters, only processes of the current
    one count: their environment says which.
    """
    cluster = _cluster(os.environ)
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            # Between two reads a process may execute another program, and the first read then ends in mid word.
            with open(f"/proc/{entry}/environ", "rb", buffering=0) as stream:
                environment = stream.read(_LONGEST_ENVIRONMENT) or b""
        except OSError:
            continue
        # Few of a node's thousands of processes are ours.
        if RUN_LABEL.encode() not in environment:
            continue
        variables = dict(pair.partition("=")[::2] for pair in environment.decode("utf-8", "replace").split("\0"))
        found = {name: variables[name] for name in (RUN_LABEL, NODE_LABEL) if name in variables}
        if len(found) < len(labels("", "")) or start_time(int(entry)) is None or _cluster(variables) != cluster:
            continue
        owner = _owner(int(entry))
        if owner in (0, os.geteuid()):
            yield int(entry), owner, found


def _owner(pid: int) -> int | None:
    """Return the real uid of a process's starter, because a program with the setuid bit runs as root for anybody."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as stream:
            return next(int(line.split()[1]) for line in stream if line.startswith("Uid:"))
    except OSError:
        return None


def _cluster(environment: t.Mapping[str, str]) -> str:
    folder = environment.get(FOLDER_VARIABLE)
    return os.path.realpath(folder) if folder else ""


def end_members(run_id: str, node: str, grace_seconds: float) -> bool:
    """End all processes of a run on a node: SIGTERM, and SIGKILL for those left after the grace.

    JAX processes and hung collectives ignore SIGTERM, so the second signal is common. A child that a process starts to
    shut down cleanly is left to do so. Returns whether there was anything to end.
    """
    asked = set(members(run_id, node))
    if not asked:
        return False
    # A process that begins in the same tick may be such a child.
    now = int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
    _signal(asked, signal.SIGTERM)
    deadline = time.monotonic() + grace_seconds
    # A process shows no environment while it executes another program: such a process is asked again later, and one
    # look that finds none proves nothing.
    found_none = 0
    while found_none < 2 and time.monotonic() < deadline:
        found = set(members(run_id, node))
        missed = {pid for pid in found - asked if int(start_time(pid) or 0) < now}
        _signal(missed, signal.SIGTERM)
        asked |= missed
        found_none = 0 if found else found_none + 1
        time.sleep(_POLL_SECONDS)
    deadline = time.monotonic() + _KILL_SECONDS
    while found_none < 2 and time.monotonic() < deadline:
        found = set(members(run_id, node))
        _signal(found, signal.SIGKILL)
        found_none = 0 if found else found_none + 1
        time.sleep(_POLL_SECONDS)
    return True


def _signal(pids: t.Iterable[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
