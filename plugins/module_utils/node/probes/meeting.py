# SPDX-License-Identifier: GPL-3.0-or-later
"""How two nodes meet for a probe: over a TCP connection, at the port of the serving node."""

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
# A silent stranger blocks the port for at most this long.
_STRANGER_SECONDS = 2.0


@contextlib.contextmanager
def met(partner: Partner, probe: str) -> t.Iterator[socket.socket]:
    """Give the connection with the partner for a probe; `NodeError` if it cannot be made, or if it breaks.

    Anybody may connect to the port, such as a scanner of ports: who does not prove that it knows the secret is ignored.
    """
    with contextlib.closing(_served(partner, probe) if partner["serves"] else _connected(partner, probe)) as stream:
        stream.settimeout(partner["patience"])
        with unbroken(partner):
            yield stream


@contextlib.contextmanager
def unbroken(partner: Partner) -> t.Iterator[None]:
    """Raise `NodeError` with the partner's name if the connection with it breaks."""
    try:
        yield
    except OSError as error:
        raise NodeError(f"the connection with {partner['node']} broke: {error.strerror or error}") from None


def received(stream: socket.socket, size: int) -> bytes:
    """Return this many bytes from the other end; `NodeError` if it closes the connection before."""
    parts = bytearray()
    while len(parts) < size:
        part = stream.recv(min(size - len(parts), 1 << 20))
        if not part:
            raise NodeError("the other end has closed the connection")
        parts += part
    return bytes(parts)


def _served(partner: Partner, probe: str) -> socket.socket:
    deadline = time.monotonic() + partner["patience"]
    try:
        with contextlib.closing(socket.socket()) as listening:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(("", partner["port"]))
            listening.listen()
            while True:
                listening.settimeout(max(deadline - time.monotonic(), _POLL_SECONDS))
                stream = listening.accept()[0]
                if _knows_secret(stream, partner, probe, min(_STRANGER_SECONDS, partner["patience"])):
                    return stream
                stream.close()
    except socket.timeout:
        raise NodeError(f"{partner['node']} did not connect to port {partner['port']}") from None
    except OSError as error:
        raise NodeError(
            f"nothing can listen on port {partner['port']} here ({error.strerror}); set isolate_port to another one"
        ) from None


def _connected(partner: Partner, probe: str) -> socket.socket:
    deadline = time.monotonic() + partner["patience"]
    where = f"{partner['node']} at {partner['address']}, port {partner['port']}"
    while True:
        try:
            stream = socket.create_connection((partner["address"], partner["port"]), partner["patience"])
            if _knows_secret(stream, partner, probe, partner["patience"]):
                return stream
            stream.close()
            problem = f"{where} is not the other end of this test; set isolate_port to one that is free on all nodes"
        except OSError as error:
            problem = f"{where} cannot be reached: {error.strerror or error}"
        # The other end may not listen yet.
        if time.monotonic() > deadline:
            raise NodeError(problem)
        time.sleep(_POLL_SECONDS)


def _knows_secret(stream: socket.socket, partner: Partner, probe: str, seconds: float) -> bool:
    """Return whether the other end knows the secret of the test, and show it that this one does.

    The two ends send different bytes, so an echo proves nothing.
    """
    try:
        stream.settimeout(seconds)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream.sendall(_proof(partner, probe, partner["serves"]))
        expected = _proof(partner, probe, not partner["serves"])
        return hmac.compare_digest(received(stream, len(expected)), expected)
    except (OSError, NodeError):
        return False


def _proof(partner: Partner, probe: str, serves: bool) -> bytes:
    return hmac.new(partner["secret"].encode(), f"{probe} {serves}".encode(), "sha256").digest()
