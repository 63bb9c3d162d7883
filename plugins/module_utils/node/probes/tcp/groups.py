# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast data travels around a ring of nodes over TCP, while each sends to the next and receives at the same time.

So all nodes of a group send and receive at once, which pairs do not. No node goes on before its block has arrived: the
ring is as fast as its slowest link or node.

In a rehearsal a block goes around, and each node states its seconds; the longest count.
"""

from __future__ import annotations

import contextlib
import struct
import time
import typing as t
from concurrent.futures import ThreadPoolExecutor

from ..face import SAMPLES, Reading, rehearsed_seconds
from ..known import PROBES
from ..meeting import met, received, unbroken

if t.TYPE_CHECKING:
    import socket

    from ...contracts import Asked, Group
    from ..programs import Programs

NAME = "tcp_groups"
_BLOCK = 4 << 20
_BLOCKS = 6
# A rehearsal needs no more than this.
_SMALL_BLOCK = 64 << 10
_SECONDS = struct.Struct(f"!{SAMPLES}d")


def measure(asked: Asked, _programs: Programs) -> list[Reading]:
    """Return, on the first node of the group, the seconds until every node has sent and received a block."""
    group = asked["group"]
    with _ring(group) as passed_on:
        own = (_rehearsed if asked["rehearsal"] else _timed)(passed_on, asked)
        slowest = _slowest(own, passed_on, group["size"])
    return [] if group["place"] else [Reading(PROBES[NAME].reading, "groups", slowest)]


@contextlib.contextmanager
def _ring(group: Group) -> t.Iterator[t.Callable[[bytes], bytes]]:
    """Give a function that sends the next node data, and returns the previous one's; `NodeError` if either is lost."""

    def arrived(size: int) -> bytes:
        with unbroken(group["before"]):
            return received(before, size)

    def passed_on(data: bytes) -> bytes:
        arriving = beside.submit(arrived, len(data))
        with unbroken(group["after"]):
            after.sendall(data)
        return arriving.result()

    with contextlib.ExitStack() as streams, ThreadPoolExecutor(1) as beside:
        # Every node serves one neighbour while it connects to the other.
        connected: t.Any = beside.submit(streams.enter_context, met(group["before"], NAME))
        after: socket.socket = streams.enter_context(met(group["after"], NAME))
        before: socket.socket = connected.result()
        yield passed_on


def _timed(passed_on: t.Callable[[bytes], bytes], _asked: Asked) -> list[float]:
    block = bytes(_BLOCK)
    passed_on(block)
    samples = []
    for _sample in range(SAMPLES):
        began = time.perf_counter()
        for _time in range(_BLOCKS):
            passed_on(block)
        samples.append((time.perf_counter() - began) / _BLOCKS)
    return samples


def _rehearsed(passed_on: t.Callable[[bytes], bytes], asked: Asked) -> list[float]:
    passed_on(bytes(_SMALL_BLOCK))
    return rehearsed_seconds(asked["slowdown"], asked["group"]["before"]["slowdown"])


def _slowest(own: list[float], passed_on: t.Callable[[bytes], bytes], size: int) -> list[float]:
    """Return the samples of the slowest node of the ring, one by one."""
    slowest = own
    for _node in range(size - 1):
        others = _SECONDS.unpack(passed_on(_SECONDS.pack(*slowest)))
        slowest = [max(pair) for pair in zip(slowest, others)]
    return slowest
