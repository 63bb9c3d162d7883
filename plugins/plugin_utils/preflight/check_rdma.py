# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of RDMA: devices, GID table, provider library."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from ...module_utils.node.contracts import Mount
from ...module_utils.node.rdma_library import HOST_LIBRARY, mount_problem
from ..plan.job.rdma import NIC_TYPES
from .cells import Cell, by_hand, green, grey, red
from .facts import Port
from .look import Look
from .nics import best_gid, fitting_gids, gid_fits

_MOUNT_TARGET = "/usr/lib/x86_64-linux-gnu/libibverbs"
_NOT_USED = "the config uses no RDMA"
_INSTALL = {
    "debian": "apt-get install rdma-core ibverbs-providers",
    "rhel": "dnf install rdma-core libibverbs",
}


def check_rdma(look: Look) -> Cell:
    """The RDMA devices of the config are there, of the kind that it says, and their ports are active."""
    if not look.uses_rdma:
        return grey(_not_used(look))
    if look.nic_rule is None and look.nic_type not in (None, "none"):
        reason = f"nic_type {look.nic_type} is unknown"
        return red(str(look.nic_type), reason, f"set nic_type in the config to one of {', '.join(NIC_TYPES)}")
    devices, unknown = look.rdma_selection
    if unknown or not devices:
        return _missing_devices(look, unknown)
    rule = look.nic_rule
    stranger = next((one for one in devices if rule and one["provider"] not in (rule.provider, None)), None)
    if rule and stranger:
        return red(
            stranger["name"],
            f"nic_type {look.nic_type} means {rule.provider} devices, but {stranger['name']} uses "
            f"{stranger['provider']}",
            by_hand("correct nic_type or nccl_ib_hca_list in the config"),
        )
    down = [(device["name"], port) for device in devices for port in device["ports"] if port["state"] != "ACTIVE"]
    if down:
        states = ", ".join(f"{name} is {port['state']} ({port['physical_state']})" for name, port in down)
        netdev = down[0][1]["netdev"]
        return red(
            f"{len(down)} ports down",
            states,
            f"ip link set {netdev} up" if netdev else by_hand("check the cable and the switch port", "rdma link"),
        )
    return green(f"{len(devices)} × {devices[0]['provider'] or 'RDMA device'}, active")


def _missing_devices(look: Look, names: Sequence[str]) -> Cell:
    rule = look.nic_rule
    there = [device["name"] for device in look.facts["rdma"]["devices"]]
    wanted = ", ".join(names) or (f"a device such as {rule.device_prefix}0" if rule else "a device")
    if there:
        command = f"set nccl_ib_hca_list in the config to {','.join(there)}"
    else:
        command = (
            f"modprobe {rule.kernel_module}"
            if rule
            else by_hand("find the adapter", "lspci | grep -Ei 'ethernet|infiniband'")
        )
    reason = f"{wanted} is not among the node's RDMA devices: {', '.join(there) or 'it has none'}"
    return red(f"{len(there)} devices", reason, command)


def _not_used(look: Look) -> str:
    if not look.has_config:
        return "no RDMA device"
    return _NOT_USED if look.multi_node else "a single node needs no RDMA"


def _ports(look: Look) -> list[tuple[str, Port]]:
    """Return the Ethernet ports of the selected devices with the device's name; others need no GID index."""
    return [
        (device["name"], port)
        for device in look.rdma_selection.devices
        for port in device["ports"]
        if port["link_layer"] == "Ethernet"
    ]


def proposed_gid_index(looks: Sequence[Look]) -> int | None:
    """Return a GID index that fits every selected device of every node, or None where there is none."""
    tables = [fitting_gids(port) for look in looks for _device, port in _ports(look)]
    return best_gid(set.intersection(*tables), looks[0].nic_rule) if tables else None


def gid_cells(looks: Sequence[Look]) -> dict[str, Cell]:
    """Return whether the GID index of the config, or without one any, will do on all nodes."""
    proposed = proposed_gid_index([look for look in looks if look.uses_rdma])
    return {look.name: _gid_cell(look, proposed) for look in looks}


