# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast and how wide the PCIe link of a device is, and could be (Linux, Documentation/ABI/testing/sysfs-bus-pci).

An idle GPU lowers the speed of its link, so only what stands here under load says anything.
"""

from __future__ import annotations

import typing as t

from .files import line, number

if t.TYPE_CHECKING:
    from ..contracts import PcieLink

_PCI = "/sys/bus/pci/devices"


def pcie_link(root: str, address: str) -> PcieLink:
    """Return the link of the device at a PCI address: GT/s of each lane, and lanes; None for what is not known."""
    device = f"{_PCI}/{address.lower()}"
    return {
        "pcie_speed": _speed(line(root, f"{device}/current_link_speed")),
        "pcie_speed_limit": _speed(line(root, f"{device}/max_link_speed")),
        "pcie_width": number(root, f"{device}/current_link_width") or None,
        "pcie_width_limit": number(root, f"{device}/max_link_width") or None,
    }


def _speed(printed: str | None) -> float | None:
    """Return the number of a speed such as ``32.0 GT/s PCIe``."""
    try:
        return float((printed or "").split()[0])
    except (ValueError, IndexError):
        return None
