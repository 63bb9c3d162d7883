# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of a node that cost a training speed: PCIe, IOMMU, kernel parameters, processors, rails, the traffic class.

They are read from the kernel's files; `adapter_tools` asks programs. A value that cannot be read is None.
"""

from __future__ import annotations

import os
import re
import struct
import typing as t

from .files import below, fields, line, names, number, text
from .rdma import interface_of
from .sensors import pcie_link

_PCI = "/sys/bus/pci/devices"
_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
GOVERNOR = "cpufreq/scaling_governor"
C2_DISABLED = "cpuidle/state2/disable"
_BEGINNING = 8192  # of /proc/cpuinfo: its first processor
# PCI Express Base Specification: extended capabilities begin at 0x100, ACS has the ID 13, and the switches of
# its control register that redirect traffic between devices are the lowest five bits but Translation Blocking.
_EXTENDED, _ACS, _REDIRECTS = 0x100, 0x000D, 0b11101
_MOST_CAPABILITIES = 48
# The first 64 bytes point to the capabilities. The PCI Express capability has the ID 16; its Device Control is at 8.
_CAPABILITIES, _PCI_EXPRESS, _DEVICE_CONTROL, _RELAXED_ORDERING = 0x34, 0x10, 8, 1 << 4
_PRIORITIES = 8
# The kernel takes the larger of the interface's value and the value for all (Documentation/networking/ip-sysctl.rst).
_OF_RAILS = ("rp_filter", "arp_ignore", "arp_announce")


def setting_facts(
    root: str,
    gpus: list[dict[str, t.Any]],
    adapters: list[dict[str, t.Any]],
    said: dict[str, dict[str, t.Any]] | None = None,
) -> dict[str, t.Any]:
    """Return the settings that matter for the GPUs and RDMA adapters of a node.

    ``acs_bridges`` are the PCIe bridges above them that redirect traffic between devices to the processor. ``iommu``
    are the kinds of the IOMMU's domains that they are in (``identity``, ``DMA``, ``DMA-FQ``). ``pcie`` has an entry for
    each of them with ``device``, ``address``, ``kind``, its link, and what both ends can do. ``rails`` has the settings
    of each adapter's interface. ``roce`` has the flow and congestion control of each adapter, and ``nic_firmware``
    settings of its firmware; ``said`` is what `tool_facts` returns.
    """
    said = said or {}
    devices = pci_devices(gpus, adapters)
    return {
        "virtual_machine": is_virtual_machine(root),
        "command_line": line(root, "/proc/cmdline"),
        "acs_bridges": acs_bridges(root, list(devices)),
        "iommu": sorted({kind for kind in (_iommu(root, address) for address in devices) if kind}),
        "pcie": [
            {"device": name, "address": address, "kind": kind, **_link(root, address)}
            for address, (kind, name) in sorted(devices.items())
        ],
        "peer_memory": any(names(root, f"/sys/module/{name}") for name in ("nvidia_peermem", "nv_peer_mem")),
        "open_kernel_module": has_open_nvidia_module(root),
        "governors": sorted(set(of_processors(root, GOVERNOR).values())),
        "c2": "0" in of_processors(root, C2_DISABLED).values(),
        "rails": {name: _rail(root, name) for name in interfaces_of(adapters)},
        "slurmd_memlock": slurmd_memlock(root),
        "roce_dscp": {one["name"]: _dscp(root, one["name"]) for one in adapters},
        "roce": {one["name"]: _roce(root, one, said.get(one["name"], {})) for one in adapters},
        "nic_firmware": {one["name"]: said.get(one["name"], {}).get("firmware", {}) for one in adapters},
        "relaxed_ordering": {one["name"]: _relaxed_ordering(root, str(one["pci_address"]).lower()) for one in adapters},
        "port_range": [int(port) for port in (line(root, "/proc/sys/net/ipv4/ip_local_port_range") or "").split()],
        "reserved_ports": line(root, "/proc/sys/net/ipv4/ip_local_reserved_ports") or "",
    }


def pci_devices(gpus: list[dict[str, t.Any]], adapters: list[dict[str, t.Any]]) -> dict[str, tuple[str, str]]:
    """Return kind and name of the GPUs and RDMA adapters, by PCI address."""
    devices = {str(gpu["pci_address"]).lower(): ("gpu", str(gpu["pci_address"])) for gpu in gpus if gpu["pci_address"]}
    devices.update({str(one["pci_address"]).lower(): ("nic", one["name"]) for one in adapters if one["pci_address"]})
    return devices


def is_virtual_machine(root: str) -> bool:
    """Return whether the processor says that another machine runs this one."""
    return "hypervisor" in fields(text(root, "/proc/cpuinfo", _BEGINNING), ":").get("flags", "").split()


def has_open_nvidia_module(root: str) -> bool:
    """Return whether NVIDIA's driver is the open one, which gives adapters the memory of GPUs as dma-buf."""
    return "Open Kernel Module" in (text(root, "/proc/driver/nvidia/version") or "")


