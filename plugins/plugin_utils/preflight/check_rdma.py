# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of RDMA: devices, GID table, provider library."""

from __future__ import annotations

import posixpath
import re
import typing as t
from collections.abc import Sequence

from ...module_utils.node.contracts import Mount
from ...module_utils.node.rdma_library import HOST_LIBRARY, mount_problem
from ..plan.job.rdma import NIC_TYPES
from .cells import Cell, green, grey, not_known, red
from .facts import Port
from .look import Look, best_gid, fitting_gids, gid_fits

# The number is the version of libibverbs that loads the provider.
_RDMA_ABI = re.compile(r"-rdmav([0-9]+)\.so")


def check_rdma(look: Look) -> Cell:
    """The RDMA devices of the config are there, of the kind that it says, and their ports are active."""
    if not look.uses_rdma:
        return _not_used(look)
    if look.nic_rule is None and look.nic_type not in (None, "none"):
        return red("nic_type_unknown", nic_type=look.nic_type, known=list(NIC_TYPES))
    devices, unknown = look.rdma_selection
    if unknown or not devices:
        return _missing_devices(look, unknown)
    rule = look.nic_rule
    stranger = next((one for one in devices if rule and one["provider"] not in (rule.provider, None)), None)
    if rule and stranger:
        kinds: dict[str, t.Any] = {"nic_type": look.nic_type, "wanted": rule.provider, "provider": stranger["provider"]}
        return red("rdma_of_other_kind", device=stranger["name"], **kinds)
    down = [
        {
            "device": device["name"],
            "state": port["state"],
            "physical_state": port["physical_state"],
            "interface": port["netdev"],
        }
        for device in devices
        for port in device["ports"]
        if port["state"] != "ACTIVE"
    ]
    if down:
        return red("rdma_port_down", remedy="interface" if down[0]["interface"] else "", count=len(down), ports=down)
    provider = devices[0]["provider"]
    return green("rdma", "" if provider else "no_provider", count=len(devices), provider=provider)


def _missing_devices(look: Look, names: Sequence[str]) -> Cell:
    rule = look.nic_rule
    there = [device["name"] for device in look.facts["rdma"]["devices"]]
    missing = list(names) or ([f"{rule.device_prefix}0"] if rule else [])
    case = ("named" if names else "of_kind" if rule else "any") + ("" if there else "_of_none")
    remedy = "load_driver" if rule and not there else ""
    module = rule.kernel_module if rule else None
    return red("rdma_missing", case, remedy=remedy, devices=len(there), missing=missing, there=there, module=module)


def _not_used(look: Look) -> Cell:
    if not look.has_config:
        return grey("rdma_not_used", "no_device")
    return grey("rdma_not_used") if look.multi_node else grey("single_node", "rdma")


def _ports(look: Look) -> list[tuple[str, Port]]:
    """Return the Ethernet ports of the selected devices with the device's name; others need no GID index."""
    return [
        (device["name"], port)
        for device in look.rdma_selection.devices
        for port in device["ports"]
        if port["link_layer"] == "Ethernet"
    ]


def proposed_gid_index(looks: Sequence[Look]) -> int | None:
    """Return a GID index that fits every selected device of every node, or None if there is none."""
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
        return grey("no_roce") if look.uses_rdma else _not_used(look)
    value, text = look.gid_index, look.node["env"].get("NCCL_IB_GID_INDEX")
    if value is None:
        if proposed is None:
            return red("gid_fits_nowhere", interface=ports[0][1]["netdev"] or "")
        return green("gid", "proposed", index=proposed)
    own = set.intersection(*(fitting_gids(port) for _device, port in ports))
    better = best_gid(own, look.nic_rule) if proposed is None else proposed
    remedy = "index" if better is not None else ""
    case, values = "" if str(value) == str(text) else "read", {"index": value, "text": text}
    for name, port in ports:
        gid = next((gid for gid in port["gids"] if gid["index"] == value), None)
        if gid is None:
            return red("gid_missing", case, remedy=remedy, device=name, better=better, **values)
        if not gid_fits(gid):
            values |= {"type": gid["type"], "address": gid["address"]}
            return red("gid_unfit", case, remedy=remedy, device=name, better=better, **values)
    return green("gid", case, **values)


def check_provider(look: Look) -> Cell:
    """The provider library that the training will load knows the ABI of the node's kernel driver."""
    if not look.uses_rdma or not look.rdma_selection.devices:
        return grey("rdma_not_used", "no_device") if look.uses_rdma else _not_used(look)
    if look.engine is None:
        return _own_provider(look)
    mounts = [mount for mount in look.node["mounts"] if mount["target"].endswith(HOST_LIBRARY)]
    for mount in mounts:
        problem = _library_problem(look, mount)
        if problem:
            return problem
    if mounts:
        return green("provider_mounted", library=posixpath.basename(mounts[0]["source"]))
    return _provider_of_image(look)


def _own_provider(look: Look) -> Cell:
    rdma, devices = look.facts["rdma"], look.rdma_selection.devices
    family = look.facts["os"]["family"] or ""
    providers = {device["provider"] for device in devices if device["provider"]}
    missing = providers - {library["driver"] for library in rdma["libraries"]}
    if missing:
        return red("provider_missing", remedy=family, provider=min(missing))
    verbs = rdma["verbs"]
    if verbs is None:
        return red("verbs_unusable", remedy=family, said=look.facts["problems"].get("verbs"))
    if verbs["devices"] is None:
        return red("verbs_silent")
    if verbs["warnings"]:
        return red("abi_not_supported", said=verbs["warnings"][0])
    if verbs["devices"] < len(rdma["devices"]):
        return red("verbs_devices_missing", offered=verbs["devices"], devices=len(rdma["devices"]))
    return green("provider_of_node")


def _library_problem(look: Look, mount: Mount) -> Cell | None:
    source = mount["source"]
    facts = look.path(source)
    if facts is None:
        return not_known(look.facts["problems"].get(source))
    problem = mount_problem(mount, facts["kind"])
    if problem is not None:
        remedy = "prepare" if facts["kind"] == "missing" else ""
        return red("library_unusable", remedy=remedy, kind=facts["kind"], problems=[problem._asdict()])
    library = facts.get("library") or {}
    if library.get("problem"):
        return red("library_unusable", "unreadable", path=source, said=library["problem"])
    wanted, abi = _RDMA_ABI.search(mount["target"]), library.get("rdma_abi")
    if wanted and abi and abi != int(wanted[1]):
        return red("library_unusable", "abi", path=source, abi=abi, wanted=int(wanted[1]))
    return None


def _provider_of_image(look: Look) -> Cell:
    rule = look.nic_rule
    if rule is None or rule.image_kernel_abi is None:
        return grey("provider_of_image")
    for device in look.rdma_selection.devices:
        abi = device["kernel_abi"]
        if abi not in (rule.image_kernel_abi, None):
            library = f"lib{rule.provider}-rdmav34.so"
            values: dict[str, t.Any] = {"device": device["name"], "abi": abi, "supported": rule.image_kernel_abi}
            return red("abi_not_of_image", library=library, **values)
    return green("provider_of_image")
