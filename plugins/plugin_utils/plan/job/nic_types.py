# SPDX-License-Identifier: GPL-3.0-or-later
"""The kinds of RDMA adapters that a training config may name (``nic_type``), and what each needs."""

from __future__ import annotations

from dataclasses import dataclass


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
NIC_TYPES = {
    "thor2": NicRule("bnxt_re", "bnxt_re", "bnxt_re", image_kernel_abi=1, usual_gid_index=3),
    "ainic": NicRule("ionic_", "ionic", "ionic_rdma", image_kernel_abi=None, usual_gid_index=1),
    "cx7": NicRule("mlx5_", "mlx5", "mlx5_ib", image_kernel_abi=1, usual_gid_index=3),
}
ALIASES = {"thor": "thor2", "broadcom": "thor2", "pollara": "ainic", "connectx7": "cx7"}


def nic_type_of(given: str) -> str | None:
    """Return the kind of adapter that a ``nic_type`` names, or None."""
    name = given.casefold().replace("-", "").replace(" ", "")
    name = ALIASES.get(name, name)
    return name if name in NIC_TYPES else None
