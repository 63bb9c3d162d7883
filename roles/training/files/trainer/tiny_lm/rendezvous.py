# SPDX-License-Identifier: GPL-3.0-or-later
"""How the nodes of a run find each other: rank 0 listens at MASTER_ADDR:MASTER_PORT, the others connect to it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import select
import socket
import struct
import time
import typing as t

from .world import World, lost_connection, receive_frame, send_frame

if t.TYPE_CHECKING:
    from .settings import Settings

_RETRY_SECONDS = 0.2
# A silent connection (a port scan, a health check) delays the others no longer than this.
_HELLO_SECONDS = 5.0
_ALL_ADDRESSES = "0.0.0.0"
# From linux/sockios.h: the IPv4 address of an interface.
_SIOCGIFADDR = 0x8915


class _Peer(t.NamedTuple):
    connection: socket.socket
    name: str
    """``hostname at address``"""


def form_world(settings: Settings) -> tuple[World, str]:
    """Wait until all nodes have joined; give their world, and a line that says who joined from where.

    Raises OSError (ConnectionError, TimeoutError) with a sentence that says which address, node or setting is at fault.
    A run of one node opens no socket.
    """
    rank, nnodes = settings.node_rank, settings.nnodes
    if nnodes == 1:
        return World(0, 1, {}), f"the only node: {socket.gethostname()}"
    own_address = interface_address(settings.interface) if settings.interface else ""
    master = _resolve(settings.master_addr)
    deadline = time.monotonic() + settings.rendezvous_timeout
    if rank != 0:
        connection = _join(settings, master, own_address, deadline)
        return World(rank, nnodes, {0: connection}), f"joined rank 0 at {master}:{settings.master_port}"
    with _listen(settings, master, own_address) as listener:
        peers = _gather(listener, settings, deadline)
    world = World(0, nnodes, {peer: found.connection for peer, found in peers.items()})
    return world, f"all {nnodes} nodes joined: {_names(peers)}"


def interface_address(name: str) -> str:
    """The IPv4 address of a network interface of this machine; OSError if it has none."""
    names = [known for _index, known in socket.if_nameindex()]
    if name not in names:
        raise OSError(f"there is no network interface {name!r} on {socket.gethostname()}; there are {', '.join(names)}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            request = fcntl.ioctl(any_socket, _SIOCGIFADDR, struct.pack("256s", name.encode()))
        except OSError as error:
            raise OSError(f"the network interface {name!r} has no IPv4 address ({error.strerror})") from error
    # struct ifreq: 16 bytes of name, then a sockaddr_in with the address in its bytes 4 to 7.
    return socket.inet_ntoa(request[20:24])


def _resolve(host: str) -> str:
    try:
        return str(socket.getaddrinfo(host, None, socket.AF_INET, socket.SOCK_STREAM)[0][4][0])
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OSError(f"MASTER_ADDR {host!r} cannot be resolved to an IPv4 address: {reason}") from error


def _listen(settings: Settings, master: str, own_address: str) -> socket.socket:
    """Listen where the others will connect.

    That is MASTER_ADDR, if it is an address of this machine. It may not be one (address translation), and on rank 0 its
    name may stand for a loopback address in /etc/hosts, which no other machine reaches. Then the interface's address is
    used, or all addresses.
    """
    fallback = own_address or _ALL_ADDRESSES
    own_name_is_loopback = master.startswith("127.") and settings.master_addr not in ("localhost", master)
    addresses = [fallback] if own_name_is_loopback else [master, fallback]
    for address in addresses:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        # A run may follow another on the same port at once.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address, settings.master_port))
            listener.listen(settings.nnodes)
        except OSError as error:
            listener.close()
            if error.errno == errno.EADDRNOTAVAIL and address != addresses[-1]:
                continue
            hint = ": another process uses this MASTER_PORT" if error.errno == errno.EADDRINUSE else ""
            where = f"{address}:{settings.master_port}"
            raise OSError(f"rank 0 cannot listen on {where} ({error.strerror}){hint}") from error
        break
    return listener


def _gather(listener: socket.socket, settings: Settings, deadline: float) -> dict[int, _Peer]:
    """Accept every other rank and let all begin; report any fault to the ranks that joined, and raise it."""
    peers: dict[int, _Peer] = {}
    try:
        while len(peers) < settings.nnodes - 1:
            _wait_for_connection(listener, peers, settings, deadline)
            _accept(listener, peers, settings)
    except OSError as error:
        for rank, peer in peers.items():
            with contextlib.suppress(OSError):  # who has gone need not hear it
                _tell(peer.connection, rank, error=str(error))
        raise
    for rank, peer in peers.items():
        _tell(peer.connection, rank, error="")
    return peers


def _wait_for_connection(listener: socket.socket, peers: dict[int, _Peer], settings: Settings, deadline: float) -> None:
    poller = select.poll()
    poller.register(listener, select.POLLIN)
    ranks = {peer.connection.fileno(): rank for rank, peer in peers.items()}
    for descriptor in ranks:
        poller.register(descriptor, select.POLLRDHUP)
    events = poller.poll(max(0.0, deadline - time.monotonic()) * 1000)
    for descriptor, _event in events:
        if descriptor in ranks:
            raise lost_connection(0, ranks[descriptor])
    if not events:
        missing = ", ".join(f"rank {rank}" for rank in range(1, settings.nnodes) if rank not in peers)
        address, port = listener.getsockname()
        raise TimeoutError(
            f"rendezvous timed out after {settings.rendezvous_timeout} s: {len(peers) + 1} of {settings.nnodes} nodes "
            f"joined ({_names(peers)}), missing: {missing}; rank 0 listened on {address}:{port}"
        )


def _accept(listener: socket.socket, peers: dict[int, _Peer], settings: Settings) -> None:
    """Take one connection: a new peer goes to ``peers``, a stranger is sent away, a wrong node is an OSError."""
    listener.settimeout(_HELLO_SECONDS)
    try:
        connection, (address, _port) = listener.accept()
        connection.settimeout(_HELLO_SECONDS)
        hello = json.loads(receive_frame(connection))
    except (OSError, ValueError):
        return
    rank, name = hello["rank"], f"{hello['hostname']} at {address}"
    fault = _fault(rank, name, hello["settings"], peers, settings)
    if fault:
        _tell(connection, rank, error=fault)
        raise ConnectionError(fault)
    connection.settimeout(None)
    peers[rank] = _Peer(connection, name)


def _fault(rank: int, name: str, shared: dict[str, t.Any], peers: dict[int, _Peer], settings: Settings) -> str:
    differences = [
        f"{key}={shared.get(key)} (rank 0 has {value})"
        for key, value in settings.shared().items()
        if shared.get(key) != value
    ]
    if differences:
        return f"rank {rank} ({name}) was started with other settings than rank 0: {', '.join(differences)}"
    if rank in peers:
        return f"two nodes were started as rank {rank}: {peers[rank].name} and {name}"
    return ""


def _join(settings: Settings, master: str, own_address: str, deadline: float) -> socket.socket:
    """Connect to rank 0, trying again while it is not there, and wait until it lets all begin."""
    rank, where = settings.node_rank, f"{master}:{settings.master_port}"
    while True:
        try:
            connection = socket.create_connection(
                (master, settings.master_port),
                timeout=max(_RETRY_SECONDS, min(_HELLO_SECONDS, deadline - time.monotonic())),
                source_address=(own_address, 0) if own_address else None,
            )
            break
        except OSError as error:
            if time.monotonic() + _RETRY_SECONDS > deadline:
                raise TimeoutError(
                    f"rendezvous timed out after {settings.rendezvous_timeout} s: rank {rank} on "
                    f"{socket.gethostname()} could not connect to rank 0 at {where} ({error.strerror or error})"
                ) from error
            time.sleep(_RETRY_SECONDS)
    hello = {"rank": rank, "hostname": socket.gethostname(), "settings": settings.shared()}
    # Rank 0 listened before, so that its own time is up before this one.
    connection.settimeout(settings.rendezvous_timeout + _HELLO_SECONDS)
    try:
        send_frame(connection, json.dumps(hello).encode())
        reply = json.loads(receive_frame(connection))
    except ValueError as error:
        raise ConnectionError(f"what rank {rank} found at {where} is no rank 0 of this trainer: {error}") from error
    except OSError as error:
        raise ConnectionError(f"rank {rank} got no answer from rank 0 at {where}: {error}") from error
    if reply["error"]:
        raise ConnectionError(f"rank 0 refused to begin: {reply['error']}")
    connection.settimeout(None)
    return connection


def _tell(connection: socket.socket, rank: int, error: str) -> None:
    """Answer a rank that waits to begin; an empty error lets it."""
    try:
        send_frame(connection, json.dumps({"error": error}).encode())
    except OSError as gone:
        raise lost_connection(0, rank) from gone


def _names(peers: dict[int, _Peer]) -> str:
    """All who joined, in rank order."""
    others = [f"rank {rank} {peers[rank].name}" for rank in sorted(peers)]
    return ", ".join([f"rank 0 {socket.gethostname()}", *others])
