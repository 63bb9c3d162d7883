# SPDX-License-Identifier: GPL-3.0-or-later
"""The system of a node: kernel, operating system, processors, memory, NUMA."""

from __future__ import annotations

import os
import typing as t

from .files import fields, line, number, text

_FAMILIES = {
    "debian": ("debian", "ubuntu"),
    "rhel": ("rhel", "fedora", "centos", "rocky", "almalinux", "amzn", "ol"),
    "suse": ("suse", "sles", "opensuse"),
    "azure": ("azurelinux",),
}
_BEGINNING = 8192  # of /proc/cpuinfo, which takes long to read on hundreds of processors


def system_facts(root: str) -> dict[str, t.Any]:
    """Return ``hostname``, ``kernel``, ``bios``, ``architecture``, ``os``, ``cpus``, ``memory_bytes`` and ``numa``."""
    return {
        "hostname": line(root, "/proc/sys/kernel/hostname"),
        "kernel": line(root, "/proc/sys/kernel/osrelease"),
        "bios": line(root, "/sys/class/dmi/id/bios_version"),
        "architecture": os.uname().machine,
        "os": operating_system(root),
        "cpus": _cpus(root),
        "memory_bytes": _memory_bytes(root),
        "numa": {
            "nodes": ids_in(line(root, "/sys/devices/system/node/online")),
            "auto_balancing": number(root, "/proc/sys/kernel/numa_balancing"),
        },
    }


def ids_in(ranges: str | None) -> list[int]:
    """Return the numbers of a kernel list such as ``0-3,8``."""
    ids: list[int] = []
    for part in (ranges or "").split(","):
        first, _dash, last = part.partition("-")
        if first.isdigit():
            ids += range(int(first), int(last or first) + 1)
    return ids


def operating_system(root: str) -> dict[str, t.Any]:
    """Return ``name``, ``id``, ``version`` and ``family`` of the system."""
    release = fields(text(root, "/etc/os-release"), "=")
    related = [release.get("ID", ""), *release.get("ID_LIKE", "").split()]
    family = next((name for name, members in _FAMILIES.items() if any(one in members for one in related)), None)
    return {
        "name": release.get("PRETTY_NAME") or release.get("NAME"),
        "id": release.get("ID"),
        "version": release.get("VERSION_ID"),
        "family": family,
    }


def _cpus(root: str) -> dict[str, t.Any]:
    online = ids_in(line(root, "/sys/devices/system/cpu/online"))
    packages = {number(root, f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id") for cpu in online}
    model = fields(text(root, "/proc/cpuinfo", _BEGINNING), ":")
    return {
        "model": model.get("model name"),
        "count": len(online),
        "sockets": len(packages - {None}) or None,
    }


def _memory_bytes(root: str) -> int | None:
    total = fields(text(root, "/proc/meminfo"), ":").get("MemTotal", "").split()
    return int(total[0]) * 1024 if total else None
