# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs and other accelerators of a node: NVIDIA's, AWS Neuron's and Google's by their files, all by their vendor.

AMD's are in `amd`.
"""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from functools import partial

from .amd import amd_devices, amd_processes
from .files import fields, line, names, number, text
from .processes import holders, processes
from .tools import ToolError, run_tool

if t.TYPE_CHECKING:
    from ..contracts import Reading


_NVIDIA = "/proc/driver/nvidia/gpus"
_NEURON = "/sys/class/neuron_device"
_PCI = "/sys/bus/pci/devices"
_SECONDS = 4.0
_GOOGLE = "0x1ae0"

# PCI device -> generation of the TPU (JAX, jax/_src/hardware_utils.py).
_TPUS = {
    "0x0027": "TPU v3",
    "0x005e": "TPU v4",
    "0x0062": "TPU v5p",
    "0x0063": "TPU v5e",
    "0x006f": "TPU v6e",
    "0x0076": "TPU v7x",
}


def _facts(name: str | None, address: str | None, numa_node: int | None, **firmware: str | None) -> dict[str, t.Any]:
    return {
        "name": name,
        "architecture": None,
        "pci_address": address,
        "numa_node": numa_node,
        "memory_bytes": None,
        "firmware": firmware,
    }


def nvidia_devices(root: str) -> list[dict[str, t.Any]]:
    """Return the GPUs of NVIDIA's driver."""
    found = []
    for address in names(root, _NVIDIA):
        information = fields(text(root, f"{_NVIDIA}/{address}/information"), ":")
        numa_node = number(root, f"{_PCI}/{address}/numa_node")
        found.append(_facts(information.get("Model"), address, numa_node, vbios=information.get("Video BIOS")))
    return found


def nvidia_processes(root: str) -> list[dict[str, t.Any]]:
    """Return the processes that compute. Others have the devices open too, such as nvidia-persistenced."""
    output = run_tool(["nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader"], _SECONDS)[0]
    return processes(root, [int(row) for row in output.split() if row.isdigit()])


def neuron_devices(root: str) -> list[dict[str, t.Any]]:
    """Return the Neuron devices; each has several cores."""
    found = []
    for name in names(root, _NEURON):
        folder = f"{_NEURON}/{name}"
        model = line(root, f"{folder}/info/architecture/device_name") or line(root, "/sys/class/dmi/id/product_name")
        found.append(_facts(model, None, number(root, f"{folder}/device/numa_node")))
    return found


def tpu_devices(root: str) -> list[dict[str, t.Any]]:
    """Return the TPU chips on the PCI bus."""
    chips = [address for address in names(root, _PCI) if line(root, f"{_PCI}/{address}/vendor") == _GOOGLE]
    known = {address: _TPUS.get(line(root, f"{_PCI}/{address}/device") or "") for address in chips}
    return [
        _facts(name, address, number(root, f"{_PCI}/{address}/numa_node")) for address, name in known.items() if name
    ]


class Vendor(t.NamedTuple):
    """How the accelerators of a vendor are found; each function is given the root folder."""

    devices: Callable[[str], list[dict[str, t.Any]]]
    processes: Callable[[str], list[dict[str, t.Any]]]
    module: str


VENDORS = {
    "amd": Vendor(amd_devices, amd_processes, "amdgpu"),
    "nvidia": Vendor(nvidia_devices, nvidia_processes, "nvidia"),
    "neuron": Vendor(neuron_devices, partial(holders, prefixes=("/dev/neuron",)), "neuron"),
    "tpu": Vendor(tpu_devices, partial(holders, prefixes=("/dev/accel", "/dev/vfio/")), "gasket"),
}
_PCI_VENDORS = {"0x1002": "amd", "0x10de": "nvidia"}
# PCI classes 3D controller, other display controller, processing accelerator. VGA controllers are left out: many are
# a server's own console.
_PCI_CLASSES = ("0x0302", "0x0380", "0x1200")


# Further makers of accelerators: Google, Amazon, Habana.
_ACCELERATOR_VENDORS = (*_PCI_VENDORS, _GOOGLE, "0x1d0f", "0x1da3")
# PCI classes of storage, networks, sound, bridges and USB, which these makers have as well.
_OTHER_CLASSES = ("0x01", "0x02", "0x04", "0x06", "0x0c")
_ANY_ACCELERATOR = "0x12"
_DEVICE_FILES = ("accel", "dxg", "hl", "kfd", "neuron", "nvidia")


