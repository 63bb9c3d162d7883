# SPDX-License-Identifier: GPL-3.0-or-later
"""The hardware that a node only seems to have, so that flags and look-ups have something to meet.

Nothing here computes or transmits. The device files swallow all writes and read as empty, like /dev/null. The adapter
is a folder tree over /sys/class with the files that rdma-core and NCCL read for a Broadcom adapter: the real
``ibv_devices`` lists it, ``ibv_devinfo`` says "Failed to open device", and its ``node_desc`` says that it is simulated.
A container sees a /sys of its own, without it.
"""

from __future__ import annotations

import ipaddress
import typing as t

if t.TYPE_CHECKING:
    from pathlib import Path

GPUS: t.Final = 2

DEVICES: t.Final = (
    "kfd",
    *(f"dri/card{gpu}" for gpu in range(GPUS)),
    *(f"dri/renderD{128 + gpu}" for gpu in range(GPUS)),
    "infiniband/rdma_cm",
    "infiniband/uverbs0",
)

# A node has its own copy of these; for the rest of /proc/sys, net apart, there is one for the whole machine, and it is
# read-only in nodes. A node starts with the value given here.
SYSCTLS: t.Final = {"kernel/numa_balancing": "1"}

# A Broadcom BCM57508 as the bnxt_re driver shows it (rdma-core, providers/bnxt_re/main.c: the table of adapters).
_VENDOR: t.Final = "0x14e4"
_DEVICE: t.Final = "0x1750"
_MODALIAS: t.Final = "pci:v000014E4d00001750sv000014E4sd00001750bc02sc00i00"
_KERNEL_ABI: t.Final = "1"
_UVERBS_ABI: t.Final = "6"


def write_adapter(folder: Path, *, interface: str, hardware_address: str, address: str) -> None:
    """Write the tree of ``bnxt_re0``, the adapter of network ``interface``, to be laid over /sys/class."""
    guid = _eui64(hardware_address)
    pci = {"vendor": _VENDOR, "device": _DEVICE, "modalias": _MODALIAS}
    link_local = ipaddress.IPv6Address(f"fe80::{guid}").exploded
    mapped = ipaddress.IPv6Address(f"::ffff:{address}").exploded
    # The order in which the kernel fills the table: each address as RoCE v1, then as v2. So index 3 is IPv4 with v2.
    gids = [(link_local, "IB/RoCE v1"), (link_local, "RoCE v2"), (mapped, "IB/RoCE v1"), (mapped, "RoCE v2")]
    adapter = {
        "node_type": "1: CA",
        "node_desc": "simulated by trainops.cluster",
        "node_guid": guid,
        "sys_image_guid": guid,
        "ports/1/link_layer": "Ethernet",
        "ports/1/state": "4: ACTIVE",
        "ports/1/phys_state": "5: LinkUp",
        **{f"device/{name}": value for name, value in pci.items()},
        **{f"ports/1/gids/{index}": gid for index, (gid, _) in enumerate(gids)},
        **{f"ports/1/gid_attrs/types/{index}": kind for index, (_, kind) in enumerate(gids)},
        **{f"ports/1/gid_attrs/ndevs/{index}": interface for index in range(len(gids))},
    }
    verbs = {
        "abi_version": _UVERBS_ABI,
        "uverbs0/ibdev": "bnxt_re0",
        "uverbs0/abi_version": _KERNEL_ABI,
        "uverbs0/dev": "231:192",
        **{f"uverbs0/device/{name}": value for name, value in pci.items()},
    }
    _write(folder / "infiniband/bnxt_re0", adapter)
    _write(folder / "infiniband_verbs", verbs)
    of_adapter = folder / "infiniband/bnxt_re0/device/net"
    of_adapter.mkdir()
    (of_adapter / interface).symlink_to(f"../../../../net/{interface}")


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{content}\n")


def _eui64(hardware_address: str) -> str:
    """The 64-bit identifier of a MAC address (RFC 4291, appendix A), in groups of four digits."""
    octets = [int(octet, 16) for octet in hardware_address.split(":")]
    octets = [octets[0] ^ 2, *octets[1:3], 0xFF, 0xFE, *octets[3:]]
    return ":".join(f"{high:02x}{low:02x}" for high, low in zip(octets[::2], octets[1::2], strict=True))
