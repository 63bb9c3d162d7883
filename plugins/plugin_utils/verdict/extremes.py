# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers that no training has, but that a log or a node may say: what computes with the others never meets them."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Iterator

from ..contracts import Sample, Status

# A count up to here is the same as a whole number and as a float.
LARGEST_COUNT = 2**53
# More than any sensor says, in any unit.
_LARGEST_READING = 1e18


def without_extremes(statuses: Iterable[Status]) -> list[Status]:
    """Return what is known of nodes without the settings that are larger than any count, or no number."""
    return [
        {
            **status,
            "trainer": {
                **status["trainer"],
                "settings": {
                    name: [value for value in values if abs(value) <= LARGEST_COUNT]
                    for name, values in status["trainer"]["settings"].items()
                },
            },
        }
        for status in statuses
    ]


def plain_samples(samples: Iterable[Sample]) -> Iterator[Sample]:
    """Yield samples in which a reading that no sensor gives is not known."""
    for sample in samples:
        yield {**sample, "accelerators": [t.cast("t.Any", _plain(reading)) for reading in sample["accelerators"]]}


def _plain(reading: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {
        name: None if isinstance(value, (int, float)) and not abs(value) <= _LARGEST_READING else value
        for name, value in reading.items()
    }
