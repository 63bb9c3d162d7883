# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA GPUs, AWS Neuron devices and Google TPUs, from the files of their drivers."""

from __future__ import annotations

import typing as t

from .files import fields, line, names, number, text
from .processes import processes
from .tools import run_tool

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
    """Return the processes that compute. Others hold the devices open too, such as nvidia-persistenced."""
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
