# SPDX-License-Identifier: GPL-3.0-or-later
"""A CVS training config as far as it could be read; invalid values are None and already reported."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

from ....text.words import key_path
from ...job.job import Branch
from ...job.reading import ConfigReading, ConfigT, OptionsT, value_at

BranchT = t.TypeVar("BranchT")


@dataclass(frozen=True)
class CvsReading(ConfigReading[ConfigT, OptionsT]):
    """The section ``config``, with value paths that start with ``config``; ``given`` is the section as in the file."""

    given: Mapping[str, t.Any]

    def get(self, path: str) -> t.Any:
        """Return the value at a path; None if it, or its section, is missing or invalid."""
        return value_at(self, path)

    def is_given(self, name: str) -> bool:
        """Return whether the file has a value for this key, valid or not."""
        return self.given.get(name) is not None


@dataclass(frozen=True)
class CvsBranchReading(CvsReading[ConfigT, OptionsT], t.Generic[ConfigT, OptionsT, BranchT]):
    """The same with the run's branch, whose value paths start with their keys."""

    branch: Branch
    parameters: BranchT

    def get(self, path: str) -> t.Any:
        """Return the value at a path; None if it, or its section, is missing or invalid."""
        return super().get(path) if _is_of_config(path) else value_at(self.parameters, path)

    def key(self, path: str) -> str:
        """Return the key path in the file of the value at a path."""
        return path if _is_of_config(path) else key_path(self.branch.path, path)

    def gives(self, name: str) -> bool:
        """Return whether the branch has a value for this key, valid or not."""
        return self.branch.values.get(name) is not None

    def warn_of_no_effect(self, name: str, reason: str, remedy: str) -> None:
        """Warn of a key of the branch that has no effect."""
        self.findings.warn(self.key(name), self.branch.values[name], f"{name} has no effect: {reason}.", remedy)


def _is_of_config(path: str) -> bool:
    return path.startswith("config.")
