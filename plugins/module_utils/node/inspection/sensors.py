# SPDX-License-Identifier: GPL-3.0-or-later
"""The readings of a node's accelerators at one moment: how hot, how fast, how full and how healthy they are.

AMD: sysfs of amdgpu (Linux, Documentation/gpu/amdgpu/thermal.rst, driver-misc.rst and ras.rst), which does not say why
a clock is lower. NVIDIA: nvidia-smi --query-gpu, whose fields nvidia-smi --help-query-gpu lists; the bits of
``clocks_event_reasons.active`` are NVML's (nvmlClocksEventReasons). AWS Neuron: the Neuron Sysfs User Guide, which has
neither temperature nor clock; its driver 2.31 moved files. PCIe links: Linux, Documentation/ABI/testing/sysfs-bus-pci.
An idle GPU lowers the speed of its link, so only the value under load means anything.
"""

from __future__ import annotations

import os
import re
import typing as t
from collections.abc import Iterator, Mapping

from .amd import amd_devices
from .files import below, fields, line, names, number, text
from .tools import ToolError, run_tool

if t.TYPE_CHECKING:
    from ..contracts import Reading

if t.TYPE_CHECKING:
    from ..contracts import PcieLink


_PCI = "/sys/bus/pci/devices"
_NVIDIA = "/proc/driver/nvidia/gpus"
_NEURON = ("/sys/class/neuron_device", "/sys/devices/virtual/neuron_device")
_NEURON_ERRORS = ("mem_ecc_uncorrected", "sram_ecc_uncorrected")
_NEURON_DEPTH = 4
_SECONDS = 4.0
_MOST_GPUS = 64
_MEBIBYTE = 1 << 20
# The fields of nvidia-smi by our names, with the names in older drivers; before R535 events were called throttles.
_ASKED: Mapping[str, t.Tuple[str, ...]] = {
    "index": ("index",),
    "temperature": ("temperature.gpu",),
    "power": ("power.draw",),
    "power_limit": ("power.limit",),
    "clock": ("clocks.sm",),
    "clock_limit": ("clocks.max.sm",),
    "utilization": ("utilization.gpu",),
    "memory_used": ("memory.used",),
    "memory_total": ("memory.total",),
    "ecc_corrected": ("ecc.errors.corrected.volatile.total",),
    "ecc_uncorrected": ("ecc.errors.uncorrected.volatile.total",),
    "ecc_uncorrected_ever": ("ecc.errors.uncorrected.aggregate.total",),
    "held_down_by": ("clocks_event_reasons.active", "clocks_throttle_reasons.active"),
}
_UNKNOWN_FIELD = re.compile(r'Field "([\w.]+)" is not a valid field')
_MOST_TRIES = 4
_HARDWARE = 0x8
_REASONS = {
    0x1: "idle",
    0x2: "application clocks",
    0x4: "power cap",
    0x10: "sync boost",
    0x20: "thermal",
    0x40: "thermal",
    0x80: "power brake",
    0x100: "display clocks",
}


def readings(root: str = "/") -> list[Reading]:
    """Return the result of `measured`; an empty one if nothing can be read."""
    try:
        return measured(root)
    except ToolError:
        return []


def measured(root: str = "/") -> list[Reading]:
    """Return one reading for each accelerator, in the order of the driver; ToolError if a tool fails.

    ``temperature`` in degrees Celsius (the hottest sensor), ``power`` and ``power_limit`` in W, ``clock`` of the
    compute units and its upper limit (``clock_limit``) in MHz, ``utilization`` in percent, ``memory_used`` and
    ``memory_total`` in bytes. ``ecc_corrected`` and ``ecc_uncorrected`` count the errors since the driver was loaded,
    ``ecc_uncorrected_ever`` those over the board's life. ``held_down_by`` says why the clock is lower than it could be,
    in words (``power cap``, ``thermal``, ``idle`` …). None means not known.
    """
    boards = sorted({device["pci_address"] for device in amd_devices(root)})
    if boards:
        return [_amd(root, f"{_PCI}/{board}") for board in boards]
    if names(root, _NVIDIA):
        return _nvidia()
    folder = next((folder for folder in _NEURON if names(root, folder)), "")
    return [_neuron(root, f"{folder}/{name}") for name in names(root, folder)] if folder else []


def _reading(**known: t.Any) -> Reading:
    """Return a reading with these values; the others are not known."""
    reading: dict[str, t.Any] = {name: known.get(name) for name in _ASKED if name != "index"}
    return t.cast("Reading", reading)


