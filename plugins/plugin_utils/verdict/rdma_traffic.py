# SPDX-License-Identifier: GPL-3.0-or-later
"""What the RDMA devices of a run's nodes sent, and the least that they had to send."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from ..contracts import Plan, Status
from ..plan.job.rdma import sent_by_device
from ..plan.job.workload import least_bytes_sent

if t.TYPE_CHECKING:
    from .frame import Rows

# A device is idle if it sent less than this share of the median of the node's devices.
_IDLE = 0.5


@dataclass(frozen=True)
class RdmaTraffic:
    """The bytes that a node's planned RDMA devices sent during a run, and the least that they had to send.

    ``idle`` are the devices that sent less than half of the median.
    """

    by_device: dict[str, int]
    least: int

    @property
    def sent(self) -> int:
        """Return the bytes that all devices sent."""
        return sum(self.by_device.values())

    @property
    def suffices(self) -> bool:
        """Return whether the devices sent at least the bytes that the training has to exchange."""
        return self.sent >= self.least > 0

    @property
    def idle(self) -> dict[str, int]:
        """Return the devices that sent much less than the others."""
        usual = median(self.by_device.values())
        return {device: sent for device, sent in self.by_device.items() if sent < _IDLE * usual}


def rdma_traffic(plan: Plan, statuses: list[Status], attempts: Mapping[str, Rows]) -> dict[str, RdmaTraffic]:
    """Return the traffic of the nodes' RDMA devices, for the nodes that have counters; none if no step is known.

    ``attempts`` are the steps of the nodes' last attempts: the counters also include earlier attempts.
    """
    sent_of = {status["node"]: traffic for status in statuses if (traffic := status["machine"]["traffic"])}
    steps = max((int(rows["step"].max() - rows["step"].min()) for rows in attempts.values()), default=0)
    if not sent_of or not steps:
        return {}
    least = least_bytes_sent(plan.get("workload"), plan["parameters"], len(plan["nodes"]), steps)
    parts = {node["node"]: node for node in plan["nodes"]}
    by_device = {node: sent_by_device(parts[node], traffic) for node, traffic in sent_of.items() if node in parts}
    return {node: RdmaTraffic(sent, least) for node, sent in by_device.items() if sent}
