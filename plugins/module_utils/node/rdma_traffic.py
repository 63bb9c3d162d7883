# SPDX-License-Identifier: GPL-3.0-or-later
"""How many bytes each RDMA port of a node has sent and received, by its own counters: proof of traffic without a log.

Which file counts depends on the driver:

- ionic (AMD Pensando): ``hw_counters/tx_rdma_ucast_bytes``, in bytes. The names come from its firmware
  (Linux, drivers/infiniband/hw/ionic/ionic_hw_stats.c), which counts RDMA apart from Ethernet.
- bnxt_re (Broadcom): ``hw_counters/tx_bytes``, in bytes, of the RoCE function alone
  (Linux, drivers/infiniband/hw/bnxt_re/hw_counters.c: ``tx_ucast_bytes``).
- EFA (AWS): ``hw_counters/tx_bytes``, in bytes (Linux, drivers/infiniband/hw/efa/efa_verbs.c). It counts what leaves
  the device, RDMA reads (``rdma_read_bytes``) and writes included.
- mlx5 (NVIDIA) and every device that follows InfiniBand: ``counters/port_xmit_data``, in words of four bytes
  (Linux, Documentation/ABI/stable/sysfs-class-infiniband). On Ethernet, mlx5 counts RoCE there and nothing else.
"""

from __future__ import annotations

import typing as t

from .inspection.files import names, number

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from .contracts import Before, Traffic

_INFINIBAND = "/sys/class/infiniband"
# Folder, file of bytes sent, file of bytes received, bytes per count. The first pair that a port has is used.
_COUNTERS = (
    ("hw_counters", "tx_rdma_ucast_bytes", "rx_rdma_ucast_bytes", 1),
    ("hw_counters", "tx_bytes", "rx_bytes", 1),
    ("counters", "port_xmit_data", "port_rcv_data", 4),
)
# ionic reports ~0 for counters that its firmware lacks.
_NONSENSE = 1 << 62
_MOST_PORTS = 128


def bytes_moved(root: str = "/") -> dict[str, list[int]]:
    """Return the bytes that each port has ``[sent, received]`` since its driver was loaded, by ``mlx5_0/1``."""
    ports = (
        (f"{device}/{port}", f"{_INFINIBAND}/{device}/ports/{port}")
        for device in names(root, _INFINIBAND)
        for port in names(root, f"{_INFINIBAND}/{device}/ports")
    )
    counted = ((port, _counts(root, folder)) for port, folder in ports)
    return dict([(port, counts) for port, counts in counted if counts][:_MOST_PORTS])


def _counts(root: str, port: str) -> list[int] | None:
    for folder, sent, received, size in _COUNTERS:
        values = [number(root, f"{port}/{folder}/{name}") for name in (sent, received)]
        counts = [value * size for value in values if value is not None and 0 <= value < _NONSENSE]
        if len(counts) == len(values):
            return counts
    return None


def traffic_since(before: Before, root: str = "/") -> dict[str, Traffic]:
    """Return the bytes that each port has ``sent`` and ``received`` since a training was started.

    A counter that is lower than before was reset, and counts from zero. Empty if nothing counts, or if the run was
    started by a program that did not note it.
    """
    old: Mapping[str, list[int]] = before.get("traffic", {})
    return {port: _grown(old[port], now) for port, now in bytes_moved(root).items() if port in old}


def _grown(old: list[int], now: list[int]) -> Traffic:
    sent, received = (count - was if count >= was else count for was, count in zip(old, now))
    return {"sent": sent, "received": received}
