# SPDX-License-Identifier: GPL-3.0-or-later
"""How both ends of a pair meet for a probe: over a connection of TCP, at the port of the one that serves."""

from __future__ import annotations

import contextlib
import hmac
import socket
import time
import typing as t

from ..phase import NodeError

if t.TYPE_CHECKING:
    from ..contracts import Partner

_POLL_SECONDS = 0.05


@contextlib.contextmanager
def met(partner: Partner, probe: str) -> t.Iterator[socket.socket]:
    """Give the connection with the partner for a probe; `NodeError` where there is none, or where it breaks."""
    with contextlib.closing(_served(partner) if partner["serves"] else _connected(partner)) as stream:
        stream.settimeout(partner["patience"])
        try:
            _greet(stream, f"{probe} {partner['secret']}")
            yield stream
        except OSError as error:
            raise NodeError(f"the connection with {partner['node']} broke: {error.strerror or error}") from None


def received(stream: socket.socket, size: int) -> bytes:
    """Return so many bytes from the other end; `NodeError` where it closes the connection before."""
    parts = bytearray()
    while len(parts) < size:
        part = stream.recv(min(size - len(parts), 1 << 20))
        if not part:
            raise NodeError("the other end has closed the connection")
        parts += part
    return bytes(parts)


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
    """Send a secret of the test, and receive it, so that nobody else takes part."""
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    stream.sendall(secret.encode())
    if not hmac.compare_digest(received(stream, len(secret)), secret.encode()):
        raise NodeError("somebody else has connected, who does not know the secret of this test")