def _gid_cell(look: Look, proposed: int | None) -> Cell:
    """The GID index of the config means RoCE v2 and an address with a route, on every device that is used."""
    ports = _ports(look) if look.uses_rdma else []
    if not ports:
        return grey("no RoCE device is used" if look.uses_rdma else _not_used(look))
    value, text = look.gid_index, look.node["env"].get("NCCL_IB_GID_INDEX")
    if value is None:
        if proposed is None:
            reason = "no GID index is RoCE v2 with a routable address on every device of every node"
            return red(
                "no index fits",
                reason,
                by_hand("assign routable addresses to the ports", f"ip address show {ports[0][1]['netdev']}"),
            )
        return green(f"{proposed} fits (proposed)")
    own = set.intersection(*(fitting_gids(port) for _device, port in ports))
    better = best_gid(own, look.nic_rule) if proposed is None else proposed
    command = (
        f"set nccl_ib_gid_index in the config to {better}"
        if better is not None
        else by_hand("assign routable addresses to the ports", "show_gids")
    )
    read = "" if str(value) == str(text) else f" (NCCL reads {text} as {value})"
    for name, port in ports:
        gid = next((gid for gid in port["gids"] if gid["index"] == value), None)
        if gid is None:
            return red(f"no index {value}", f"the GID table of {name} has no index {value}{read}", command)
        if not gid_fits(gid):
            return red(
                f"{gid['type']} {gid['address']}",
                f"GID index {value} of {name} is {gid['type']} with {gid['address']}; it must be RoCE v2 with a "
                f"routable address{read}",
                command,
            )
    return green(f"{value} is RoCE v2{read}")


def check_provider(look: Look) -> Cell:
    """The provider library that the training will load knows the ABI of the node's kernel driver."""
    if not look.uses_rdma or not look.rdma_selection.devices:
        return grey(_not_used(look) if not look.uses_rdma else "no RDMA device")
    if look.engine is None:
        return _own_provider(look)
    mounts = [mount for mount in look.node["mounts"] if mount["target"].endswith(HOST_LIBRARY)]
    for mount in mounts:
        problem = _library_problem(look, mount)
        if problem:
            return problem
    if mounts:
        return green(f"the node's {posixpath.basename(mounts[0]['source'])}, mounted")
    return _provider_of_image(look)


def _own_provider(look: Look) -> Cell:
    rdma, devices = look.facts["rdma"], look.rdma_selection.devices
    install = _INSTALL.get(look.facts["os"]["family"] or "", by_hand("install rdma-core and its providers"))
    providers = {device["provider"] for device in devices if device["provider"]}
    missing = providers - {library["driver"] for library in rdma["libraries"]}
    if missing:
        name = sorted(missing)[0]
        return red("missing", f"libibverbs has no provider library for {name}", install)
    verbs = rdma["verbs"]
    if verbs is None:
        return red("unknown", f"libibverbs cannot be used: {look.facts['problems'].get('verbs')}", install)
    if verbs["warnings"]:
        install = by_hand("install the kernel driver vendor's user space package")
        return red("ABI mismatch", verbs["warnings"][0], install)
    if verbs["devices"] < len(rdma["devices"]):
        reason = f"libibverbs reports {verbs['devices']} of the {len(rdma['devices'])} RDMA devices"
        return red(
            f"{verbs['devices']} devices", reason, by_hand("fix the drivers of the other devices", "ibv_devinfo")
        )
    return green("the node's own")


def _library_problem(look: Look, mount: Mount) -> Cell | None:
    source = mount["source"]
    facts = look.path(source)
    if facts is None:
        return grey(look.facts["problems"].get(source, "unknown"))
    problem = mount_problem(mount, facts["kind"])
    if problem is not None:
        prepare = f"ansible-playbook playbooks/node_prep.yml -e node_prep_rdma_library_path={source}"
        by_person = problem.command if problem.fixes else by_hand(problem.command)
        command = prepare if facts["kind"] == "missing" else by_person
        return red(facts["kind"], problem.reason, command)
    library = facts.get("library") or {}
    if library.get("problem"):
        return red(
            "no library",
            f"{source}: {library['problem']}",
            by_hand("install the vendor's library there", f"file {source}"),
        )
    return None


def _provider_of_image(look: Look) -> Cell:
    rule = look.nic_rule
    if rule is None or rule.image_kernel_abi is None:
        return grey("the image's own")
    for device in look.rdma_selection.devices:
        abi = device["kernel_abi"]
        if abi not in (rule.image_kernel_abi, None):
            library = f"lib{rule.provider}-rdmav34.so"
            return red(
                f"ABI {abi}",
                f"the kernel driver of {device['name']} has ABI {abi}, but images support {rule.image_kernel_abi}; "
                "they drop the device, and the training falls back to TCP",
                f'add "/usr/local/lib/{library}": "{_MOUNT_TARGET}/{library}.host" to volume_dict in the config',
            )
    return green("the image's own")
