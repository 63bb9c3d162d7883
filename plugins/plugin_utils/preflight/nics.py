# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of a node's RDMA devices a plan uses, by which rule, and which entries of their GID tables fit."""

from __future__ import annotations

import typing as t

from ..plan.job.rdma import NIC_TYPES, NicRule, device_names, nic_type_of
from .facts import Gid, Port, RdmaDevice


def rule_of(nic_type: str | None, devices: list[RdmaDevice]) -> NicRule | None:
    """Return the rule of a ``nic_type``; where the config names none, that of the RDMA devices which are there."""
    if nic_type:
        return NIC_TYPES.get(nic_type_of(nic_type) or "")
    providers = {device["provider"] for device in devices}
    return next((rule for rule in NIC_TYPES.values() if rule.provider in providers), None)


def gid_fits(gid: Gid) -> bool:
    """Return whether a training can use an entry of a GID table: RoCE v2, with an address that others can route to."""
    is_link_local = gid["address"].startswith(("fe80:", "169.254."))
    return gid["type"] == "RoCE v2" and not is_link_local


def fitting_gids(port: Port) -> set[int]:
    """Return the indexes of a port that fit: those of IPv4, where it has none those of IPv6."""
    fitting = [gid for gid in port["gids"] if gid_fits(gid)]
    ipv4 = {gid["index"] for gid in fitting if ":" not in gid["address"]}
    return ipv4 or {gid["index"] for gid in fitting}


def best_gid(indexes: set[int], rule: NicRule | None) -> int | None:
    """Return the index to use among those that fit everywhere, or None where there is none."""
    if rule and rule.usual_gid_index in indexes:
        return rule.usual_gid_index
    return min(indexes, default=None)


class Selection(t.NamedTuple):
    """RDMA devices that a list of names selects, and the names that select none."""

    devices: list[RdmaDevice]
    unknown: list[str]


def selected_devices(devices: list[RdmaDevice], names: str | None) -> Selection:
    """Return what ``NCCL_IB_HCA`` selects; without names, all devices are selected."""
    wanted = device_names(names)
    selected = [device for device in devices if wanted.select(device["name"])]
    if wanted.left_out:
        return Selection(selected, [])
    unknown = [name for name in wanted.named if not any(wanted.match(device["name"], name) for device in devices)]
    return Selection(selected, unknown)
