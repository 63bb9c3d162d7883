# SPDX-License-Identifier: GPL-3.0-or-later
"""What each kind of RDMA adapter that a training config may name (``nic_type``) needs. All of it stands here."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..plan.job.rdma import device_names
from .facts import Gid, Port, RdmaDevice


@dataclass(frozen=True)
class NicRule:
    """The rule of one kind of adapter.

    ``device_prefix`` is how its RDMA devices are called unless udev renames them, ``provider`` the rdma-core provider
    that drives them, ``kernel_module`` the driver to load. ``image_kernel_abi`` is the kernel ABI that the provider of
    an ordinary image knows; None where images differ. ``usual_gid_index`` is taken among several that would do.
    """

    device_prefix: str
    provider: str
    kernel_module: str
    image_kernel_abi: int | None
    usual_gid_index: int


# ABI: rdma-core, providers/*: match_min_abi_version to match_max_abi_version. Broadcom's own driver packages have
# raised bnxt_re's to 6 and more. ionic's is 1 upstream and 4 in older packages, and images know the one or the other.
# GID index: RoCE v1 and v2 of the link-local address come first, then those of IPv4; ionic has no RoCE v1.
RULES = {
    "thor2": NicRule("bnxt_re", "bnxt_re", "bnxt_re", image_kernel_abi=1, usual_gid_index=3),
    "ainic": NicRule("ionic_", "ionic", "ionic_rdma", image_kernel_abi=None, usual_gid_index=1),
    "cx7": NicRule("mlx5_", "mlx5", "mlx5_ib", image_kernel_abi=1, usual_gid_index=3),
}
ALIASES = {"thor": "thor2", "broadcom": "thor2", "pollara": "ainic", "connectx7": "cx7"}


def rule_of(nic_type: str | None, devices: list[RdmaDevice]) -> NicRule | None:
    """Return the rule of a ``nic_type``; where the config names none, that of the RDMA devices which are there."""
    if nic_type:
        name = nic_type.casefold()
        return RULES.get(ALIASES.get(name, name))
    providers = {device["provider"] for device in devices}
    return next((rule for rule in RULES.values() if rule.provider in providers), None)


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
