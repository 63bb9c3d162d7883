# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of values for MaxText's keys, which CVS mostly writes as strings: ``"500_000"``, ``"1.0e-5"``.

``None`` is a word in its base.yml, and is passed on as such.
"""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass

from ....config.kinds import Kind, Real, Whole, plain

NOTHING = "None"
_LARGEST = 10**18


def whole(minimum: int | None = None) -> Whole:
    """Return the kind of a whole number."""
    return Whole(minimum, _LARGEST, grouped=True)


def real(minimum: float = -math.inf) -> Real:
    """Return the kind of a number."""
    return Real(minimum, grouped=True)


@dataclass(frozen=True)
class MeshAxis(Kind):
    """The size of an axis of the device mesh: 1 or more, or -1 for the devices that the other axes leave."""

    def __str__(self) -> str:
        return "a whole number of 1 or more, or -1 for the devices that the other axes leave"

    def read(self, value: t.Any) -> int:
        """Return the size."""
        return -1 if plain(value) in (-1, "-1") else Whole(1).read(value)

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the number itself, and the number as text."""
        return [*Whole(1).schemas(), {"enum": [-1, "-1"]}]


@dataclass(frozen=True)
class ListOf(Kind):
    """A list of values of one kind, or one text with commas between them."""

    part: Kind

    def __str__(self) -> str:
        return f"a list, each {self.part}"

    def read(self, value: t.Any) -> list[t.Any]:
        """Return the values."""
        if isinstance(value, str):
            value = [word.strip() for word in value.split(",")] if value.strip() else []
        if not isinstance(value, list):
            raise ValueError("is not a list")
        return [self.part.read(part) for part in value]

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the list, and the text."""
        return [{"type": "array", "items": {"anyOf": self.part.schemas()}}, {"type": "string"}]


@dataclass(frozen=True)
class Structure(Kind):
    """A list or an object that MaxText parses itself, or a string if that is valid as well."""

    types: tuple[type, ...]

    def __str__(self) -> str:
        return " or ".join(_WORDS[kind] for kind in self.types)

    def read(self, value: t.Any) -> t.Any:
        """Return the value as it is."""
        if isinstance(value, bool) or not isinstance(value, self.types):
            raise ValueError(f"is not {self}")
        return value

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the types."""
        return [{"type": _JSON_TYPES[kind]} for kind in self.types]


_WORDS: dict[type, str] = {list: "a list", dict: "an object", str: "a string", int: "a whole number"}
_JSON_TYPES: dict[type, str] = {list: "array", dict: "object", str: "string", int: "integer"}