def _amd(root: str, board: str) -> Reading:
    sensors = next((f"{board}/hwmon/{name}" for name in names(root, f"{board}/hwmon")), "")

    def sensor(name: str, scale: float) -> float | None:
        value = number(root, f"{sensors}/{name}")
        return None if value is None else value / scale

    def of_board(name: str) -> float | None:
        value = number(root, f"{board}/{name}")
        return None if value is None else float(value)

    temperatures = [sensor(f"temp{place}_input", 1e3) for place in (1, 2, 3)]
    errors = [fields(text(root, f"{board}/ras/{name}"), ":") for name in names(root, f"{board}/ras")]
    average, power = sensor("power1_average", 1e6), sensor("power1_input", 1e6)
    # A line for each level: "1: 2100Mhz *".
    levels = re.findall(r"\b(\d+)\s?[Mm][Hh]z", text(root, f"{board}/pp_dpm_sclk") or "")
    return _reading(
        temperature=max((value for value in temperatures if value is not None), default=None),
        power=power if average is None else average,
        power_limit=sensor("power1_cap", 1e6),
        clock=sensor("freq1_input", 1e6),
        clock_limit=max(map(float, levels), default=None),
        utilization=of_board("gpu_busy_percent"),
        memory_used=of_board("mem_info_vram_used"),
        memory_total=of_board("mem_info_vram_total"),
        ecc_corrected=_total(errors, "ce"),
        ecc_uncorrected=_total(errors, "ue"),
    )


def _total(errors: list[dict[str, str]], kind: str) -> float | None:
    counts = [int(counted[kind]) for counted in errors if counted.get(kind, "").isdigit()]
    return float(sum(counts)) if counts else None


def _nvidia() -> list[Reading]:
    """Return nvidia-smi's values. A field that it does not know is queried by its older name, or left out."""
    asked, problem = dict(_ASKED), ""
    for _try in range(_MOST_TRIES):
        fields_asked = {name: known[0] for name, known in asked.items() if known}
        command = ["nvidia-smi", f"--query-gpu={','.join(fields_asked.values())}", "--format=csv,noheader,nounits"]
        try:
            return nvidia_readings(run_tool(command, _SECONDS)[0], list(fields_asked))
        except ToolError as error:
            problem = str(error)
        refused = _UNKNOWN_FIELD.search(problem)
        if not refused:
            break
        asked = {name: known[1:] if refused.group(1) in known[:1] else known for name, known in asked.items()}
    raise ToolError(problem)


def nvidia_readings(output: str, asked: t.Sequence[str] = tuple(_ASKED)) -> list[Reading]:
    """Return nvidia-smi's values of the ``asked`` fields, a line for each GPU; None if it has no value.

    For a lost GPU, nvidia-smi prints a sentence in place of the values; the result is a reading without values.
    """
    rows = (line.split(",") for line in output.splitlines() if line.count(",") == len(asked) - 1)
    found = {int(index): dict(zip(asked[1:], values)) for index, *values in rows if index.isdigit()}
    last = max(found, default=-1)
    return [_nvidia_reading(found.get(index, {})) for index in range(min(last + 1, _MOST_GPUS))]


def _nvidia_reading(printed: dict[str, str]) -> Reading:
    known: dict[str, t.Any] = {name: _number(value) for name, value in printed.items() if name != "held_down_by"}
    for name in ("memory_used", "memory_total"):
        known[name] = known[name] * _MEBIBYTE if known.get(name) is not None else None
    return _reading(**known, held_down_by=_reasons(printed.get("held_down_by", "")))


def _reasons(printed: str) -> list[str] | None:
    """Return the meaning of a mask such as 0x0000000000000004 in words; None if it is not a mask."""
    try:
        mask = int(printed.strip(), 16)
    except ValueError:
        return None
    words = dict.fromkeys(word for bit, word in _REASONS.items() if mask & bit)
    # The hardware's slowdown comes with its reason, if that is known.
    slowed = ["hardware slowdown"] if mask & _HARDWARE and not mask & 0xC0 else []
    return [*words, *slowed]


def _number(field: str) -> float | None:
    try:
        return float(field)
    except ValueError:
        return None


def _neuron(root: str, device: str) -> Reading:
    known = [count for count in _neuron_errors(root, device, _NEURON_DEPTH) if count is not None]
    return _reading(ecc_uncorrected=float(sum(known)) if known else None)


def _neuron_errors(root: str, folder: str, depth: int) -> Iterator[int | None]:
    """Yield the counts of errors below a folder of a device, whichever folder its driver has them in."""
    for name in names(root, folder):
        path = f"{folder}/{name}"
        if name in _NEURON_ERRORS:
            total = number(root, f"{path}/total")
            yield number(root, path) if total is None else total
        elif depth and not name.startswith("neuron_core") and not os.path.islink(below(root, path)):
            yield from _neuron_errors(root, path, depth - 1)


def pcie_link(root: str, address: str) -> PcieLink:
    """Return the link of the device at a PCI address: GT/s of each lane, and lanes; None if unknown."""
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