def bridges_above(root: str, address: str) -> list[str]:
    """Return the addresses of the PCIe bridges between a device and the processor, from above."""
    path = os.path.realpath(below(root, f"{_PCI}/{address}"))
    return [part for part in path.split(os.sep)[:-1] if _ADDRESS.fullmatch(part)]


def acs_bridges(root: str, addresses: list[str]) -> list[str] | None:
    """Return the bridges above devices whose ACS redirects traffic; None if the kernel shows it to root only."""
    registers = acs_registers(root, addresses)
    if registers is None:
        return None
    return [bridge for bridge, register in registers.items() if register.redirects]


class AcsRegister(t.NamedTuple):
    """The control register of a bridge's ACS: its ``place`` in the bridge's configuration, and its value."""

    place: int
    control: int

    @property
    def redirects(self) -> bool:
        """Return whether the bridge sends traffic between devices below it to the processor."""
        return bool(self.control & _REDIRECTS)


def acs_registers(root: str, addresses: list[str]) -> dict[str, AcsRegister] | None:
    """Return the registers of the bridges above devices that have ACS; None if a configuration cannot be read."""
    found = {}
    for bridge in sorted({bridge for address in addresses for bridge in bridges_above(root, address)}):
        space = _configuration(root, bridge)
        if space is None:
            return None
        register = _acs_register(space)
        if register is not None:
            found[bridge] = register
    return found


def acs_register(root: str, bridge: str) -> AcsRegister | None:
    """Return the control register of a bridge's ACS; None without ACS, or if its configuration cannot be read."""
    return _acs_register(_configuration(root, bridge) or b"")


def configuration_path(bridge: str) -> str:
    """Return the file of a PCI device's configuration space."""
    return f"{_PCI}/{bridge}/config"


def _configuration(root: str, device: str) -> bytes | None:
    try:
        with open(below(root, configuration_path(device)), "rb") as stream:
            space = stream.read(4096)
    except OSError:
        return None
    # Others than root see 64 bytes; a bridge of conventional PCI has 256 and no ACS.
    return space if len(space) >= _EXTENDED else None


def _relaxed_ordering(root: str, address: str) -> bool | None:
    """Return whether a device may reorder its transfers over PCIe; None if that cannot be read."""
    space = _configuration(root, address)
    place = space[_CAPABILITIES] & ~3 if space else 0
    for _capability in range(_MOST_CAPABILITIES):
        if not space or not place:
            break
        if space[place] == _PCI_EXPRESS:
            control = struct.unpack_from("<H", space, place + _DEVICE_CONTROL)[0]
            return bool(control & _RELAXED_ORDERING)
        place = space[place + 1] & ~3
    return None


