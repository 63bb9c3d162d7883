# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the few keys of an experiment's module that a plan needs, by backend."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

from ....text.words import key_path, shown
from ...config.field_types import OneLine
from ...config.findings import Findings
from ...config.kinds import Kind, OneOf, Real, Switch, Whole
from .reading import value_at

COUNT = Whole(1, strict=True)
INTEGER = Whole(strict=True)
POSITIVE = Real(0, above=True, strict=True)
FLAG = Switch()
TEXT = OneLine()


@dataclass(frozen=True)
class Keys:
    """The values of a module by key, dots between parts, and the path of the section that they are in."""

    values: Mapping[str, t.Any]
    path: str
    findings: Findings

    def where(self, key: str) -> str:
        """Return the path of a key in the file."""
        return key_path(self.path, *key.split("."))

    def gives(self, key: str) -> bool:
        """Return whether a key has a value."""
        return value_at(self.values, key) is not None

    def get(self, key: str, kind: Kind, default: t.Any = None) -> t.Any:
        """Return the value of a key, the default if there is none; None, and a fault, if it is not of its kind."""
        value = value_at(self.values, key)
        if value is None:
            return default
        try:
            return kind.read(value)
        except ValueError as error:
            self.findings.fault(self.where(key), value, f"{key} is {shown(value)}, which {error}.", f"Give {kind}.")
            return None

    def text(self, key: str) -> str:
        """Return the value of a key as text, empty if it is null or false."""
        value = value_at(self.values, key)
        return "" if value in (None, False) else str(value)

    def one_of(self, key: str, *names: str) -> str | None:
        """Return the value of a key that has to be one of some names, or None."""
        return t.cast("str | None", self.get(key, OneOf(names, strict=True)))
