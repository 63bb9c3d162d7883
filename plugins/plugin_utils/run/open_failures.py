# SPDX-License-Identifier: GPL-3.0-or-later
"""The failures in a node's log that its run has not survived."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable

from ...module_utils.logs.failures import few_of_each_class
from ...module_utils.logs.signature import Failure

# Nodes are read at different moments: the first advance may show steps from before a failure, and so may the second if
# a rank still prints while another has failed.
_ADVANCES_TO_SURVIVE = 3


class _Read(t.NamedTuple):
    failure: Failure
    advances: int


class OpenFailures:
    """Collects failures as they are read, and separates the ones that the training survived.

    Healthy logs contain lines that look like failures: a missing package that is not needed, a retried address, an
    absent device. If steps follow, such a line is not the cause of what happens later.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._found: list[_Read] = []
        self._survived: list[Failure] = []
        self._advances = 0

    @property
    def survived(self) -> list[Failure]:
        """Return, in order, the first three failures of each class that the training survived."""
        return list(self._survived)

    def add(self, failures: Iterable[Failure], survived: Iterable[Failure] = ()) -> list[Failure]:
        """Add a log's failures, and return the open ones: the first three of each class, in order."""
        self._add_survived(survived)
        self._found += [_Read(failure, self._advances) for failure in failures]
        few = {id(failure) for failure in few_of_each_class(read.failure for read in self._found)}
        self._found = [read for read in self._found if id(read.failure) in few]
        return [read.failure for read in self._found]

    def advance(self) -> None:
        """Note that the steps of the run went on since the last call."""
        self._advances += 1
        is_open = [self._advances - read.advances < _ADVANCES_TO_SURVIVE for read in self._found]
        self._add_survived(read.failure for read, still in zip(self._found, is_open, strict=True) if not still)
        self._found = [read for read, still in zip(self._found, is_open, strict=True) if still]

    def _add_survived(self, failures: Iterable[Failure]) -> None:
        self._survived = few_of_each_class([*self._survived, *failures])
