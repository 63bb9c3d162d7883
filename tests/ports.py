"""Ports of this machine for a test."""

from __future__ import annotations

import contextlib
import random
import socket

# Below the ports that the system gives to outgoing connections, because other tests have many of these.
_RANGE = range(20_000, 32_000)


def free_ports(count: int) -> list[int]:
    """Return ports of the loopback interface that nobody listens on now."""
    found: list[int] = []
    while len(found) < count:
        port = random.choice(_RANGE)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            found.append(port)
    return found


def free_port() -> int:
    """Return one such port."""
    return free_ports(1)[0]
