# SPDX-License-Identifier: GPL-3.0-or-later
"""A CVS training config as far as it could be read; a value that was wrong in itself is None and has been noted."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

from ..config.words import key_path
from ..job.branch import Branch
from ..job.reading import ConfigReading, ConfigT, OptionsT, value_at

BranchT = t.TypeVar("BranchT")


@dataclass(frozen=True)
class CvsReading(ConfigReading[ConfigT, OptionsT]):
    """The section ``config``, whose values have paths that begin with it; ``given`` is what stands in the file."""

    given: Mapping[str, t.Any]

    def get(self, path: str) -> t.Any:
        """Return the value under a path, None where it, or the section that it stands in, is missing or wrong."""
        return value_at(self, path)

    def is_given(self, name: str) -> bool:
        """Return whether the file has a value under this key, right or wrong."""
        return self.given.get(name) is not None


@dataclass(frozen=True)
class CvsBranchReading(CvsReading[ConfigT, OptionsT], t.Generic[ConfigT, OptionsT, BranchT]):
    """The same with the branch that the run uses, whose values have paths that begin with their keys."""

    branch: Branch
    parameters: BranchT

    def get(self, path: str) -> t.Any:
        """Return the value under a path, None where it, or the section that it stands in, is missing or wrong."""
        return super().get(path) if _is_of_config(path) else value_at(self.parameters, path)

    def key(self, path: str) -> str:
        """Return the key path in the file of a value under a path."""
        return path if _is_of_config(path) else key_path(self.branch.path, path)

    def gives(self, name: str) -> bool:
        """Return whether the branch has a value under this key, right or wrong."""
        return self.branch.values.get(name) is not None

    def warn_of_no_effect(self, name: str, reason: str, remedy: str) -> None:
        """Note a key of the branch that has no effect."""
        self.findings.warn(self.key(name), self.branch.values[name], f"{name} has no effect: {reason}.", remedy)


def _is_of_config(path: str) -> bool:
    return path.startswith("config.")
