# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which network NCCL or RCCL says that it uses, which takes NCCL_DEBUG=INFO.

The texts are those of NCCL's init.cc, plugin/net.cc, transport/net.cc, net_ib and net_socket.cc, which RCCL shares, and
of the plugin aws-ofi-nccl::

    NCCL INFO NET/IB : Using [0]rdma0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>
    NCCL INFO NET/OFI Selected provider is efa, fabric is efa (found 4 nics)
    NCCL INFO Using network IB
    NCCL INFO Assigned NET plugin IB to comm
    NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA
"""

from __future__ import annotations

import re
import typing as t
from collections import Counter

if t.TYPE_CHECKING:
    from ansible_collections.trainops.cluster.plugins.module_utils.logs._find import Piece

# In every line that tells of a network. Where none is, it is the only search.
_ANY = b"NCCL INFO "
# Connections are many, but few kinds of them differ in so many bytes, which are enough for a name. The other lines come
# once a process.
_CONNECTION = b" via NET/"
_TARGET_BYTES = 32
_CONNECTED = re.compile(_CONNECTION + rb"(\w[\w .-]*)/\d")
_CHOICES = (b"NCCL INFO NET/", b"Using network ", b"Assigned NET plugin ")
_CHOSEN = re.compile(
    rb"NCCL INFO NET/(?:(\w+) : Using |(OFI) Selected [Pp]rovider is )"
    rb"|(?<=NCCL INFO )(?:Using network|Assigned NET plugin) ((?:AWS )?\w[\w.-]*)"
)
# What the plugin of aws-ofi-nccl calls its network; its own lines say NET/OFI.
_OTHER_NAMES = {"AWS Libfabric": "OFI", "Libfabric": "OFI"}


def count_transports(piece: Piece) -> dict[str, int]:
    """Return how often a piece of a log says that a network is used: ``{"NET/IB": 17, "NET/Socket": 2}``.

    A name is that of NCCL's network or plugin; ``NET/Socket`` is plain TCP, ``NET/OFI`` is libfabric. Connections
    within a node (P2P, SHM) are not counted.
    """
    if piece.find(_ANY, 0) < 0:
        return {}
    text = piece.text
    count: Counter[str] = Counter()
    behind = [text[start : start + _TARGET_BYTES] for start in piece.positions((_CONNECTION,))]
    for target, lines in Counter(behind).items():
        connected = _CONNECTED.match(target)
        if connected:
            count[_name(connected)] += lines
    for start in piece.positions(_CHOICES):
        chosen = _CHOSEN.match(text, start)
        if chosen:
            count[_name(chosen)] += 1
    return dict(count)


def _name(match: re.Match[bytes]) -> str:
    name = match.group(match.lastindex or 0).decode("ascii", "replace")
    return f"NET/{_OTHER_NAMES.get(name, name)}"
