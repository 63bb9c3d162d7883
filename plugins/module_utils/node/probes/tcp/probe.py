# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast data and single bytes travel between two nodes over TCP, measured by the one that connects.

Single bytes go to and fro, then blocks, each answered with a byte. The connecting node closes the connection after
enough of them, sooner on a slow link.

In a rehearsal a block crosses, and both ends state their seconds, which are added.
"""

from __future__ import annotations

import struct
import time
import typing as t

from ..face import SAMPLES, Reading, rehearsed_seconds
from ..meeting import met, received

if t.TYPE_CHECKING:
    import socket

    from ...contracts import Asked, Partner
    from ..programs import Programs

_BLOCK = 4 << 20
_BLOCKS = 32
_BYTES_TO_AND_FRO = 200
# On a slow link fewer blocks are sent, so that the test lasts no longer.
_ENOUGH_SECONDS = 5.0
# A rehearsal needs no more than this.
_SMALL_BLOCK = 64 << 10
_SECONDS = struct.Struct(f"!{SAMPLES}d")


def measure(asked: Asked, _programs: Programs) -> list[Reading]:
    """Return, for who connects, the seconds of a block and of a byte to and fro; for the other end nothing."""
    partner = asked["partner"]
    with met(partner, "tcp") as stream:
        return (_rehearsed if asked["rehearsal"] else _timed)(stream, asked, partner)


def _timed(stream: socket.socket, asked: Asked, partner: Partner) -> list[Reading]:  # noqa: ARG001
    block = bytes(_BLOCK)
    if partner["serves"]:
        for _byte in range(_BYTES_TO_AND_FRO):
            stream.sendall(received(stream, 1))
        while _block_arrives(stream):
            stream.sendall(b".")
        return []
    latencies = [_seconds(stream, b".") for _byte in range(_BYTES_TO_AND_FRO)]
    throughput: list[float] = []
    began = time.perf_counter()
    while len(throughput) < SAMPLES or (len(throughput) < _BLOCKS and time.perf_counter() - began < _ENOUGH_SECONDS):
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
    received(stream, 1)
    return time.perf_counter() - began


def _rehearsed(stream: socket.socket, asked: Asked, partner: Partner) -> list[Reading]:
    own = rehearsed_seconds(asked["slowdown"], partner["slowdown"])
    if partner["serves"]:
        received(stream, _SMALL_BLOCK)
        stream.sendall(_SECONDS.pack(*own))
        return []
    stream.sendall(bytes(_SMALL_BLOCK))
    others = _SECONDS.unpack(received(stream, _SECONDS.size))
    return [Reading("tcp_throughput", "link", [sum(both) for both in zip(own, others)])]


def _least_of_parts(found: list[float]) -> list[float]:
    """Return the minimum of each part of the measurements, because other traffic can only add to it."""
    return [min(found[part::SAMPLES]) for part in range(SAMPLES)]
