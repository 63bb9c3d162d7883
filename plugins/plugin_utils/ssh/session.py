# SPDX-License-Identifier: GPL-3.0-or-later
"""A command over the connection that OpenSSH keeps to a host, without an ssh process.

The command goes to the process that keeps the connection (ControlPersist), in the same way as from ssh itself: with
version 4 of the protocol in OpenSSH's ``PROTOCOL.mux``. A packet is its length, a type and fields; numbers have 32
bits, big-endian, and a string is its length and its bytes.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import select
import socket
import struct
import typing as t
from collections.abc import Sequence

from ..bounded_output import MOST_BYTES, MOST_OF_ERRORS, TooLongError

_HELLO = struct.pack(">II", 0x00000001, 4)
_STOP_LISTENING = struct.pack(">II", 0x10000009, 0)
_NEW_SESSION = struct.pack(">II", 0x10000002, 0)
_OPENED = struct.pack(">II", 0x80000006, 0)
_EXIT = struct.pack(">I", 0x80000004)
# No terminal, no display, no agent, no subsystem, no escape character.
_PLAIN = struct.pack(">IIIII", 0, 0, 0, 0, 0xFFFFFFFF)
_LONGEST_PACKET = 1 << 18
_LET_GO_SECONDS = 1.0
_LOOK_SECONDS = 2.0
# OpenSSH writes no more at once.
_LONGEST_WRITE = 64 << 10


class NoConnectionError(Exception):
    """No connection is kept, or it accepts no further command: nothing was run."""


class ConnectionLostError(Exception):
    """The connection ended before the command did."""


class Result(t.NamedTuple):
    """The exit status of a command, and its output."""

    status: int
    stdout: bytes
    stderr: bytes


def run(control_path: str, command: bytes, standard_input: bytes, variables: Sequence[bytes]) -> Result:
    """Run a command over the connection kept at a socket; `NoConnectionError`, `ConnectionLostError`, or
    `TooLongError`.

    ``variables`` are ``NAME=value``; the connection sends those that its SendEnv names, and all of its SetEnv.
    """
    with contextlib.ExitStack() as held:
        keeper = held.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        stdin = held.enter_context(_file_of_no_name())
        outputs = [held.enter_context(_bounded_file(most)) for most in (MOST_BYTES, MOST_OF_ERRORS)]
        stdin.write(standard_input)
        stdin.seek(0)
        try:
            _greet(keeper, control_path)
            words = b"".join(_string(word) for word in (b"", command, *variables))
            _send(keeper, _NEW_SESSION + _string(b"") + _PLAIN + words)
            for file in (stdin, *outputs):
                socket.send_fds(keeper, [b"\0"], [file.fileno()])
            if not _received(keeper).startswith(_OPENED):
                raise NoConnectionError
        except OSError:
            raise NoConnectionError from None
        status = _status(keeper, outputs)
        return Result(status, *map(_written, outputs))


def let_go(control_path: str) -> None:
    """Make the connection kept at a socket end with the last command over it, whichever process runs it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as keeper, contextlib.suppress(OSError, NoConnectionError):
        keeper.settimeout(_LET_GO_SECONDS)
        _greet(keeper, control_path)
        _send(keeper, _STOP_LISTENING)
        _received(keeper)


def _greet(keeper: socket.socket, control_path: str) -> None:
    keeper.connect(control_path)
    _send(keeper, _HELLO)
    if not _received(keeper).startswith(_HELLO):
        raise NoConnectionError


def _status(keeper: socket.socket, outputs: Sequence[io.FileIO]) -> int:
    """Return the exit status of a running command, once the keeper of its connection has ended the session."""
    status: int | None = None
    poller = select.poll()
    poller.register(keeper, select.POLLIN)
    try:
        while True:
            while not poller.poll(1000 * _LOOK_SECONDS):
                # A command that has exceeded the bound is not waited for.
                for output in outputs:
                    _size(output)
            packet = _received(keeper)
            if not packet:
                break
            if packet.startswith(_EXIT):
                status = struct.unpack(">I", packet[8:12])[0]
        # The exit status of a command that was cut off means nothing.
        for output in outputs:
            _size(output)
    except OSError:
        raise ConnectionLostError from None
    if status is None:
        raise ConnectionLostError
    return status


def _bounded_file(most: int) -> io.FileIO:
    """Return a file in memory with room for this many bytes; further writes fail, as on a full disk."""
    file = io.FileIO(os.memfd_create("trainops", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "r+")
    file.truncate(most)
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    return file


def _size(file: io.FileIO) -> int:
    """Return how many bytes were written to a bounded file; `TooLongError` if it is full."""
    # The offset is shared with the process that writes.
    size, most = file.tell(), os.fstat(file.fileno()).st_size
    if size > most - _LONGEST_WRITE:
        raise TooLongError(most)
    return size


def _written(file: io.FileIO) -> bytes:
    size = _size(file)
    file.seek(0)
    return file.read(size)


def _file_of_no_name() -> io.FileIO:
    """Return a file in memory for a command's input or output: unlike a pipe it need not be emptied meanwhile."""
    return io.FileIO(os.memfd_create("trainops"), "r+")


def _string(value: bytes) -> bytes:
    return struct.pack(">I", len(value)) + value


def _send(keeper: socket.socket, packet: bytes) -> None:
    keeper.sendall(_string(packet))


def _received(keeper: socket.socket) -> bytes:
    """Return a packet; nothing where the keeper has closed its end."""
    head = keeper.recv(4, socket.MSG_WAITALL)
    length = int.from_bytes(head, "big")
    packet = keeper.recv(length, socket.MSG_WAITALL) if length <= _LONGEST_PACKET else b""
    if len(head) not in (0, 4) or len(packet) < length:
        raise ConnectionResetError
    return packet