def gpu_facts(root: str) -> dict[str, t.Any]:
    """Return the accelerators of the first vendor that has any: ``vendor``, ``devices``, ``driver``, ``processes``.

    ``on_bus`` counts the devices of AMD and NVIDIA on the PCI bus, with or without a driver. ``processes`` is None if
    they could not be found out; ``problems`` says why.
    """
    problems: list[str] = []
    on_bus = _on_bus(root)
    found, devices, driver = first_vendor(root)
    vendor = found or next(iter(on_bus), "")
    return {
        "vendor": vendor or None,
        "devices": devices,
        "driver": driver,
        "on_bus": on_bus.get(vendor),
        "processes": _processes(VENDORS[found], root, problems) if found else [],
        "problems": problems,
    }


def first_vendor(root: str) -> tuple[str | None, list[dict[str, t.Any]], dict[str, str | None]]:
    """Return the first vendor that has any accelerators, these, and ``name`` and ``version`` of their driver."""
    for name, vendor in VENDORS.items():
        devices = vendor.devices(root)
        if devices:
            return name, devices, {"name": vendor.module, "version": line(root, f"/sys/module/{vendor.module}/version")}
    return None, [], {"name": None, "version": None}


def has_no_accelerator(root: str) -> bool:
    """Return whether a machine certainly has no accelerator: neither its whole PCI bus nor /dev shows one."""
    addresses, files = names(root, _PCI), [*names(root, "/dev"), *names(root, "/dev/vfio")]
    kinds = [(line(root, f"{_PCI}/{address}/vendor"), line(root, f"{_PCI}/{address}/class")) for address in addresses]
    if not kinds or not files or any(name.startswith(_DEVICE_FILES) or name.isdigit() for name in files):
        return False
    return not any(
        vendor is None
        or kind is None
        or kind.startswith(_ANY_ACCELERATOR)
        or (vendor in _ACCELERATOR_VENDORS and not kind.startswith(_OTHER_CLASSES))
        for vendor, kind in kinds
    )


def with_tool(facts: dict[str, t.Any], by_tool: dict[str, t.Any] | ToolError) -> dict[str, t.Any]:
    """Return AMD's facts with its tool's: names and a missing driver version, or the reason why the tool failed.

    ``tool`` is then the name of the tool that answered, or None.
    """
    if facts["vendor"] != "amd":
        return facts
    problems = list(facts["problems"])
    if isinstance(by_tool, ToolError):
        return dict(facts, tool=None, problems=[*problems, str(by_tool)])
    seen, devices = by_tool["names"], facts["devices"]
    if len(seen) != len(devices):
        problems.append(f"{by_tool['tool']} sees {len(seen)} GPUs, but the driver sees {len(devices)}")
    else:
        devices = [dict(device, name=device["name"] or seen[number]) for number, device in enumerate(devices)]
    driver = dict(facts["driver"], version=facts["driver"]["version"] or by_tool["driver_version"])
    return dict(facts, devices=devices, driver=driver, tool=by_tool["tool"], problems=problems)


def with_sensors(facts: dict[str, t.Any], said: list[Reading] | ToolError) -> dict[str, t.Any]:
    """Return the facts with the readings of each accelerator as its ``sensors``, None if they are not known.

    ``said`` is in the order of the boards. The memory of a device is taken from there if its driver has no file for it.
    """
    devices, problems = facts["devices"], list(facts["problems"])
    if isinstance(said, ToolError):
        problems.append(f"sensors of the GPUs: {said}")
        said = []
    # Partitions of a board share its sensors.
    boards = sorted({device["pci_address"] or str(place) for place, device in enumerate(devices)})
    by_board = dict(zip(boards, said)) if len(boards) == len(said) else {}
    if said and not by_board:
        problems.append(f"{len(said)} GPUs have sensors, but the driver has {len(boards)}")
    sensed = [(device, by_board.get(device["pci_address"] or str(place))) for place, device in enumerate(devices)]
    with_sensors = [
        {**device, "sensors": sensors, "memory_bytes": device["memory_bytes"] or _memory_bytes(sensors)}
        for device, sensors in sensed
    ]
    return dict(facts, devices=with_sensors, problems=problems)


def _memory_bytes(sensors: Reading | None) -> int | None:
    total = sensors["memory_total"] if sensors else None
    return None if total is None else int(total)


def _processes(vendor: Vendor, root: str, problems: list[str]) -> list[dict[str, t.Any]] | None:
    try:
        return vendor.processes(root)
    except ToolError as error:
        problems.append(f"processes on the GPUs: {error}")
        return None


def _on_bus(root: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for address in names(root, _PCI):
        vendor = _PCI_VENDORS.get(line(root, f"{_PCI}/{address}/vendor") or "")
        kind = line(root, f"{_PCI}/{address}/class") or ""
        if vendor and kind.startswith(_PCI_CLASSES):
            counts[vendor] = counts.get(vendor, 0) + 1
    return counts
