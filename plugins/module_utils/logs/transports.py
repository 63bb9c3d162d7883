# SPDX-License-Identifier: GPL-3.0-or-later
"""Which network NCCL or RCCL says that it uses, which takes NCCL_DEBUG=INFO.

The texts come from NCCL's init.cc, plugin/net.cc, transport/net.cc, net_ib and net_socket.cc, which RCCL shares, and
from the plugin aws-ofi-nccl::

    NCCL INFO NET/IB : Using [0]rdma0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>
    NCCL INFO NET/OFI Selected provider is efa, fabric is efa (found 4 nics)
    NCCL INFO Using network IB
    NCCL INFO Assigned NET plugin IB to comm
    NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .find import Piece
from .pattern import later

# In every line that reports a network. If it is absent, no other search is needed.
_ANY = b"NCCL INFO "
_CONNECTION = b" via NET/"
_CONNECTED = later(_CONNECTION + rb"(\w[\w .-]*)/\d")
_TCP = b"/Socket/"
_CHOICES = (b"NCCL INFO NET/", b"Using network ", b"Assigned NET plugin ")
_CHOSEN = later(
    rb"NCCL INFO NET/(?:(\w+) : Using |(OFI) Selected [Pp]rovider is (?:(tcp|sockets|udp)\b)?)"
    rb"|(?<=NCCL INFO )(?:Using network|Assigned NET plugin) ((?:AWS )?\w[\w.-]*)"
)
# The name that the plugin aws-ofi-nccl gives its network; its own lines say NET/OFI.
_OTHER_NAMES = {"AWS Libfabric": "OFI", "Libfabric": "OFI", "tcp": "Socket", "sockets": "Socket", "udp": "Socket"}


def named_networks(piece: Piece, known: bool) -> set[str]:
    """Return the networks that are in use according to a piece of a log, such as ``{"NET/IB", "NET/Socket"}``.

    A name is the name of NCCL's network or plugin; ``NET/Socket`` is plain TCP (also libfabric's), and ``NET/OFI`` is
    libfabric. NCCL prints its choice when it starts. It may print many connections; all that use TCP are looked at. Of
    the others only the first counts, and only if no network is mentioned before it; ``known`` says which were mentioned
    before this piece. Connections within a node (P2P, SHM) are not networks.
    """
    if piece.find(_ANY, 0) < 0:
        return set()
    named = list(_chosen(piece))
    if not known:
        named += _first_connection(piece, named[0].start() if named else len(piece.text))
    return {_name(match) for match in (*named, *_connections_over_tcp(piece))}


def _chosen(piece: Piece) -> Iterator[re.Match[bytes]]:
    for start in piece.positions(_CHOICES):
        chosen = _CHOSEN.match(piece.text, start)
        if chosen:
            yield chosen


def _first_connection(piece: Piece, end: int) -> list[re.Match[bytes]]:
    start = piece.find(_CONNECTION, 0)
    while 0 <= start < end:
        connected = _CONNECTED.match(piece.text, start)
        if connected:
            return [connected]
        start = piece.find(_CONNECTION, start + len(_CONNECTION))
    return []


def _connections_over_tcp(piece: Piece) -> Iterator[re.Match[bytes]]:
    for start in piece.positions((_TCP,)):
        connected = _CONNECTED.match(piece.text, max(0, start + 1 - len(_CONNECTION)))
        if connected:
            yield connected


def _name(match: re.Match[bytes]) -> str:
    name = match.group(match.lastindex or 0).decode("ascii", "replace")
    return f"NET/{_OTHER_NAMES.get(name, name)}"
