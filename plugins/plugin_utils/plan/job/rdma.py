# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a plan's nodes should use RDMA, over which devices, and whether NCCL's log level shows that they do."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Sequence

from ...contracts import NodePlan

# A plan that sets one of these uses RDMA, unless it turns RDMA off.
DEVICES = "NCCL_IB_HCA"
_RDMA_VARIABLES = (DEVICES, "NCCL_IB_GID_INDEX")
_RDMA_NETWORKS = {"ib", "ibext", "ofi", "aws libfabric"}
SWITCHED_OFF = "NCCL_IB_DISABLE"
_LEVEL = "NCCL_DEBUG"
# NCCL reports its network only at these levels.
_TELLING_LEVELS = ("INFO", "TRACE")
# As C's strtoll: with base 0, no further than the digits go.
_NUMBER = re.compile(r"\s*([+-]?)(?:0[xX]([\da-fA-F]+)|(0[0-7]*)|([1-9]\d*))")


def number_of_nccl(value: t.Any) -> int:
    """Return the number that NCCL reads in the value of a variable: 0 where it begins with none."""
    found = _NUMBER.match(str(value))
    if not found:
        return 0
    sign, *digits = found.groups()
    number = next(int(text, base) for text, base in zip(digits, (16, 8, 10), strict=True) if text)
    return -number if sign == "-" else number


def asks_for_rdma(mode: str, nodes: Sequence[NodePlan]) -> bool:
    """Return whether a plan in this mode, with these nodes, should use RDMA."""
    if mode != "multi_node" or len(nodes) < 2:
        return False
    environment = nodes[0].get("env", {})
    if number_of_nccl(environment.get(SWITCHED_OFF)):
        return False
    named = str(environment.get("NCCL_NET", "")).casefold() in _RDMA_NETWORKS
    return named or any(environment.get(name) for name in _RDMA_VARIABLES)


def level_that_hides_the_network(nodes: Sequence[NodePlan]) -> str | None:
    """Return NCCL's log level (empty if not set) if it does not report the network at that level, else None."""
    level = str(nodes[0].get("env", {}).get(_LEVEL, ""))
    return None if level.upper() in _TELLING_LEVELS else level


class DeviceNames(t.NamedTuple):
    """What a value of ``NCCL_IB_HCA`` names.

    Names are beginnings of names, after ``=`` whole names, and after ``^`` those that are left out; ``:port`` may
    follow each (NCCL, environment variables). None named means all.
    """

    named: list[str]
    exact: bool
    left_out: bool

    def match(self, device: str, name: str) -> bool:
        """Return whether one of the names is that of a device."""
        return device == name if self.exact else device.startswith(name)

    def select(self, device: str) -> bool:
        """Return whether NCCL uses a device."""
        return not self.named or any(self.match(device, name) for name in self.named) is not self.left_out


def device_names(value: str | None) -> DeviceNames:
    """Return what a value of ``NCCL_IB_HCA`` names."""
    text = value or ""
    named = [name.partition(":")[0] for name in text.lstrip("^=").split(",") if name]
    return DeviceNames(named, "=" in text[:2], "^" in text[:2])


def devices_of(node: NodePlan) -> DeviceNames:
    """Return the RDMA devices that the plan of a node names."""
    return device_names(node.get("env", {}).get(DEVICES))
