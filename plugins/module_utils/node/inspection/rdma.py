# SPDX-License-Identifier: GPL-3.0-or-later
"""RDMA devices in /sys/class/infiniband (Linux, Documentation/ABI/stable/sysfs-class-infiniband)."""

from __future__ import annotations

import typing as t

from .files import line, link_name, names, number

_CLASS = "/sys/class/infiniband"
_VERBS = "/sys/class/infiniband_verbs"

# PCI vendor of an adapter -> the rdma-core provider that drives it (rdma-core, providers/*: match tables).
PROVIDERS = {
    "0x14e4": "bnxt_re",
    "0x15b3": "mlx5",
    "0x1d0f": "efa",
    "0x1dd8": "ionic",
    "0x8086": "irdma",
}


def rdma_devices(root: str) -> list[dict[str, t.Any]]:
    """Return each RDMA device: ``name``, ``provider``, ``model``, ``firmware``, ``kernel_abi``, ``driver``, ``ports``.

    ``model`` is the vendor and the device in PCI's numbers, such as ``0x15b3:0x1021``. ``kernel_abi`` is the version
    that the provider library has to support. A port has ``state`` (``ACTIVE``, ``DOWN``, …), ``physical_state``,
    ``link_layer``, ``rate``, ``netdev`` with its ``mtu``, and ``gids``: the filled entries of its GID table with
    ``index``, ``type`` (``RoCE v1``, ``RoCE v2`` or ``IB``), ``address`` and ``netdev``.
    """
    verbs = {line(root, f"{_VERBS}/{name}/ibdev"): name for name in names(root, _VERBS)}
    return [_device(root, name, verbs.get(name)) for name in names(root, _CLASS)]


def _device(root: str, name: str, verbs: str | None) -> dict[str, t.Any]:
    folder = f"{_CLASS}/{name}"
    driver = link_name(root, f"{folder}/device/driver")
    vendor, model = line(root, f"{folder}/device/vendor"), line(root, f"{folder}/device/device")
    return {
        "name": name,
        "description": line(root, f"{folder}/node_desc"),
        "provider": PROVIDERS.get(vendor or ""),
        "model": f"{vendor}:{model}" if vendor and model else None,
        "driver": driver,
        "driver_version": line(root, f"/sys/module/{driver}/version") if driver else None,
        "firmware": line(root, f"{folder}/fw_ver"),
        "pci_address": link_name(root, f"{folder}/device"),
        "numa_node": number(root, f"{folder}/device/numa_node"),
        "kernel_abi": number(root, f"{_VERBS}/{verbs}/abi_version") if verbs else None,
        "ports": [_port(root, folder, port) for port in names(root, f"{folder}/ports")],
    }


def _port(root: str, device: str, port: str) -> dict[str, t.Any]:
    folder = f"{device}/ports/{port}"
    gids = gid_table(root, folder)
    by_gid = [gid["netdev"] for gid in gids if gid["netdev"]]
    netdev = next(iter([*by_gid, *names(root, f"{device}/device/net")]), None)
    return {
        "port": int(port),
        "state": _word(line(root, f"{folder}/state")),
        "physical_state": _word(line(root, f"{folder}/phys_state")),
        "link_layer": line(root, f"{folder}/link_layer"),
        "rate": line(root, f"{folder}/rate"),
        "netdev": netdev,
        "mtu": number(root, f"/sys/class/net/{netdev}/mtu") if netdev else None,
        "gids": gids,
    }


def interface_of(device: dict[str, t.Any]) -> str | None:
    """Return the network interface of a device's first port that has any."""
    return next((port["netdev"] for port in device["ports"] if port["netdev"]), None)


def gid_table(root: str, port: str) -> list[dict[str, t.Any]]:
    """Return the filled entries of the GID table of a port, given by its folder.

    A GID contains an IPv4 address as IPv6-mapped (``::ffff:10.1.2.3``); it is returned as IPv4.
    """
    import ipaddress  # noqa: PLC0415 # for nodes that have any

    table = []
    for index in names(root, f"{port}/gids"):
        gid = line(root, f"{port}/gids/{index}")
        if not gid:
            continue
        address = ipaddress.IPv6Address(gid)
        if not int(address):
            continue
        kind = (line(root, f"{port}/gid_attrs/types/{index}") or "").replace("IB/RoCE v1", "RoCE v1")
        table.append(
            {
                "index": int(index),
                "type": kind.replace("IB/", "") or None,
                "address": str(address.ipv4_mapped or address),
                "netdev": line(root, f"{port}/gid_attrs/ndevs/{index}"),
            }
        )
    return table


def _word(state: str | None) -> str | None:
    """Return the word of a state such as ``4: ACTIVE``."""
    return state.partition(":")[2].strip() or state if state else None
