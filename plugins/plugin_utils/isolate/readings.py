# SPDX-License-Identifier: GPL-3.0-or-later
"""What probes measure: the names of their readings."""

from __future__ import annotations

from collections.abc import Iterable

from ...module_utils.node.probes.known import PROBES, Probe

OF_SCALE = tuple(reading for probe in PROBES.values() for reading in probe.of_any_size)
OF_TRAINING = frozenset(reading for probe in PROBES.values() for reading in probe.of_training)
OF_GPUS = frozenset(probe.name for probe in PROBES.values() if probe.of_gpus)


def readings_of(probe: Probe, units: Iterable[str]) -> set[str]:
    """Return the names of all readings of a probe, given the units that it measures."""
    return {probe.reading, *probe.more_readings, *(probe.reading.format(unit=unit) for unit in units)}


def one_way_readings_of(probe: Probe, units: Iterable[str]) -> set[str]:
    """Return the names of those readings of a probe that are of one direction between two nodes."""
    return {name.format(unit=unit) for name in probe.one_way for unit in (*units, "")}


def probe_of(reading: str) -> str:
    """Return the name of the probe that has a reading of this name; empty if there is none."""
    unit = reading.partition(" ")[2]
    return next((probe.name for probe in PROBES.values() if reading in readings_of(probe, [unit])), "")