def _acs_register(space: bytes) -> AcsRegister | None:
    place = _EXTENDED
    for _capability in range(_MOST_CAPABILITIES):
        if not _EXTENDED <= place <= len(space) - 8:
            return None
        (header,) = struct.unpack_from("<I", space, place)
        if header & 0xFFFF == _ACS:
            return AcsRegister(place + 6, int(struct.unpack_from("<H", space, place + 6)[0]))
        place = header >> 20
    return None


def _iommu(root: str, address: str) -> str | None:
    return line(root, f"{_PCI}/{address}/iommu_group/type")


def _link(root: str, address: str) -> dict[str, t.Any]:
    """Return a device's link, with the limits of its weaker end."""
    link: dict[str, t.Any] = dict(pcie_link(root, address))
    above = bridges_above(root, address)
    if above:
        other: dict[str, t.Any] = dict(pcie_link(root, above[-1]))
        for limit in ("pcie_speed_limit", "pcie_width_limit"):
            link[limit] = min((one[limit] for one in (link, other) if one[limit]), default=None)
    return link


def of_processors(root: str, path: str) -> dict[str, str]:
    """Return the values of a file that each processor has, by path; without those that cannot be read."""
    folder = "/sys/devices/system/cpu"
    processors = [name for name in names(root, folder) if name[:3] == "cpu" and name[3:].isdigit()]
    found = {f"{folder}/{name}/{path}": line(root, f"{folder}/{name}/{path}") for name in processors}
    return {path: value for path, value in found.items() if value}


def interfaces_of(adapters: list[dict[str, t.Any]]) -> list[str]:
    """Return the network interfaces of RDMA adapters."""
    return sorted({port["netdev"] for adapter in adapters for port in adapter["ports"] if port["netdev"]})


def _rail(root: str, interface: str) -> dict[str, int | None]:
    folder = "/proc/sys/net/ipv4/conf"

    def largest(setting: str) -> int | None:
        values = [number(root, f"{folder}/{name}/{setting}") for name in ("all", interface)]
        return max((value for value in values if value is not None), default=None)

    return {setting: largest(setting) for setting in _OF_RAILS}


def slurmd_memlock(root: str) -> int | None:
    """Return how many bytes slurmd may lock, -1 for unlimited; None without slurmd."""
    for name in names(root, "/proc"):
        if name.isdigit() and line(root, f"/proc/{name}/comm") == "slurmd":
            for row in (text(root, f"/proc/{name}/limits") or "").splitlines():
                if row.startswith("Max locked memory"):
                    hard = row.split()[4]
                    return int(hard) if hard.isdigit() else -1
    return None


def _dscp(root: str, device: str) -> int | None:
    """Return the DSCP that Broadcom's driver gives RoCE on a device; None of other drivers."""
    return number(root, f"/sys/kernel/config/bnxt_re/{device}/ports/1/cc/roce_dscp")


def _roce(root: str, adapter: dict[str, t.Any], said: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return ``pfc`` and ``dscp`` of an adapter, and as ``ecn`` priorities with DCQCN; None if unknown."""
    ecn = _ecn(root, adapter["name"], interface_of(adapter))
    return {"pfc": said.get("pfc"), "dscp": said.get("dscp"), "ecn": said.get("ecn") if ecn is None else ecn}


def _ecn(root: str, device: str, interface: str | None) -> list[int] | None:
    """Return the priorities with DCQCN, from the configfs of Broadcom or the sysfs of NVIDIA."""
    for_all = number(root, f"/sys/kernel/config/bnxt_re/{device}/ports/1/cc/ecn_enable")
    if for_all is not None:
        return list(range(_PRIORITIES)) if for_all else []
    ends = [
        [number(root, f"/sys/class/net/{interface}/ecn/{end}/enable/{priority}") for end in ("roce_np", "roce_rp")]
        for priority in range(_PRIORITIES)
    ]
    if not any(None not in both for both in ends):
        return None
    return [priority for priority, both in enumerate(ends) if all(both)]
