# SPDX-License-Identifier: GPL-3.0-or-later
"""How hot, how fast and how sound a node's accelerators are at one moment, for samples during a run.

AMD: sysfs of amdgpu (Linux, Documentation/gpu/amdgpu/thermal.rst and ras.rst). NVIDIA: nvidia-smi --query-gpu.
AWS Neuron: the Neuron Sysfs User Guide, which knows of neither temperature nor clock; its driver 2.31 moved files.
"""

from __future__ import annotations

import os
import typing as t
from collections.abc import Iterator

from .inspection.amd import amd_devices
from .inspection.files import below, fields, names, number, text
from .inspection.tools import ToolError, run_tool

if t.TYPE_CHECKING:
    from .contracts import Reading

_PCI = "/sys/bus/pci/devices"
_NVIDIA = "/proc/driver/nvidia/gpus"
_NEURON = ("/sys/class/neuron_device", "/sys/devices/virtual/neuron_device")
_NEURON_ERRORS = ("mem_ecc_uncorrected", "sram_ecc_uncorrected")
_NEURON_DEPTH = 4
_SECONDS = 4.0
_MOST_GPUS = 64
_ASKED = ("index", "temperature.gpu", "power.draw", "clocks.sm", "ecc.errors.uncorrected.volatile.total")


def readings(root: str = "/") -> list[Reading]:
    """Return one reading for each accelerator, in the order of the driver; none where nothing can be read.

    ``temperature`` in degrees Celsius (the hottest sensor), ``power`` in W, ``clock`` of the compute units in MHz,
    ``ecc_uncorrected`` errors that the driver has counted; None is not known.
    """
    boards = sorted({device["pci_address"] for device in amd_devices(root)})
    if boards:
        return [_amd(root, f"{_PCI}/{board}") for board in boards]
    if names(root, _NVIDIA):
        try:
            command = ["nvidia-smi", f"--query-gpu={','.join(_ASKED)}", "--format=csv,noheader,nounits"]
            return nvidia_readings(run_tool(command, _SECONDS)[0])
        except ToolError:
            return []
    folder = next((folder for folder in _NEURON if names(root, folder)), "")
    return [_neuron(root, f"{folder}/{name}") for name in names(root, folder)] if folder else []


def _reading(
    temperature: float | None, power: float | None, clock: float | None, ecc_uncorrected: float | None
) -> Reading:
    return {"temperature": temperature, "power": power, "clock": clock, "ecc_uncorrected": ecc_uncorrected}


def _amd(root: str, board: str) -> Reading:
    sensors = next((f"{board}/hwmon/{name}" for name in names(root, f"{board}/hwmon")), "")

    def sensor(name: str, scale: float) -> float | None:
        value = number(root, f"{sensors}/{name}")
        return None if value is None else value / scale

    temperatures = [sensor(f"temp{place}_input", 1e3) for place in (1, 2, 3)]
    counted = [fields(text(root, f"{board}/ras/{name}"), ":").get("ue", "") for name in names(root, f"{board}/ras")]
    errors = [int(count) for count in counted if count.isdigit()]
    average, power = sensor("power1_average", 1e6), sensor("power1_input", 1e6)
    return _reading(
        max((value for value in temperatures if value is not None), default=None),
        power if average is None else average,
        sensor("freq1_input", 1e6),
        sum(errors) if errors else None,
    )


def nvidia_readings(output: str) -> list[Reading]:
    """Return what nvidia-smi printed, a line for each GPU; what a GPU cannot say stands there in brackets.

    In the place of a GPU that is lost stands a sentence, and so a reading of which nothing is known.
    """
    rows = (line.split(",") for line in output.splitlines() if line.count(",") == len(_ASKED) - 1)
    found = {int(index): values for index, *values in rows if index.isdigit()}
    nothing = [""] * (len(_ASKED) - 1)
    last = max(found, default=-1)
    return [_reading(*map(_number, found.get(index, nothing))) for index in range(min(last + 1, _MOST_GPUS))]


def _number(field: str) -> float | None:
    try:
        return float(field)
    except ValueError:
        return None


def _neuron(root: str, device: str) -> Reading:
    known = [count for count in _neuron_errors(root, device, _NEURON_DEPTH) if count is not None]
    return _reading(None, None, None, sum(known) if known else None)


def _neuron_errors(root: str, folder: str, depth: int) -> Iterator[int | None]:
    """Yield the counts of errors below a folder of a device, whichever folder its driver has them in."""
    for name in names(root, folder):
        path = f"{folder}/{name}"
        if name in _NEURON_ERRORS:
            total = number(root, f"{path}/total")
            yield number(root, path) if total is None else total
        elif depth and not name.startswith("neuron_core") and not os.path.islink(below(root, path)):
            yield from _neuron_errors(root, path, depth - 1)
