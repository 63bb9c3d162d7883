# SPDX-License-Identifier: GPL-3.0-or-later
"""What each probe measures: the names of its readings, and which probes test GPUs."""

from __future__ import annotations

from collections.abc import Iterable

from ...module_utils.node.probes.known import PROBES, Probe

# Besides the one that stands for the whole probe.
_MORE = {
    "disk": ("disk_read",),
    "fio": ("fio_read", "fio_write_cached", "fio_read_cached"),
    "tcp": ("tcp_latency",),
    "torch": ("torch_memory", "torch_to_gpu", "torch_from_gpu"),
    "torch_pairs": ("torch_send_recv",),
    "torch_groups": ("torch_groups_all_reduce_small", "torch_groups_all_to_all", "torch_groups_all_to_all_small"),
}
# These take as long in groups of any size. With little data, latency grows with every node.
OF_SCALE = ("torch_groups_all_reduce", "torch_groups_all_to_all", "tcp_groups")
OF_GPUS = frozenset({"torch", "nccl_tests", "dcgm", "rvs", "agfhc", "torch_pairs", "nccl_tests_pairs", "torch_groups"})


def readings_of(probe: Probe, units: Iterable[str]) -> set[str]:
    """Return the names of all readings of a probe, given the units that it measures."""
    return {probe.reading, *_MORE.get(probe.name, ()), *(probe.reading.format(unit=unit) for unit in units)}


def probe_of(reading: str) -> str:
    """Return the name of the probe that has a reading of this name; empty if there is none."""
    unit = reading.partition(" ")[2]
    return next((probe.name for probe in PROBES.values() if reading in readings_of(probe, [unit])), "")
