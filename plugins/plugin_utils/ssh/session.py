# SPDX-License-Identifier: GPL-3.0-or-later
"""A command over the connection that OpenSSH keeps to a host, without a process of ssh for it.

The command is handed to the process that keeps the connection (ControlPersist) as ssh itself hands it over: by version
4 of the protocol in OpenSSH's ``PROTOCOL.mux``. A packet is its length, a type and fields; numbers have 32 bits,
big-endian, and a string is its length and its bytes.
"""

from __future__ import annotations

import contextlib
import io
import os
import selectors
import socket
import struct
import typing as t
from collections.abc import Sequence

_HELLO = struct.pack(">II", 0x00000001, 4)
_STOP_LISTENING = struct.pack(">II", 0x10000009, 0)
_NEW_SESSION = struct.pack(">II", 0x10000002, 0)
_OPENED = struct.pack(">II", 0x80000006, 0)
_EXIT = struct.pack(">I", 0x80000004)
# No terminal, no display, no agent, no subsystem, no escape character.
_PLAIN = struct.pack(">IIIII", 0, 0, 0, 0, 0xFFFFFFFF)
_LONGEST_PACKET = 1 << 18
_CHUNK = 1 << 16
_LET_GO_SECONDS = 1.0


class NoConnectionError(Exception):
    """No connection is kept, or it takes no further command: nothing was run."""


class ConnectionLostError(Exception):
    """The connection ended before the command did."""


class Result(t.NamedTuple):
    """The exit status of a command, and what it printed."""

    status: int
    stdout: bytes
    stderr: bytes


def run(control_path: str, command: bytes, standard_input: bytes, variables: Sequence[bytes]) -> Result:
    """Run a command over the connection kept at a socket; `NoConnectionError`, or `ConnectionLostError`.

    ``variables`` are ``NAME=value``; the connection sends those that its SendEnv names, and all of its SetEnv.
    """
    with contextlib.ExitStack() as held:
        keeper = held.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        (stdin, to_command), (from_stdout, stdout), (from_stderr, stderr) = (_pipe(held) for _number in range(3))
        try:
            _greet(keeper, control_path)
            words = b"".join(_string(word) for word in (b"", command, *variables))
            _send(keeper, _NEW_SESSION + _string(b"") + _PLAIN + words)
            for theirs in (stdin, stdout, stderr):
                socket.send_fds(keeper, [b"\0"], [theirs.fileno()])
                theirs.close()
            if not _received(keeper).startswith(_OPENED):
                raise NoConnectionError
        except OSError:
            raise NoConnectionError from None
        try:
            return _exchanged(keeper, standard_input, to_command, (from_stdout, from_stderr))
        except OSError:
            raise ConnectionLostError from None


def let_go(control_path: str) -> None:
    """Let the connection kept at a socket end with the last command that runs over it, whoever runs it."""
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


def _exchanged(keeper: socket.socket, given: bytes, stdin: io.FileIO, outputs: tuple[io.FileIO, io.FileIO]) -> Result:
    """Return the result of a command that runs, once the keeper of its connection has ended the session."""
    os.set_blocking(stdin.fileno(), False)
    rest = memoryview(given)
    status: int | None = None
    printed = {output: bytearray() for output in outputs}
    with selectors.PollSelector() as open_ends:
        open_ends.register(stdin, selectors.EVENT_WRITE)
        for end in (keeper, *outputs):
            open_ends.register(end, selectors.EVENT_READ)
        while keeper in open_ends.get_map():
            for key, _events in open_ends.select():
                if key.fileobj is keeper:
                    packet = _received(keeper)
                    if packet.startswith(_EXIT):
                        status = struct.unpack(">I", packet[8:12])[0]
                    is_done = not packet
                elif key.fileobj is stdin:
                    rest = _rest(stdin, rest)
                    is_done = not rest
                else:
                    output = t.cast("io.FileIO", key.fileobj)
                    chunk = output.read(_CHUNK)
                    printed[output] += chunk
                    is_done = not chunk
                if is_done:
                    open_ends.unregister(key.fileobj)
                    if key.fileobj is stdin:
                        stdin.close()
    for output in outputs:
        os.set_blocking(output.fileno(), False)
        while chunk := output.read(_CHUNK):
            printed[output] += chunk
    if status is None:
        raise ConnectionLostError
    return Result(status, *(bytes(text) for text in printed.values()))


def _rest(stdin: io.FileIO, given: memoryview) -> memoryview:
    """Return what is left of a standard input after as much as its pipe takes now; nothing where nobody reads it."""
    try:
        return given[stdin.write(given[:_CHUNK]) or 0 :]
    except BrokenPipeError:
        return given[:0]


def _pipe(held: contextlib.ExitStack) -> tuple[io.FileIO, io.FileIO]:
    read, write = os.pipe()
    return held.enter_context(io.FileIO(read, "r")), held.enter_context(io.FileIO(write, "w"))


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
