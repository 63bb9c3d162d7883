# SPDX-License-Identifier: GPL-3.0-or-later
"""Network links that went down during a run, by the kernel's port and interface counters."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..contracts import Machine, Status
from ..text.nodes import folded_messages

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
