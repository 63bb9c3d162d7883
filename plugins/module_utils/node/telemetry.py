# SPDX-License-Identifier: GPL-3.0-or-later
"""Telemetry of accelerators under load: read once a second, keeping the moment of most power.

At that moment the clock and the PCIe link are at work, and anything that holds the clock down shows. An idle GPU saves
power.
"""

from __future__ import annotations

import threading
import typing as t

from .inspection.gpus import first_vendor
from .inspection.sensors import pcie_link, readings

if t.TYPE_CHECKING:
    from .contracts import Telemetry

_SECONDS = 1.0
_PATIENCE_SECONDS = 20.0
_OF_READING = (
    *("temperature", "power", "power_limit", "clock", "clock_limit", "ecc_corrected", "ecc_uncorrected"),
    "held_down_by",
)


class Watch:
    """Watches the accelerators of this node between ``with`` and its end; ``found`` has the readings of each."""

    def __init__(self, root: str = "/", seconds: float = _SECONDS, patience: float = _PATIENCE_SECONDS) -> None:
        """Read below a root folder, so often, and wait so long for a look that is under way at the end."""
        self._root, self._seconds, self._patience = root, seconds, patience
        self._seen: list[list[Telemetry]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watch:
        """Begin to watch, if there are accelerators."""
        self._addresses = sorted({str(device["pci_address"]) for device in first_vendor(self._root)[1]})
        if self._addresses:
            self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Watch no longer."""
        self._over.set()
        if self._addresses:
            # A look that never ends, for example at a driver that hangs, ends with this process.
            self._thread.join(self._patience)

    def found(self) -> list[Telemetry]:
        """Return the readings of each accelerator at the moment of most power, and its highest temperature."""
        return [busiest(list(of_one)) for of_one in zip(*list(self._seen))]

    def _watch(self) -> None:
        while not self._over.is_set():
            if seen := self._look():
                self._seen.append(seen)
            self._over.wait(self._seconds)

    def _look(self) -> list[Telemetry]:
        said = readings(self._root)
        if len(said) != len(self._addresses):
            return []
        return [
            t.cast(
                "Telemetry",
                {
                    "part": f"GPU {place}",
                    **{name: t.cast("t.Mapping[str, t.Any]", reading)[name] for name in _OF_READING},
                    **pcie_link(self._root, address),
                },
            )
            for place, (address, reading) in enumerate(zip(self._addresses, said))
        ]


def busiest(seen: t.Sequence[Telemetry]) -> Telemetry:
    """Return the moment of most power of one accelerator, with the highest temperature of all."""
    found = t.cast("Telemetry", dict(max(seen, key=lambda one: one["power"] or 0.0)))
    found["temperature"] = max((one["temperature"] for one in seen if one["temperature"] is not None), default=None)
    return found
