# SPDX-License-Identifier: GPL-3.0-or-later
"""The failures in a node's log that its run has not survived."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable

from ...module_utils.logs.failures import few_of_each_class

# Nodes are read at different moments: the first advance may show steps from before a failure, and so may the second
# where a rank still prints while another has failed.
_ADVANCES_TO_SURVIVE = 3


class OpenFailures:
    """Failures as they are read, without those after which the training went on.

    Healthy logs hold lines that read like failures: a package that is missing but not needed, an address that is tried
    again, a device that is not there. Where steps go by afterwards, such a line is no cause of what happens later.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._found: list[dict[str, t.Any]] = []
        self._advances = 0

    def add(self, failures: Iterable[dict[str, t.Any]]) -> list[dict[str, t.Any]]:
        """Add what a log tells, and return what is open: the first three failures of each class, in their order."""
        now = [{**failure, "advances": self._advances} for failure in failures]
        self._found = few_of_each_class([*self._found, *now])
        return [{name: failure[name] for name in failure if name != "advances"} for failure in self._found]

    def advance(self) -> None:
        """Note that the steps of the run went on since the last call."""
        self._advances += 1
        self._found = [
            failure for failure in self._found if self._advances - failure["advances"] < _ADVANCES_TO_SURVIVE
        ]
