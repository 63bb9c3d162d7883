# SPDX-License-Identifier: GPL-3.0-or-later
"""Events on a machine during a run: ECC errors, reduced clocks, network links that went down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ...module_utils.node.machine_changes import broken_links
from ..contracts import Sample, Status
from ..text.nodes import folded_messages

_ERRORS = ("ecc_corrected", "ecc_uncorrected")


@dataclass
class AcceleratorsSeen:
    """The events of a node's accelerators, by accelerator number, in so many ``samples``.

    ``errors`` has the number of errors since the first sample, by name; ``held_down`` the number of samples with
    reduced clocks, by reason.
    """

    samples: int = 0
    errors: dict[str, Counter[int]] = field(default_factory=lambda: {name: Counter() for name in _ERRORS})
    held_down: dict[str, Counter[int]] = field(default_factory=dict)


def accelerators_seen(samples: Iterable[Sample]) -> AcceleratorsSeen:
    """Return the sums over a node's samples, which are in order.

    A count below the previous one was reset, and counts from zero.
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


_NAMED = 8


def broken_links_in_words(statuses: Iterable[Status]) -> list[str]:
    """Return a line for each counter of a link that went down; nodes where it grew equally share one."""
    lines = (
        (status["node"], f"{status['node']}: {name} grew by {growth} during the run")
        for status in statuses
        for name, growth in sorted(broken_links(status["machine"]["changes"]).items())
    )
    return folded_messages(lines)[:_NAMED]
