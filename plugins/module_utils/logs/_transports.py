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

from ansible_collections.trainops.cluster.plugins.module_utils.logs._find import finder, positions

_NEEDLES = (b"NET/", b"NCCL INFO Using network ", b"NCCL INFO Assigned NET plugin ")
_USES = re.compile(
    rb"NET/(?:(?P<device>\w+) : Using |(?P<plugin>OFI) Selected [Pp]rovider is |(?P<channel>\w[\w .-]*)/\d)"
    rb"|NCCL INFO (?:Using network|Assigned NET plugin) (?P<network>(?:AWS )?\w[\w.-]*)"
)
# What the plugin of aws-ofi-nccl calls its network; its own lines say NET/OFI.
_OTHER_NAMES = {"AWS Libfabric": "OFI", "Libfabric": "OFI"}


def count_transports(text: bytes) -> dict[str, int]:
    """Return how many lines say that a network is used: ``{"NET/IB": 17, "NET/Socket": 2}``.

    A name is that of NCCL's network or plugin; ``NET/Socket`` is plain TCP, ``NET/OFI`` is libfabric. Connections
    within a node (P2P, SHM) are not counted. The text has no terminal control sequences.
    """
    count: dict[str, int] = {}
    for start in positions(finder(text), _NEEDLES):
        uses = _USES.match(text, start)
        if uses and (uses.lastgroup != "channel" or text.startswith(b"via ", max(0, start - 4))):
            name = str(uses.group(uses.lastgroup or 0), "ascii", "replace")
            name = f"NET/{_OTHER_NAMES.get(name, name)}"
            count[name] = count.get(name, 0) + 1
    return count
