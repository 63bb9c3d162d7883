# SPDX-License-Identifier: GPL-3.0-or-later
"""Both ends of a pair meet, and nobody else takes part."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import typing as t
from collections.abc import Callable

import pytest
from ports import free_port

from ansible_collections.trainops.cluster.plugins.module_utils.node.phase import NodeError
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.meeting import met, received
from ansible_collections.trainops.cluster.plugins.module_utils.node.probes.tcp import probe as tcp


def partner(port: int, *, serves: bool, patience: float = 20.0) -> t.Any:
    return {
        "node": "other",
        "address": "127.0.0.1",
        "port": port,
        "serves": serves,
        "secret": "s3cr3t",
        "patience": patience,
    }


def connected(port: int) -> socket.socket:
    deadline = time.monotonic() + 20
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), 20)
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def of_serving(port: int) -> tuple[threading.Thread, list[bytes]]:
    got: list[bytes] = []

    def serve() -> None:
        with met(partner(port, serves=True), "tcp") as stream:
            got.append(received(stream, 5))

    thread = threading.Thread(target=serve)
    thread.start()
    return thread, got


def echo(stream: socket.socket) -> None:
    stream.sendall(stream.recv(1 << 10))


def echoing(listening: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            echo(listening.accept()[0])


@pytest.mark.parametrize("stranger", [lambda _stream: None, lambda stream: stream.sendall(b"GET /"), echo])
def test_strangers_who_connect_first_are_ignored(stranger: Callable[[socket.socket], None]) -> None:
    port = free_port()
    thread, got = of_serving(port)
    with connected(port) as stream:
        stranger(stream)
        with met(partner(port, serves=False), "tcp") as own:
            own.sendall(b"hello")
        thread.join()
    assert got == [b"hello"]


def test_another_program_at_the_port_is_not_the_other_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=echoing, args=(listening,), daemon=True).start()
        port = listening.getsockname()[1]
        with pytest.raises(NodeError, match="isolate_port"), met(partner(port, serves=False, patience=2.0), "tcp"):
            pass


def test_each_end_measures_what_it_sends_over_tcp_and_who_connects_the_latency() -> None:
    found: dict[bool, list[str]] = {}
    port = free_port()

    def measure(serves: bool) -> None:
        asked: t.Any = {"partner": {**partner(port, serves=serves), "slowdown": 1.0}, "rehearsal": False}
        readings = tcp.measure(asked, t.cast("t.Any", None))
        assert all(len(one.samples) == 5 for one in readings)
        found[serves] = [one.probe for one in readings]

    ends = [threading.Thread(target=measure, args=(serves,)) for serves in (True, False)]
    for end in ends:
        end.start()
    for end in ends:
        end.join()
    assert found == {True: ["tcp_throughput"], False: ["tcp_latency", "tcp_throughput"]}
