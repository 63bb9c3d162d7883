# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of values of MaxText's keys, which CVS writes as texts more often than not: ``"500_000"``, ``"1.0e-5"``."""

from __future__ import annotations

import math
import re
import typing as t
from dataclasses import dataclass

from ...config.kinds import Kind, Whole, number_of, plain, text_schema

_DIGITS = "[0-9]+(_[0-9]+)*"
_MAXIMUM = 10**18
_MOST_CHARACTERS = 400
_WHOLE = re.compile(rf"[+-]?{_DIGITS}")
_DECIMAL_PATTERN = rf"[+-]?({_DIGITS}\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_DECIMAL = re.compile(_DECIMAL_PATTERN)
NOTHING = "None"


@dataclass(frozen=True)
class Integer(Kind):
    """A whole number, whose digits may be grouped with ``_`` as in YAML 1.1; ``minimum`` is 0, 1 or none."""

    minimum: int | None = None

    @property
    def words(self) -> str:
        """Return what would be right, for a remedy."""
        return "a whole number" if self.minimum is None else f"a whole number of {self.minimum} or more"

    def read(self, value: t.Any) -> int:
        """Return the number."""
        number = plain(value)
        if isinstance(number, str) and len(number) <= _MOST_CHARACTERS and _WHOLE.fullmatch(number):
            number = int(number)
        if isinstance(number, bool) or not isinstance(number, int):
            raise ValueError("is not a whole number")
        if self.minimum is not None and number < self.minimum:
            raise ValueError("is too small")
        if abs(number) > _MAXIMUM:
            raise ValueError("is too large")
        return number

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the number itself, and the number as text."""
        if self.minimum is None:
            return [{"type": "integer", "minimum": -_MAXIMUM, "maximum": _MAXIMUM}, text_schema(_WHOLE.pattern)]
        text = rf"[+]?{_DIGITS}" if self.minimum == 0 else rf"[+]?(?=[0_]*[1-9]){_DIGITS}"
        zero = "|-0+(_0+)*" if self.minimum == 0 else ""
        return [{"type": "integer", "minimum": self.minimum, "maximum": _MAXIMUM}, text_schema(text + zero)]


@dataclass(frozen=True)
class Decimal(Kind):
    """A finite number, of 0 or more where ``minimum`` is 0."""

    minimum: float = -math.inf

    @property
    def words(self) -> str:
        """Return what would be right, for a remedy."""
        return "a number" + (f" of {self.minimum:g} or more" if self.minimum > -math.inf else "")

    def read(self, value: t.Any) -> float:
        """Return the number."""
        number = number_of(value, _DECIMAL)
        if not math.isfinite(number):
            raise ValueError("is too large")
        if number < self.minimum:
            raise ValueError("is too small")
        return number

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the number itself, and the number as text."""
        if self.minimum == -math.inf:
            return [{"type": "number"}, text_schema(_DECIMAL_PATTERN)]
        text = rf"(?!-(?=[0._]*[1-9])){_DECIMAL_PATTERN}"
        return [{"type": "number", "minimum": self.minimum}, text_schema(text)]


@dataclass(frozen=True)
class MeshAxis(Kind):
    """The size of an axis of the device mesh: 1 or more, or -1 for what the other axes leave."""

    @property
    def words(self) -> str:
        """Return what would be right, for a remedy."""
        return "a whole number of 1 or more, or -1 for what the other axes leave"

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

    @property
    def words(self) -> str:
        """Return what would be right, for a remedy."""
        return f"a list, each {self.part.words}"

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
    """A list or an object that MaxText itself takes apart, or one text where that is right as well."""

    types: tuple[type, ...]

    @property
    def words(self) -> str:
        """Return what would be right, for a remedy."""
        return " or ".join(_WORDS[kind] for kind in self.types)

    def read(self, value: t.Any) -> t.Any:
        """Return the value as it is."""
        if isinstance(value, bool) or not isinstance(value, self.types):
            raise ValueError(f"is not {self.words}")
        return value

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the types."""
        return [{"type": _JSON_TYPES[kind]} for kind in self.types]


_WORDS: dict[type, str] = {list: "a list", dict: "an object", str: "a text", int: "a whole number"}
_JSON_TYPES: dict[type, str] = {list: "array", dict: "object", str: "string", int: "integer"}


@dataclass(frozen=True)
class OrNone(Kind):
    """A value of another kind, or the word None, as base.yml of MaxText has it."""

    kind: Kind

    @property
    def words(self) -> str:
        """Return what would be right, for a remedy."""
        return f"{self.kind.words}, or {NOTHING}"

    def read(self, value: t.Any) -> t.Any:
        """Return the value, or the word, which reaches MaxText as it is."""
        return NOTHING if plain(value) == NOTHING else self.kind.read(value)

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return what the other kind accepts, and the word."""
        return [*self.kind.schemas(), text_schema(NOTHING)]
