# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast data and single bytes travel between two nodes over TCP, in both directions, each measured by its sender.

Single bytes go to and fro, then blocks from the node that connects, then blocks from the other one. The receiver
answers each block with a byte. A slow link gets fewer blocks.

In a rehearsal a block crosses each way, and both ends state their seconds; the longer ones count.
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
# On a slow link fewer blocks are sent each way, so that the test lasts no longer.
_ENOUGH_SECONDS = 3.0
# Comes before each block, and after the last one.
_NEXT, _END = b"+", b"-"
# A rehearsal needs no more than this.
_SMALL_BLOCK = 64 << 10
_SECONDS = struct.Struct(f"!{SAMPLES}d")


def measure(asked: Asked, _programs: Programs) -> list[Reading]:
    """Return the seconds of the blocks that this end sends and, for who connects, of a byte to and fro."""
    partner = asked["partner"]
    with met(partner, "tcp") as stream:
        return (_rehearsed if asked["rehearsal"] else _timed)(stream, asked, partner)


def _timed(stream: socket.socket, asked: Asked, partner: Partner) -> list[Reading]:  # noqa: ARG001
    if partner["serves"]:
        for _byte in range(_BYTES_TO_AND_FRO):
            stream.sendall(received(stream, 1))
        _receive(stream)
        return [_sent(stream)]
    latencies = [_seconds(stream, b".") for _byte in range(_BYTES_TO_AND_FRO)]
    sent = _sent(stream)
    _receive(stream)
    return [Reading("tcp_latency", "link", _least_of_parts(latencies)), sent]


def _sent(stream: socket.socket) -> Reading:
    """Send blocks, and return the seconds until the other end had each."""
    block = _NEXT + bytes(_BLOCK)
    seconds: list[float] = []
    began = time.perf_counter()
    while not seconds or (len(seconds) < _BLOCKS and time.perf_counter() - began < _ENOUGH_SECONDS):
        seconds.append(_seconds(stream, block))
    stream.sendall(_END)
    return Reading("tcp_throughput", "link", _least_of_parts(seconds))


def _receive(stream: socket.socket) -> None:
    """Answer the blocks of the other end until its last one."""
    while received(stream, len(_NEXT)) == _NEXT:
        received(stream, _BLOCK)
        stream.sendall(b".")


def _seconds(stream: socket.socket, data: bytes) -> float:
    began = time.perf_counter()
    stream.sendall(data)
    received(stream, 1)
    return time.perf_counter() - began


def _rehearsed(stream: socket.socket, asked: Asked, partner: Partner) -> list[Reading]:
    own = rehearsed_seconds(asked["slowdown"], partner["slowdown"])
    for sends in (not partner["serves"], partner["serves"]):
        if sends:
            stream.sendall(bytes(_SMALL_BLOCK) + _SECONDS.pack(*own))
        else:
            received(stream, _SMALL_BLOCK)
            others = _SECONDS.unpack(received(stream, _SECONDS.size))
    return [Reading("tcp_throughput", "link", [max(both) for both in zip(own, others)])]


def _least_of_parts(found: list[float]) -> list[float]:
    """Return the minimum of each part of the measurements, because other traffic can only add to it."""
    return [min(found[part::SAMPLES]) for part in range(min(SAMPLES, len(found)))]
