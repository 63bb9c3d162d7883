# SPDX-License-Identifier: GPL-3.0-or-later
"""A CVS training config as far as it could be read; a value that was wrong in itself is None and has been noted."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..config.findings import Findings
from ..config.words import key_path
from ..job.branch import Branch
from ..job.options import RunOptions
from ..job.ranks import Node

ConfigT = t.TypeVar("ConfigT")
OptionsT = t.TypeVar("OptionsT", bound=RunOptions)
BranchT = t.TypeVar("BranchT")


@dataclass(frozen=True)
class CvsReading(t.Generic[ConfigT, OptionsT]):
    """The section ``config`` and the run around it.

    ``given`` is the section as it stands in the file, ``nodes`` are in rank order.
    """

    config: ConfigT
    given: Mapping[str, t.Any]
    mode: str
    nodes: Sequence[Node]
    options: OptionsT
    findings: Findings

    @property
    def multi_node(self) -> bool:
        """Return whether one job runs over all nodes, rather than one on each."""
        return self.mode == "multi_node"

    @property
    def nnodes(self) -> int:
        """Return how many nodes one job has."""
        return len(self.nodes) if self.multi_node else 1

    def is_given(self, name: str) -> bool:
        """Return whether the file has a value under this key, right or wrong."""
        return self.given.get(name) is not None


@dataclass(frozen=True)
class CvsBranchReading(CvsReading[ConfigT, OptionsT], t.Generic[ConfigT, OptionsT, BranchT]):
    """The same with the branch that the run uses."""

    branch: Branch
    parameters: BranchT

    def gives(self, name: str) -> bool:
        """Return whether the branch has a value under this key, right or wrong."""
        return self.branch.values.get(name) is not None

    def key(self, name: str) -> str:
        """Return the key path of a value of the branch."""
        return key_path(self.branch.path, name)
