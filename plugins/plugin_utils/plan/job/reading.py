# SPDX-License-Identifier: GPL-3.0-or-later
"""A training config as far as it could be read; invalid values are None and already reported."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...text.words import key_path, shown
from ..config.findings import Findings
from ..config.kinds import Kind, Whole
from ..config.overrides import OVERRIDES
from .options import ConfigOptions
from .ranks import Node, master_address

ConfigT = t.TypeVar("ConfigT")
OptionsT = t.TypeVar("OptionsT", bound=ConfigOptions)
COUNT = Whole(1, grouped=True)


@dataclass(frozen=True)
class ConfigReading(t.Generic[ConfigT, OptionsT]):
    """A typed config and its run. ``nodes`` are in rank order."""

    config: ConfigT
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

    def get(self, path: str) -> t.Any:
        """Return the value at a path; None if it, or its section, is missing or invalid.

        Raise AttributeError if no key has this path.
        """
        return value_at(self.config, path)

    def key(self, path: str) -> str:
        """Return the key path in the file of the value at a path."""
        return path

    def master_address(self, path: str) -> str:
        """Return the rendezvous address of a job, which the config may set at a path.

        It is localhost if there are no nodes.
        """
        if not self.multi_node or not self.nodes:
            return "localhost"
        return master_address(self.get(path), self.nodes, self.key(path), self.findings)

    def fault(self, path: str, message: str, remedy: str) -> None:
        """Report a fault in the value at a path."""
        self.findings.fault(self.key(path), self.get(path), message, remedy)

    def warn(self, path: str, message: str, remedy: str) -> None:
        """Report a warning about the value at a path."""
        self.findings.warn(self.key(path), self.get(path), message, remedy)


@dataclass(frozen=True)
class OverridesReading(ConfigReading[ConfigT, OptionsT]):
    """A file that refers to a config in Python; only the values that replace its own are known.

    ``overrides`` are these values, each by its path.
    """

    overrides: Mapping[str, t.Any]

    def where(self, path: str) -> str:
        """Return the path in the file of a value that replaces the config's."""
        return key_path(OVERRIDES, *path.split("."))

    def given(self, path: str, kind: Kind = COUNT) -> t.Any:
        """Return the value that replaces the config's at a path, None if there is none, or it is wrong."""
        value = self.overrides.get(path)
        if value is None:
            return None
        try:
            return kind.read(value)
        except ValueError as error:
            message = f"{path} is {shown(value)}, which {error}."
            self.findings.fault(self.where(path), value, message, f"Give {kind}.")
            return None

    def text(self, path: str) -> str:
        """Return the value that replaces the config's at a path as text, empty if there is none."""
        value = self.overrides.get(path)
        return value if isinstance(value, str) else ""


def value_at(part: t.Any, path: str) -> t.Any:
    """Return the attribute at a dotted path; None if it, or one on the way, is None."""
    for name in path.split("."):
        part = None if part is None else getattr(part, name)
    return part
