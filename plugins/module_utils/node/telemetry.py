# SPDX-License-Identifier: GPL-3.0-or-later
"""How hot, how fast and how sound a node's accelerators are at one moment, for samples during a run.

AMD: sysfs of amdgpu (Linux, Documentation/gpu/amdgpu/thermal.rst and ras.rst). NVIDIA: nvidia-smi --query-gpu.
AWS Neuron: the Neuron Sysfs User Guide, which knows of neither temperature nor clock.
"""

from __future__ import annotations

import typing as t

from .inspection.amd import amd_devices
from .inspection.files import fields, names, number, text
from .inspection.tools import ToolError, run_tool

Reading = t.Dict[str, t.Optional[float]]

_PCI = "/sys/bus/pci/devices"
_NVIDIA = "/proc/driver/nvidia/gpus"
_NEURON = ("/sys/class/neuron_device", "/sys/devices/virtual/neuron_device")
_SECONDS = 4.0
_ASKED = ("temperature.gpu", "power.draw", "clocks.sm", "ecc.errors.uncorrected.volatile.total")


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
    """Return what nvidia-smi printed, a line for each GPU; what a GPU cannot say stands there in brackets."""
    rows = (line.split(",") for line in output.splitlines() if line.count(",") == len(_ASKED) - 1)
    return [_reading(*(_number(field) for field in row)) for row in rows]


def _number(field: str) -> float | None:
    try:
        return float(field)
    except ValueError:
        return None


def _neuron(root: str, device: str) -> Reading:
    kinds = (f"{device}/stats/hardware/{kind}_ecc_uncorrected" for kind in ("mem", "sram"))
    counts = [number(root, path) for kind in kinds for path in (f"{kind}/total", kind)]
    known = [count for count in counts if count is not None]
    return _reading(None, None, None, sum(known) if known else None)
