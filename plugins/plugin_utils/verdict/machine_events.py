# SPDX-License-Identifier: GPL-3.0-or-later
"""What a machine went through in a run: ECC errors, clocks held down, network links that went down."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..contracts import Machine, Sample, Status
from ..text.nodes import folded_messages

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


# Linux, Documentation/ABI/stable/sysfs-class-infiniband and Documentation/ABI/testing/sysfs-class-net.
_WENT_DOWN = re.compile("(?:link_downed|link_error_recovery|carrier_changes)$")
_NAMED = 8


def broken_links(machine: Machine) -> dict[str, int]:
    """Return the counters that show that a link of a machine went down, and by how much they grew.

    After a boot all counters have grown from zero, and say nothing.
    """
    changes = machine["changes"]
    if not changes or changes["booted"]:
        return {}
    return {name: growth for name, growth in changes["counters"].items() if _WENT_DOWN.search(name)}


def broken_links_in_words(statuses: Iterable[Status]) -> list[str]:
    """Return a line for each counter of a link that went down, once for all nodes where it grew by the same."""
    lines = (
        (status["node"], f"{status['node']}: {name} grew by {growth} during the run")
        for status in statuses
        for name, growth in sorted(broken_links(status["machine"]).items())
    )
    return folded_messages(lines)[:_NAMED]
