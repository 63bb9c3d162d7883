# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes of a run, connected: sums over all of them.

Rank 0 keeps a connection to every other rank and does the sums, in rank order, so that every rank gets the same bits.
"""

from __future__ import annotations

import hashlib
import select
import socket
import struct
import typing as t
from array import array
from operator import add

if t.TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_HEADER = struct.Struct("!8sI")
_MAGIC = b"tiny_lm1"


class World:
    """This node's place among the nodes.

    ``peers`` are the connections by rank: to all others on rank 0, to rank 0 elsewhere, none in a run of one node.
    Methods raise ConnectionError when a node has gone.
    """

    def __init__(self, rank: int, size: int, peers: Mapping[int, socket.socket]) -> None:
        """Take over the connections."""
        self.rank = rank
        self.size = size
        self._peers = dict(sorted(peers.items()))
        self._closed = select.poll()
        self._ranks = {}
        for peer, connection in self._peers.items():
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # Tells that the other end was closed even while its last data are still unread.
            self._closed.register(connection, select.POLLRDHUP)
            self._ranks[connection.fileno()] = peer

    def all_reduce(self, values: Sequence[float]) -> list[float]:
        """Give the sums, element by element, over the equally long lists that all nodes pass."""
        total = list(values)
        if self.rank != 0:
            self._send(0, total)
            return self._receive(0)
        for peer in self._peers:
            total = list(map(add, total, self._receive(peer)))
        for peer in self._peers:
            self._send(peer, total)
        return total

    def raise_if_peer_closed(self) -> None:
        """Look, without waiting, whether a connection was closed from the other end."""
        for descriptor, _event in self._closed.poll(0):
            raise lost_connection(self.rank, self._ranks[descriptor])

    def agree(self, values: Sequence[float]) -> bool:
        """Say whether all nodes pass identical lists, bit by bit (compared by SHA-256)."""
        digest = parameter_checksum(values)
        words = [float(int(digest[at : at + 4], 16)) for at in range(0, len(digest), 4)]
        sums = self.all_reduce([*words, *(word * word for word in words)])
        # N x (sum of squares) = (sum)^2 only if all N words are the same. 16 bit words keep it exact up to 1448 nodes.
        return all(self.size * squares == total * total for total, squares in zip(sums, sums[len(words) :]))

    def close(self) -> None:
        """Close all connections."""
        for connection in self._peers.values():
            connection.close()

    def _send(self, peer: int, values: Sequence[float]) -> None:
        try:
            send_frame(self._peers[peer], array("d", values).tobytes())
        except OSError as error:
            raise lost_connection(self.rank, peer) from error

    def _receive(self, peer: int) -> list[float]:
        values = array("d")
        try:
            values.frombytes(receive_frame(self._peers[peer]))
        except OSError as error:
            raise lost_connection(self.rank, peer) from error
        return values.tolist()


def parameter_checksum(values: Sequence[float]) -> str:
    """SHA-256 of the values' bits, as 64 hexadecimal digits."""
    return hashlib.sha256(array("d", values).tobytes()).hexdigest()


def lost_connection(rank: int, peer: int) -> ConnectionError:
    """Make the error of a rank whose peer has gone."""
    return ConnectionError(f"rank {rank} lost the connection to rank {peer}: another node has failed")


def send_frame(connection: socket.socket, payload: bytes) -> None:
    """Send bytes so that ``receive_frame`` gets them whole; OSError when the other end has gone."""
    connection.sendall(_HEADER.pack(_MAGIC, len(payload)) + payload)


def receive_frame(connection: socket.socket) -> bytes:
    """Wait for the data of ``send_frame``; OSError if the other end has gone, ValueError if it is not a trainer."""
    magic, length = _HEADER.unpack(_receive_exactly(connection, _HEADER.size))
    if magic != _MAGIC:
        raise ValueError("the other end does not speak the trainer's protocol")
    return _receive_exactly(connection, length)


def _receive_exactly(connection: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        piece = connection.recv(length - len(data))
        if not piece:
            raise ConnectionError("the other end closed the connection")
        data += piece
    return bytes(data)
