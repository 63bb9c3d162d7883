# SPDX-License-Identifier: GPL-3.0-or-later
"""The hardware of a node, in short: read from files of the kernel in a millisecond, for the report."""

from __future__ import annotations

import typing as t

from .inspection.gpus import first_vendor
from .inspection.rdma import rdma_devices
from .inspection.system import system_facts

if t.TYPE_CHECKING:
    from .contracts import Accelerators, Hardware


def hardware_facts(root: str = "/") -> Hardware:
    """Return ``os``, ``kernel``, ``cpu``, ``accelerators`` and ``nics``; unknown values are None.

    ``accelerators`` has ``name``, ``count``, ``driver``, ``driver_version`` and ``firmware`` (name -> version, if all
    of them have the same), or is None without any. ``nics`` are the RDMA devices, each with ``name``, ``driver``,
    ``driver_version``, ``firmware`` and ``rate``.
    """
    system = system_facts(root)
    cpus = system["cpus"]
    return {
        "os": system["os"]["name"],
        "kernel": system["kernel"],
        "cpu": f"{cpus['count']} × {cpus['model']}" if cpus["model"] else None,
        "accelerators": _accelerators(root),
        "nics": [
            {
                "name": device["name"],
                "driver": device["driver"],
                "driver_version": device["driver_version"],
                "firmware": device["firmware"],
                "rate": device["ports"][0]["rate"] if device["ports"] else None,
            }
            for device in rdma_devices(root)
        ],
    }


def _accelerators(root: str) -> Accelerators | None:
    _vendor, devices, driver = first_vendor(root)
    if not devices:
        return None
    return {
        "name": devices[0]["name"] or devices[0]["architecture"],
        "count": len(devices),
        "driver": driver["name"],
        "driver_version": driver["version"],
        "firmware": {
            name: version
            for name, version in devices[0]["firmware"].items()
            if version and all(device["firmware"].get(name) == version for device in devices)
        },
    }
