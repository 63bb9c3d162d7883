# SPDX-License-Identifier: GPL-3.0-or-later
"""What accelerators said of themselves while they were tested: rows of a table for suspects, and what is usual."""

from __future__ import annotations

import statistics
import typing as t
from collections.abc import Iterable, Mapping, Sequence

from ..isolate.answers import Telemetry
from .readable import NOTHING

COLUMNS = ("Node", "Part", "Clock (MHz)", "Power (W)", "Temperature (°C)", "ECC errors", "PCIe", "Held down by")
_MOST_ROWS = 64


def telemetry_rows(telemetry: Mapping[str, Sequence[Telemetry]], suspects: Iterable[str]) -> list[list[str]]:
    """Return a row of cells for each accelerator of the suspects, and the median of all nodes as the first row.

    None where no node has any accelerators.
    """
    everything = [one for of_node in telemetry.values() for one in of_node]
    if not everything:
        return []
    rows = [["all nodes", "median", *_cells({name: _median(everything, name) for name in _NUMBERS})]]
    rows += [
        [node, one["part"], *_cells(t.cast("Mapping[str, t.Any]", one))]
        for node in dict.fromkeys(suspects)
        for one in telemetry.get(node, ())
    ]
    return rows[:_MOST_ROWS]


_NUMBERS = (
    *("clock", "clock_limit", "power", "power_limit", "temperature", "ecc_corrected", "ecc_uncorrected"),
    *("pcie_speed", "pcie_speed_limit", "pcie_width", "pcie_width_limit"),
)


def _median(of: Sequence[Telemetry], name: str) -> float | None:
    known = [value for one in of if (value := t.cast("Mapping[str, t.Any]", one)[name]) is not None]
    return statistics.median(known) if known else None


def _cells(one: Mapping[str, t.Any]) -> list[str]:
    errors = [
        f"{_number(one[f'ecc_{kind}'])} {kind}"
        for kind in ("corrected", "uncorrected")
        if one[f"ecc_{kind}"] is not None
    ]
    return [
        f"{_number(one['clock'])} of {_number(one['clock_limit'])}",
        f"{_number(one['power'])} of {_number(one['power_limit'])}",
        _number(one["temperature"]),
        ", ".join(errors) or NOTHING,
        _link(one),
        ", ".join(one.get("held_down_by") or []) or NOTHING,
    ]


def _link(one: Mapping[str, t.Any]) -> str:
    """Return a link, and what it could be where it is not that."""
    now, limit = (
        f"{_number(one[f'pcie_speed{which}'])} GT/s × {_number(one[f'pcie_width{which}'])}" for which in ("", "_limit")
    )
    return now if now == limit else f"{now} of {limit}"


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.0f}"
