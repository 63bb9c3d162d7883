# SPDX-License-Identifier: GPL-3.0-or-later
"""The dumps of PyTorch's flight recorder that a run's ranks write, if the plan asks for them in its folder.

A rank writes one when NCCL's watchdog gives up, and when somebody writes to its pipe, which a thread of its own looks
at once a second (DumpPipe and HeartbeatMonitor in torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp).
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
import time
import typing as t

from .plain_pickle import read_plain
from .recorded import groups_in

if t.TYPE_CHECKING:
    from .contracts import GroupSeen, Node, Recorded

# PyTorch's names for them, the latest first.
_DUMPS = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
_PIPES = ("TORCH_NCCL_DEBUG_INFO_PIPE_FILE",)
FUNCTION = "check_pipes"
_MOST_RANKS = 64
_MOST_BYTES = 64 << 20
_WAIT_SECONDS = 8.0
# The limit is for all dumps of a node; one of 20,000 collectives, which TorchTitan keeps, takes about 1 s.
_SECONDS = 16.0
_POLL_SECONDS = 0.2

_READ_ONLY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK

_Version = t.Tuple[int, int, int]


def recorded_here(node: Node, ask: bool) -> list[Recorded]:
    """Return the dumps of a node's ranks, as ``rank``, ``file`` and ``groups`` (`recorded.groups_in`).

    With ``ask``, running ranks are first asked for a new dump, for which this waits at most 8 s; if a rank leaves no
    new dump, its old one does not count. ``groups`` is None if a dump is invalid, too large, or could not be read
    within 16 s.
    """
    dumps = _prefix(node, _DUMPS)
    if dumps is None:
        return []
    before = _versions(dumps)
    asked = _ask(_prefix(node, _PIPES)) if ask else set()
    begin = time.monotonic()
    found: dict[int, tuple[_Version, Recorded]] = {}
    while True:
        for rank, version in sorted(_versions(dumps).items())[:_MOST_RANKS]:
            is_old = rank in asked and version == before.get(rank)
            if not is_old and (rank not in found or found[rank][0] != version):
                path = f"{dumps}{rank}"
                found[rank] = version, {"rank": rank, "file": path, "groups": _read(path, begin + _SECONDS)}
        is_there = all(rank in found and found[rank][1]["groups"] is not None for rank in asked)
        if is_there or time.monotonic() > begin + _WAIT_SECONDS:
            return [seen for _rank, (_version, seen) in sorted(found.items())]
        time.sleep(_POLL_SECONDS)


def path_of_dump(node: Node, rank: int) -> str | None:
    """Return the path of a rank's dump, if it left one of a size that is read."""
    dumps = _prefix(node, _DUMPS)
    found = _versions(dumps).get(rank) if dumps is not None else None
    return f"{dumps}{rank}" if found and found[2] <= _MOST_BYTES else None


def pipes_function(node: Node) -> dict[str, list[str]]:
    """Return the lines of bash that define a function for the start of a training, by its name.

    A rank that cannot make its pipe ends. So ranks get none if the run's folder cannot have pipes, as in some file
    systems in user space. Their dumps then come from NCCL's watchdog alone.
    """
    if _prefix(node, _PIPES) is None:
        return {}
    name = _PIPES[0]
    return {
        FUNCTION: [
            f"{FUNCTION}() {{",
            f'  local pipe="${name}check.$$"',
            '  { mkfifo -- "$pipe" && rm -f -- "$pipe"; } 2>/dev/null && return',
            f'  echo "Without {name}, because this folder cannot have named pipes: ${name}"',
            f"  unset {name}",
            "}",
        ]
    }


def _prefix(node: Node, names: t.Sequence[str]) -> str | None:
    """Return how the paths of the ranks' files begin; None if that is not in the run's folder, the only one of ours."""
    given = next((node["env"][name] for name in names if node["env"].get(name)), "")
    return given if os.path.normpath(given).startswith(f"{node['run_folder']}/") else None


def _versions(prefix: str) -> dict[int, _Version]:
    """Return the dumps that there are, by rank; a file that changes has another version."""
    folder, name = os.path.split(prefix)
    found = {}
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            rank = re.fullmatch(rf"{re.escape(name)}(\d{{1,7}})", entry.name)
            if rank and entry.is_file(follow_symlinks=False):
                seen = entry.stat(follow_symlinks=False)
                found[int(rank.group(1))] = seen.st_ino, seen.st_mtime_ns, seen.st_size
    return found


class _InTime(io.FileIO):
    """A file that can be read until a moment of the monotonic clock."""

    limit = 0.0

    def readinto(self, buffer: t.Any) -> int | None:
        if time.monotonic() > self.limit:
            raise TimeoutError
        return super().readinto(buffer)


def _read(path: str, limit: float) -> list[GroupSeen] | None:
    """Return the content of a dump; None if it is still being written, or is not a dump."""
    with contextlib.suppress(OSError, ValueError), _InTime(os.open(path, _READ_ONLY)) as file:
        file.limit = limit
        seen = os.fstat(file.fileno())
        if stat.S_ISREG(seen.st_mode) and seen.st_size <= _MOST_BYTES:
            return groups_in(read_plain(io.BufferedReader(file)))
    return None


def _ask(prefix: str | None) -> set[int]:
    """Ask each rank with a pipe for a dump, and return the ranks."""
    if prefix is None:
        return set()
    folder, name = os.path.split(prefix)
    asked = set()
    with contextlib.suppress(OSError):
        for entry in os.listdir(folder):
            rank = re.fullmatch(rf"{re.escape(name)}(\d{{1,7}})\.pipe", entry)
            # A rank that has ended reads no more: ENXIO.
            with contextlib.suppress(OSError):
                if rank and _write(os.path.join(folder, entry)):
                    asked.add(int(rank.group(1)))
    return asked


def _write(path: str) -> bool:
    pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        return stat.S_ISFIFO(os.fstat(pipe).st_mode) and os.write(pipe, b"1\n") > 0
    finally:
        os.close(pipe)
