# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits a command's output while it arrives: a node is not trusted, and may send without an end.

Connection plugins start a process on the controller for each command and collect all of its output. `bind` makes one
connection's processes read it through a `_BoundedPipe`, which ends the process at the limit. The pieces are few,
because ansible.builtin.ssh copies all earlier output with every new piece.
"""

from __future__ import annotations

import fcntl
import os
import select
import subprocess
import threading
import time
import types
import typing as t

# An honest node answers with at most 8 MiB of a log, or with the steps read from 8 MiB of it: less than this.
MOST_BYTES = 24 << 20
MOST_OF_ERRORS = 8 << 20
_PIECE = 64 << 10
# A longer answer is read in large pieces; each piece has the bytes that arrive within this time.
_LARGE_PIECE = 2 << 20
_GATHER_SECONDS = 0.05


class TooLongError(Exception):
    """A command printed more than it may, and was ended."""

    def __init__(self, most: int) -> None:
        """Say how many bytes it may print."""
        super().__init__(f"its answer is longer than {most} bytes")


def bind(connection: t.Any) -> None:
    """Limit the output of a connection plugin's processes."""
    for cls in type(connection).__mro__:
        method = vars(cls).get("exec_command")
        names = getattr(method, "__globals__", {})
        if names.get("subprocess") is subprocess:
            names["subprocess"] = _BOUNDED


class _BoundedPipe:
    """Standard output or errors of a process, up to a bound; the process is killed there."""

    def __init__(self, process: subprocess.Popen[bytes], pipe: t.IO[bytes], most: int) -> None:
        self._process, self._pipe, self._most, self._size = process, pipe, most, 0

    def read(self, size: int | None = None) -> bytes | None:
        """Return the available bytes, from a blocking pipe all bytes, or up to ``size``; None if there are none yet."""
        waits = not fcntl.fcntl(self._pipe, fcntl.F_GETFL) & os.O_NONBLOCK
        pieces: list[bytes] = []
        wanted = size if size is not None and size >= 0 else self._most + 1 if waits else _LARGE_PIECE
        deadline = time.monotonic() + _GATHER_SECONDS
        while wanted > 0:
            try:
                piece = os.read(self._pipe.fileno(), min(wanted, _PIECE))
            except BlockingIOError:
                left = deadline - time.monotonic()
                if self._size <= _PIECE or not pieces or left <= 0 or not _has_more(self._pipe, left):
                    return b"".join(pieces) or None
                continue
            if not piece:
                break
            self.take(piece)
            pieces.append(piece)
            wanted -= len(piece)
            if not waits and self._size <= _PIECE:
                # It may be a prompt that somebody has to answer.
                break
        return b"".join(pieces)

    def take(self, piece: bytes) -> None:
        """Count a piece; `TooLongError` at the bound."""
        self._size += len(piece)
        if self._size > self._most:
            self._process.kill()
            raise TooLongError(self._most)

    def __getattr__(self, name: str) -> t.Any:
        return getattr(self._pipe, name)

    def __iter__(self) -> t.Iterator[bytes]:
        for line in self._pipe:
            self.take(line)
            yield line


def _has_more(pipe: t.IO[bytes], seconds: float) -> bool:
    poller = select.poll()
    poller.register(pipe, select.POLLIN)
    return bool(poller.poll(1000 * seconds))


class _BoundedPopen(subprocess.Popen):  # type: ignore[type-arg]
    """A process with limited output."""

    def __init__(self, *args: t.Any, **options: t.Any) -> None:
        super().__init__(*args, **options)
        if self.stdout:
            self.stdout = t.cast("t.Any", _BoundedPipe(self, self.stdout, MOST_BYTES))
        if self.stderr:
            self.stderr = t.cast("t.Any", _BoundedPipe(self, self.stderr, MOST_OF_ERRORS))

    def communicate(self, input: t.Any = None, timeout: float | None = None) -> tuple[t.Any, t.Any]:  # noqa: A002
        """Return the output of the process, given its input; `TooLongError` beyond the limit."""
        if timeout is not None or self.universal_newlines:
            return super().communicate(input, timeout)
        feeder = threading.Thread(target=self._feed, args=(input,), daemon=True)
        feeder.start()
        said: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
        pipes = {pipe.fileno(): name for name in said if (pipe := getattr(self, name))}
        poller = select.poll()
        for number in pipes:
            poller.register(number, select.POLLIN)
        try:
            while pipes:
                for number, _event in poller.poll():
                    piece = os.read(number, _PIECE)
                    if piece:
                        getattr(self, pipes[number]).take(piece)
                        said[pipes[number]].append(piece)
                    else:
                        poller.unregister(number)
                        del pipes[number]
        finally:
            for pipe in (self.stdout, self.stderr):
                if pipe:
                    pipe.close()
            self.wait()
        return b"".join(said["stdout"]), b"".join(said["stderr"])

    def _feed(self, given: bytes | None) -> None:
        if not self.stdin:
            return
        try:
            self.stdin.write(given or b"")
            self.stdin.close()
        except (BrokenPipeError, OSError, ValueError):
            pass


class _Subprocess(types.ModuleType):
    """The module subprocess, with processes whose output is limited."""

    Popen = _BoundedPopen

    def __getattr__(self, name: str) -> t.Any:
        return getattr(subprocess, name)


_BOUNDED = _Subprocess("subprocess")
