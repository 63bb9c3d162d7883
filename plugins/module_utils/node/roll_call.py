# SPDX-License-Identifier: GPL-3.0-or-later
"""The roll-call of a node before it is tested: its GPUs and RDMA ports, and who else uses its GPUs and processors."""

from __future__ import annotations

import os
import time
import typing as t

from .inspection.gpus import gpu_facts
from .inspection.processes import processes, processor_seconds
from .inspection.rdma import rdma_devices
from .probes.ib_write_bw.probe import adapters

if t.TYPE_CHECKING:
    from .contracts import Node, Present, Process

# A process that keeps less than this share of a core busy disturbs no test.
_BUSY = 0.5
_MOST = 8


def roll_call(node: Node, run_id: str, root: str = "/", seconds: float = 0.5) -> Present:
    """Return the GPUs and ports that are present, and the processes of others, which it watches for some seconds.

    ``gpus`` are addresses on the PCI bus, and ``on_bus`` is how many there are there, with or without a driver.
    ``ports`` belong to the RDMA devices that a training would use. ``on_gpus`` are processes on GPUs, None if that
    cannot be found out, ``busy`` those that keep processors busy, with their ``cores``, the busiest first;
    ``busy_cores`` is the sum of all such processes, and ``cores`` the processors that there are.
    """
    gpus = gpu_facts(root)
    devices = rdma_devices(root)
    used = adapters(node["env"].get("NCCL_IB_HCA", ""), [device["name"] for device in devices])
    busy = _busy(root, seconds)
    seen = {process["pid"]: process for process in _of_others(run_id, processes(root, busy))}
    busiest = sorted(seen, key=lambda pid: -busy[pid])
    on_gpus = gpus["processes"]
    return {
        "gpus": [device["pci_address"] or str(place) for place, device in enumerate(gpus["devices"])],
        "on_bus": gpus["on_bus"],
        "ports": {
            f"{device['name']}/{port['port']}": {"state": port["state"], "rate": port["rate"], "model": device["model"]}
            for device in devices
            if device["name"] in used
            for port in device["ports"]
        },
        "on_gpus": None if on_gpus is None else _of_others(run_id, on_gpus)[:_MOST],
        "busy": [t.cast("Process", {**seen[pid], "cores": round(busy[pid], 1)}) for pid in busiest[:_MOST]],
        "busy_cores": round(sum(busy[pid] for pid in seen), 1),
        "cores": os.cpu_count() or 1,
    }


def _busy(root: str, seconds: float) -> dict[int, float]:
    """Return by process how many cores it keeps busy, if that is enough to disturb a test."""
    began, before = time.monotonic(), processor_seconds(root)
    time.sleep(seconds)
    after, passed = processor_seconds(root), time.monotonic() - began
    cores = {pid: (after[pid] - before[pid]) / passed for pid in after.keys() & before.keys()}
    return {pid: used for pid, used in cores.items() if used >= _BUSY and pid != os.getpid()}


def _of_others(run_id: str, found: list[dict[str, t.Any]]) -> list[Process]:
    return [t.cast("Process", one) for one in found if one["run_id"] != run_id]
