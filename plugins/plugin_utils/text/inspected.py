# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of inspecting a node, in words: its GPUs and their users, RDMA ports, mounts, versions and limits."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping

from ...module_utils.node.rdma_library import MountProblem
from .words import listed

NO_GPU: t.Final = "no GPU"
_SHOWN_PROCESSES = 3
_SHOWN_LINKS = 4
_LONGEST_COMMAND = 80
# The texts of numeric properties; a property not listed reads as its name and each of its values.
_LIMITS = {"power_cap_watts": "power cap {} W", "clock_mhz": "clock {} MHz", "memory_gib": "memory {} GiB"}
_NAMES = {"socket_mtu": "socket", "rdma_mtu": "RDMA"}
# For these, the value alone is enough.
_NAMELESS = frozenset({"kernel", "image", "system"})


def gpus_in_words(gpus: Mapping[str, t.Any]) -> str:
    """Return the number and models of the driver's GPUs: ``8 × AMD Instinct MI300X``."""
    return f"{gpus['count']} × {' and '.join(gpus['models']) or 'GPU'}" if gpus["count"] else NO_GPU


def processes_in_words(processes: Iterable[Mapping[str, t.Any]]) -> str:
    """Return the processes on the GPUs: ``python3 train.py (pid 7, alice)``; only the first if there are many."""
    return listed(map(_process, processes), _SHOWN_PROCESSES)


def _process(process: Mapping[str, t.Any]) -> str:
    owner = f"run {process['run_id']}" if process["run_id"] else process["user"]
    return f"{process['command'][:_LONGEST_COMMAND]} (pid {process['pid']}, {owner})"


def ports_in_words(ports: Iterable[Mapping[str, t.Any]]) -> str:
    """Return the states of RDMA ports: ``bnxt_re3 is DOWN (Disabled)``."""
    return ", ".join(f"{one['device']} is {one['state']} ({one['physical_state']})" for one in ports)


def pcie_links_in_words(links: Iterable[Mapping[str, t.Any]]) -> str:
    """Return the links of devices with what they could be: ``bnxt_re3 has 16 GT/s × 8 of 32 GT/s × 16``."""
    return listed(map(_pcie_link, links), _SHOWN_LINKS)


def _pcie_link(link: Mapping[str, t.Any]) -> str:
    now, most = (
        f"{link[f'pcie_speed{end}'] or '?'} GT/s × {link[f'pcie_width{end}'] or '?'}" for end in ("", "_limit")
    )
    return f"{link['device']} has {now} of {most}"


def properties_in_words(properties: Mapping[str, t.Any]) -> str:
    """Return the properties that all nodes should share: ``power cap 550/700 W, clock 1980 MHz``."""
    return ", ".join(text for name, value in properties.items() for text in _property(name, value)) or "nothing"


def _property(name: str, value: t.Any) -> list[str]:
    if isinstance(value, dict):
        return [gpus_in_words(value)]
    if isinstance(value, int):
        return [f"{value} × {name}"]
    if name in _LIMITS:
        return [_LIMITS[name].format("/".join(map(str, value)))]
    if name in _NAMELESS:
        return [str(one) for one in value]
    return [f"{_NAMES.get(name, name)} {one or '(inbox)'}" for one in value]


def mounts_in_words(problems: Iterable[Mapping[str, str]]) -> str:
    """Return the problems of mounts, each once."""
    return "; ".join(dict.fromkeys(MountProblem(**one).reason for one in problems))


def mounts_fixed_by(problems: Iterable[Mapping[str, str]]) -> str:
    """Return the remedies for mounts: commands, and steps for a person."""
    known = [MountProblem(**one) for one in problems]
    return "; ".join(dict.fromkeys(one.command if one.fixes else f"manual step: {one.command}" for one in known))
