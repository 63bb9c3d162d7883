# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast data and single bytes get from one node to another over TCP, as one of the two sees it: who connects.

Both send a secret of the test first, so that nobody else takes part. Then single bytes go to and fro, then blocks, each
of which is answered with a byte. Who connects closes the connection after enough of them, sooner on a slow link.

In a rehearsal nodes share a machine, and time says more about who else uses it. So both ends work on each block,
and the processor time of both is what is measured.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import socket
import struct
import time
import typing as t

from ...phase import NodeError
from ..face import Reading

if t.TYPE_CHECKING:
    from ...contracts import Asked, Partner
    from ..programs import Programs

_BLOCK = 4 << 20
_BLOCKS = 32
_BYTES_TO_AND_FRO = 200
_SAMPLES = 5
# On a slow link fewer blocks are sent, so that the test lasts no longer.
_ENOUGH_SECONDS = 5.0
# In a rehearsal.
_SMALL_BLOCK = 64 << 10
_WORK = 32
_POLL_SECONDS = 0.05
_SECONDS = struct.Struct("!d")


def measure(asked: Asked, _programs: Programs) -> list[Reading]:
    """Return, for who connects, the seconds of a block and of a byte to and fro; for the other end nothing."""
    partner = asked["partner"]
    with contextlib.closing(_served(partner) if partner["serves"] else _connected(partner)) as stream:
        stream.settimeout(partner["patience"])
        try:
            _greet(stream, partner["secret"])
            return (_rehearsed if asked["rehearsal"] else _timed)(stream, asked, partner)
        except OSError as error:
            raise NodeError(f"the connection with {partner['node']} broke: {error.strerror or error}") from None


def _served(partner: Partner) -> socket.socket:
    try:
        with contextlib.closing(socket.socket()) as listening:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(("", partner["port"]))
            listening.listen(1)
            listening.settimeout(partner["patience"])
            return listening.accept()[0]
    except socket.timeout:
        raise NodeError(f"{partner['node']} did not connect to port {partner['port']}") from None
    except OSError as error:
        raise NodeError(
            f"nothing can listen on port {partner['port']} here ({error.strerror}); set isolate_port to another one"
        ) from None


def _connected(partner: Partner) -> socket.socket:
    deadline = time.monotonic() + partner["patience"]
    while True:
        try:
            return socket.create_connection((partner["address"], partner["port"]), partner["patience"])
        except OSError as error:
            # The other end may not listen yet.
            if time.monotonic() > deadline:
                where = f"{partner['node']} at {partner['address']}, port {partner['port']}"
                raise NodeError(f"{where} cannot be reached: {error.strerror or error}") from None
            time.sleep(_POLL_SECONDS)


def _greet(stream: socket.socket, secret: str) -> None:
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    stream.sendall(secret.encode())
    if not hmac.compare_digest(_received(stream, len(secret)), secret.encode()):
        raise NodeError("somebody else has connected, who does not know the secret of this test")


def _timed(stream: socket.socket, asked: Asked, partner: Partner) -> list[Reading]:  # noqa: ARG001
    block = bytes(_BLOCK)
    if partner["serves"]:
        for _byte in range(_BYTES_TO_AND_FRO):
            stream.sendall(_received(stream, 1))
        while _block_arrives(stream):
            stream.sendall(b".")
        return []
    latencies = [_seconds(stream, b".") for _byte in range(_BYTES_TO_AND_FRO)]
    throughput: list[float] = []
    began = time.perf_counter()
    while len(throughput) < _SAMPLES or (len(throughput) < _BLOCKS and time.perf_counter() - began < _ENOUGH_SECONDS):
        throughput.append(_seconds(stream, block))
    return [
        Reading("tcp_latency", "link", _least_of_parts(latencies)),
        Reading("tcp_throughput", "link", _least_of_parts(throughput)),
    ]


def _block_arrives(stream: socket.socket) -> bool:
    """Return whether a whole block arrives; the end of the connection is the end of the test."""
    left = _BLOCK
    while left:
        part = stream.recv(min(left, 1 << 20))
        if not part:
            return False
        left -= len(part)
    return True


def _seconds(stream: socket.socket, data: bytes) -> float:
    began = time.perf_counter()
    stream.sendall(data)
    _received(stream, 1)
    return time.perf_counter() - began


def _rehearsed(stream: socket.socket, asked: Asked, partner: Partner) -> list[Reading]:
    block = bytes(_SMALL_BLOCK)
    times = round(_WORK * asked["slowdown"] * partner["slowdown"])
    own, others = [], []
    for _block in range(_SAMPLES * 6):
        if partner["serves"]:
            block = _received(stream, _SMALL_BLOCK)
        else:
            stream.sendall(block)
        began = time.thread_time()
        digest = hashlib.sha256()
        for _time in range(times):
            digest.update(block)
        own.append(time.thread_time() - began)
        if partner["serves"]:
            stream.sendall(_SECONDS.pack(own[-1]))
        else:
            others.append(_SECONDS.unpack(_received(stream, _SECONDS.size))[0])
    if partner["serves"]:
        return []
    both = [one + other for one, other in zip(_least_of_parts(own), _least_of_parts(others))]
    return [Reading("tcp_throughput", "link", both)]


def _least_of_parts(found: list[float]) -> list[float]:
    """Return the least of each of some parts of what was found, as other traffic only adds to it."""
    return [min(found[part::_SAMPLES]) for part in range(_SAMPLES)]


def _received(stream: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = stream.recv(min(size - len(parts), 1 << 20))
        if not part:
            raise NodeError("the other end has closed the connection")
        parts += part
    return bytes(parts)
