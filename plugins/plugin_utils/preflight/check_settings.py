# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of settings that cost speed. The source and the cost of each are in its texts, in `text.preflight`.

A node trains without them, so their cells are yellow and stop nothing. Each is judged on the hardware that it is for.
"""

from __future__ import annotations

import typing as t
from collections.abc import Callable

from .cells import Cell, green, grey, yellow
from .facts import PcieLink, Roce
from .look import Look

_INSTINCT = "INSTINCT MI3"
_REALLOC, _SORT = "pci=realloc=off", "pci=bfsort"
_TRANSLATED = "DMA"
_TRAFFIC_CLASS = "NCCL_IB_TC"
_STRICT = 1


def _devices(look: Look) -> int:
    gpus = look.facts["gpus"]
    return len(gpus["devices"]) if gpus else 0


def _vendor(look: Look) -> str | None:
    gpus = look.facts["gpus"]
    return gpus["vendor"] if gpus and gpus["devices"] else None


def _not_for(look: Look) -> Cell | None:
    """Return the cell of a node whose PCIe bus is no matter: it has no GPU, or another machine decides."""
    if not _devices(look):
        return grey("setting_not_used", "no_gpu")
    return grey("setting_not_used", "virtual_machine") if look.facts["settings"]["virtual_machine"] else None


def check_acs(look: Look) -> Cell:
    """No PCIe bridge above GPUs and adapters sends what passes between them through the processor."""
    bridges = look.facts["settings"]["acs_bridges"]
    other = _not_for(look)
    if other:
        return other
    if bridges is None:
        return grey("setting_unreadable", "root")
    return yellow("acs_on", count=len(bridges), bridges=bridges) if bridges else green("acs_off")


def check_iommu(look: Look) -> Cell:
    """The IOMMU is off, or passes the addresses of GPUs and adapters through."""
    other = _not_for(look)
    if other:
        return other
    kinds = look.facts["settings"]["iommu"]
    if not kinds:
        return green("iommu_off")
    translated = [kind for kind in kinds if kind.startswith(_TRANSLATED)]
    return yellow("iommu_translates", kind=translated[0]) if translated else green("iommu_passes_through")


def check_boot(look: Look) -> Cell:
    """The kernel was started with the parameters that AMD requires for its GPUs."""
    other = _not_for(look)
    if other:
        return other
    gpus = look.facts["gpus"]
    if not gpus or not all(_INSTINCT in str(gpu["name"]).upper() for gpu in gpus["devices"]):
        return grey("setting_not_used", "no_instinct")
    command_line = look.facts["settings"]["command_line"]
    if command_line is None:
        return grey("unknown")
    given = {
        f"pci={option}"
        for word in command_line.split()
        if word.startswith("pci=")
        for option in word[len("pci=") :].split(",")
    }
    missing = [parameter for parameter in (_REALLOC, _SORT) if parameter not in given]
    return yellow("boot_parameters_missing", missing=missing) if missing else green("boot_parameters")


def check_pcie(look: Look) -> Cell:
    """GPUs and adapters use all lanes of their slots, at full speed; an idle GPU of NVIDIA lowers its speed.

    Adapters may reorder their transfers, and their firmware settings are in force.
    """
    if look.facts["settings"]["virtual_machine"]:
        return grey("setting_not_used", "virtual_machine")
    links = [link for link in look.facts["settings"]["pcie"] if link["pcie_width"] and link["pcie_width_limit"]]
    if not links:
        return grey("unknown")
    vendor = _vendor(look)
    weak = [link for link in links if _is_weak(link, link["kind"] == "gpu" and vendor == "nvidia")]
    if weak:
        return yellow("pcie_weak", count=len(weak), links=[dict(link) for link in weak])
    allowed = look.facts["settings"]["relaxed_ordering"]
    strict = [link for link in links if allowed.get(link["device"]) is False]
    if strict:
        names = [link["device"] for link in strict]
        return yellow("ordering_strict", count=len(strict), devices=names, address=strict[0]["address"])
    firmware = look.facts["settings"]["nic_firmware"]
    for link in links:
        for name, value in firmware.get(link["device"], {}).items():
            if None not in (value["now"], value["next"]) and value["now"] != value["next"]:
                which = {"device": link["device"], "address": link["address"], "setting": name}
                return yellow("firmware_waits", **which, now=value["now"], next=value["next"])
    return green("pcie_full")


def _is_weak(link: PcieLink, may_be_slow: bool) -> bool:
    narrow = (link["pcie_width"] or 0) < (link["pcie_width_limit"] or 0)
    slow = (link["pcie_speed"] or 0) < (link["pcie_speed_limit"] or 0)
    return narrow or (slow and not may_be_slow)


def check_peer(look: Look) -> Cell:
    """RDMA adapters reach the memory of NVIDIA GPUs: with nvidia-peermem, or dma-buf of the open kernel module."""
    settings = look.facts["settings"]
    if _vendor(look) != "nvidia" or not look.facts["rdma"]["devices"]:
        return grey("setting_not_used", "no_nvidia_rdma")
    if settings["peer_memory"]:
        return green("peer_memory")
    return green("peer_memory", "dma_buf") if settings["open_kernel_module"] else yellow("peer_memory_missing")


def check_rails(look: Look) -> Cell:
    """Several adapters in one network answer for themselves, and accept what arrives on another one."""
    rails, shared = look.facts["settings"]["rails"], look.facts["settings"]["shared_rails"]
    if not shared:
        return grey("setting_not_used", "no_shared_network")
    wrong = sorted(
        {
            setting
            for name in rails.keys() & shared
            for setting, is_wrong in (
                ("rp_filter", rails[name]["rp_filter"] == _STRICT),
                ("arp_ignore", not rails[name]["arp_ignore"]),
                ("arp_announce", not rails[name]["arp_announce"]),
            )
            if is_wrong
        }
    )
    return yellow("rails_mixed", settings=wrong, interfaces=shared) if wrong else green("rails", interfaces=shared)


def check_cpu(look: Look) -> Cell:
    """Processors keep their speed, and do not sleep deeply where AMD asks for that."""
    settings = look.facts["settings"]
    other = _not_for(look)
    if other:
        return other
    slow = [name for name in settings["governors"] if name != "performance"]
    if slow:
        return yellow("cpu_slowed", governor=slow[0])
    if settings["c2"] and _vendor(look) == "amd":
        return yellow("cpu_sleeps")
    return green("cpu") if settings["governors"] else grey("unknown")


def check_dscp(look: Look) -> Cell:
    """The traffic class of the config marks packets as the adapter and its switches expect RoCE.

    The priority of these packets has flow and congestion control.
    """
    devices = [device["name"] for device in look.rdma_selection.devices] if look.uses_rdma else []
    settings, value = look.facts["settings"], look.variable(_TRAFFIC_CLASS)
    on = {device: settings["roce_dscp"].get(device) for device in devices}
    if value is None or not value.isdigit():
        return grey("dscp_unknown")
    wanted = int(value) >> 2
    for device, dscp in on.items():
        if dscp not in (wanted, None):
            return yellow("dscp_differs", traffic_class=int(value), wanted=wanted, device=device, dscp=dscp)
    known = {device: settings["roce"][device] for device in devices if device in settings["roce"]}
    mapped = {device: roce for device, roce in known.items() if roce["dscp"] and roce["pfc"] is not None}
    for device, roce in mapped.items():
        lossy = _lossy(device, roce, wanted)
        if lossy:
            return lossy
    if not mapped and not any(dscp is not None for dscp in on.values()):
        return grey("dscp_unknown", "adapter" if devices else "")
    return green("dscp", dscp=wanted)


def _lossy(device: str, roce: Roce, dscp: int) -> Cell | None:
    """Return the fault of the priority that an adapter gives a DSCP, or None."""
    priorities, flow_control = roce["dscp"] or {}, roce["pfc"] or []
    # Linux, include/net/dcbnl.h: any other DSCP has the priority 0.
    priority = priorities.get(str(dscp), 0)
    marked: dict[str, t.Any] = {"device": device, "dscp": dscp, "priority": priority}
    if priority not in flow_control:
        lossless = min((int(other) for other, given in priorities.items() if given in flow_control), default=None)
        if lossless is None:
            return yellow("roce_lossy", "pfc", **marked)
        return yellow("roce_lossy", "pfc", remedy="other", **marked, lossless=lossless, traffic_class=lossless << 2)
    if roce["ecn"] is not None and priority not in roce["ecn"]:
        return yellow("roce_lossy", "ecn", **marked)
    return None


def check_slurmd(look: Look) -> Cell:
    """Jobs of Slurm may lock memory for RDMA."""
    limit = look.facts["settings"]["slurmd_memlock"]
    if limit is None:
        return grey("setting_not_used", "no_slurmd")
    if limit == -1 or not look.facts["rdma"]["devices"]:
        return green("slurmd_memlock")
    return yellow("slurmd_memlock_small", limit=limit)


def check_memory(look: Look) -> Cell:
    """The node has as much memory as its GPUs have together."""
    gpus, total = look.facts["gpus"], look.facts["memory_bytes"]
    of_gpus = sum(gpu["memory_bytes"] or 0 for gpu in gpus["devices"]) if gpus else 0
    if not of_gpus or total is None:
        return grey("unknown")
    return green("memory", total=total) if total >= of_gpus else yellow("memory_small", total=total, of_gpus=of_gpus)


# In the order of the table's columns.
SETTINGS: dict[str, Callable[[Look], Cell]] = {
    "acs": check_acs,
    "iommu": check_iommu,
    "boot": check_boot,
    "pcie": check_pcie,
    "peer": check_peer,
    "rails": check_rails,
    "cpu": check_cpu,
    "dscp": check_dscp,
    "slurmd": check_slurmd,
    "memory": check_memory,
}
