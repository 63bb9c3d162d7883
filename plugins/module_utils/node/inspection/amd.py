# SPDX-License-Identifier: GPL-3.0-or-later
"""AMD GPUs: the facts of the KFD driver (sysfs), and those of amd-smi or rocm-smi.

Sources: Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c (topology), amdgpu's sysfs files of the PCI device.
"""

from __future__ import annotations

import contextlib
import json
import re
import typing as t

from .files import fields, line, names, number, text
from .processes import processes
from .tools import MissingToolError, ToolError, run_tool

_KFD = "/sys/class/kfd/kfd"
_PCI = "/sys/bus/pci/devices"
# The tools repeat much that the files say already, and need not be waited for long.
_SECONDS = 1.5

# PCI device -> name, for boards whose driver does not say it (libdrm, data/amdgpu.ids).
_NAMES = {
    0x740C: "AMD Instinct MI250X/MI250",
    0x740F: "AMD Instinct MI210",
    0x74A0: "AMD Instinct MI300A",
    0x74A1: "AMD Instinct MI300X",
    0x74A2: "AMD Instinct MI308X",
    0x74A5: "AMD Instinct MI325X",
    0x74B5: "AMD Instinct MI300X VF",
    0x74B9: "AMD Instinct MI325X VF",
    0x75A0: "AMD Instinct MI350X",
    0x75A3: "AMD Instinct MI355X",
}


def amd_devices(root: str) -> list[dict[str, t.Any]]:
    """Return the GPUs that a program sees: one for each KFD node with a GPU, partitions of a board counted singly."""
    nodes = (f"{_KFD}/topology/nodes/{name}" for name in names(root, f"{_KFD}/topology/nodes"))
    return [_device(root, node) for node in nodes if number(root, f"{node}/gpu_id")]


def _device(root: str, node: str) -> dict[str, t.Any]:
    properties = _properties(root, f"{node}/properties")
    address = _pci_address(properties.get("domain", 0), properties.get("location_id", 0))
    board = f"{_PCI}/{address}"
    name = line(root, f"{board}/product_name") or _NAMES.get(properties.get("device_id", 0))
    banks = (f"{node}/mem_banks/{bank}/properties" for bank in names(root, f"{node}/mem_banks"))
    return {
        "name": name,
        "architecture": _architecture(properties.get("gfx_target_version", 0)),
        "pci_address": address,
        "numa_node": number(root, f"{board}/numa_node"),
        "memory_bytes": sum(_properties(root, bank).get("size_in_bytes", 0) for bank in banks) or None,
        "firmware": {
            "vbios": line(root, f"{board}/vbios_version"),
            **{
                file.replace("_fw_version", ""): line(root, f"{board}/fw_version/{file}")
                for file in names(root, f"{board}/fw_version")
            },
        },
    }


def _properties(root: str, path: str) -> dict[str, int]:
    pairs = fields(text(root, path), " ")
    return {name: int(value) for name, value in pairs.items() if value.isdigit()}


def _pci_address(domain: int, location: int) -> str:
    """Return a PCI address from KFD's domain, and its location: bus, device and function in one number."""
    return f"{domain:04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7:x}"


def _architecture(version: int) -> str | None:
    """Return for instance ``gfx942`` from 90402: major, minor and stepping, two decimal digits each."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}" if version else None


def amd_processes(root: str) -> list[dict[str, t.Any]]:
    """Return the processes that the KFD driver computes for."""
    return processes(root, [int(name) for name in names(root, f"{_KFD}/proc") if name.isdigit()])


def amd_tool() -> dict[str, t.Any]:
    """Return the ``tool`` that is installed, the ``names`` of the GPUs that it sees, and the ``driver_version``.

    ToolError says why it printed nothing.
    """
    missing = []
    for tool, (options, read) in _TOOLS.items():
        try:
            return dict(read(run_tool([tool, *options], _SECONDS)[0]), tool=tool)
        except MissingToolError as error:
            missing.append(str(error))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ToolError(f"{tool} printed unexpected output") from None
    raise ToolError(", ".join(missing))


def amd_smi_in(output: str) -> dict[str, t.Any]:
    """Return the output of ``amd-smi static --asic --driver --json``: a list, since ROCm 7 under ``gpu_data``."""
    answer = _json_in(output)
    gpus = answer["gpu_data"] if isinstance(answer, dict) else answer
    versions = [version for gpu in gpus if (version := _known(gpu.get("driver", {}).get("version")))]
    return {
        "names": [_known(gpu["asic"].get("market_name")) for gpu in gpus],
        "driver_version": next(iter(versions), None),
    }


def rocm_smi_in(output: str) -> dict[str, t.Any]:
    """Return the output of ``rocm-smi --showproductname --showdriverversion --json``: an object for each card."""
    answer = _json_in(output)
    cards = [card for name, card in answer.items() if name.startswith("card")]
    return {
        "names": [_known(card.get("Card Series") or card.get("Card series")) for card in cards],
        "driver_version": _known(answer.get("system", {}).get("Driver version")),
    }


def _json_in(output: str) -> t.Any:
    """Return the first JSON value of an output: rocm-smi warns above it of cards in a low-power state."""
    for found in re.finditer(r"^[\[{]", output, re.MULTILINE):
        with contextlib.suppress(ValueError):
            return json.JSONDecoder().raw_decode(output, found.start())[0]
    raise ValueError("no JSON")


def _known(value: str | None) -> str | None:
    return None if value in ("", "N/A") else value


# The newer first.
_TOOLS: dict[str, tuple[list[str], t.Callable[[str], dict[str, t.Any]]]] = {
    "amd-smi": (["static", "--asic", "--driver", "--json"], amd_smi_in),
    "rocm-smi": (["--showproductname", "--showdriverversion", "--json"], rocm_smi_in),
}
