# SPDX-License-Identifier: GPL-3.0-or-later
"""What the samples of a node's accelerators add up to: new ECC errors, and how often something held the clocks down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..contracts import Sample

_ERRORS = ("ecc_corrected", "ecc_uncorrected")


@dataclass
class AcceleratorsSeen:
    """What was seen of a node's accelerators, by their numbers, in so many ``samples``.

    ``errors`` are how many errors were counted since the first sample, by name; ``held_down`` in how many samples each
    reason held the clocks down.
    """

    samples: int = 0
    errors: dict[str, Counter[int]] = field(default_factory=lambda: {name: Counter() for name in _ERRORS})
    held_down: dict[str, Counter[int]] = field(default_factory=dict)


def accelerators_seen(samples: Iterable[Sample]) -> AcceleratorsSeen:
    """Return what the samples of a node, in their order, add up to.

    A count that is lower than the one before was set back, and counts from zero.
    """
    seen = AcceleratorsSeen()
    last: dict[tuple[str, int], float] = {}
    for sample in samples:
        seen.samples += 1
        for number, reading in enumerate(sample["accelerators"]):
            for name in _ERRORS:
                count = reading.get(name)
                if not isinstance(count, (int, float)):
                    continue
                before = last.get((name, number), count)
                seen.errors[name][number] += int(count - before if count >= before else count)
                last[name, number] = count
            for reason in reading.get("held_down_by") or ():
                seen.held_down.setdefault(reason, Counter())[number] += 1
    return seen
