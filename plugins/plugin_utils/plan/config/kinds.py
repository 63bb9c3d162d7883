# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of values: what a string of a training config has to be.

In the files nearly every value is a string. A kind settles once how such a string is read, with which words a wrong
one is answered, and which JSON Schema an editor gets: the value itself, the same as a string, or a ``<changeme>``
that is still to be filled in. Kinds stand in the annotations of pydantic fields: ``Annotated[int, Whole(1)]``.
"""

from __future__ import annotations

import abc
import math
import re
import typing as t
from dataclasses import dataclass

from pydantic_core import core_schema

if t.TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler

PLACEHOLDER = "<changeme>"
AUTO = "auto"
_MAXIMUM = 10**12

_WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")
_REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_FLAGS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def any_case(word: str) -> str:
    """Return a regular expression for a word in upper or lower case, as JSON Schema has no flag for it."""
    return "".join(f"[{letter.upper()}{letter.lower()}]" if letter.isalpha() else re.escape(letter) for letter in word)


PLACEHOLDER_PATTERN = any_case(PLACEHOLDER)


def is_placeholder(value: t.Any) -> bool:
    """Tell whether a value, or a part of it, is still to be filled in."""
    return isinstance(value, str) and PLACEHOLDER in value.casefold()


def text_schema(pattern: str) -> dict[str, t.Any]:
    """Return the JSON Schema of a text that a regular expression matches, or that is still to be filled in."""
    return {"type": "string", "pattern": rf"^\s*({pattern})\s*$|{PLACEHOLDER_PATTERN}"}


def plain(value: t.Any) -> t.Any:
    """Return a text without blanks around it, a whole float as the integer that JSON means, all else unchanged."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def number_of(value: t.Any, written: re.Pattern[str]) -> float:
    """Return a number, or the one that a text of this form writes; infinity where it is too large for a float."""
    bare = plain(value)
    is_text = isinstance(bare, str) and written.fullmatch(bare)
    if isinstance(bare, bool) or not (is_text or isinstance(bare, int | float)):
        raise ValueError("is not a number")
    try:
        return float(bare)
    except OverflowError:
        return math.inf


class Kind(abc.ABC):
    """A kind of value: ``words`` complete the sentence 'Give …', ``read`` returns the value or raises ValueError.

    The error is the end of a sentence that begins with the value. ``schemas`` are the JSON Schemas of right values.
    """

    @property
    def words(self) -> str:
        """Return what would be right, for a remedy."""
        return "a value"

    @abc.abstractmethod
    def read(self, value: t.Any) -> t.Any:
        """Return the value with its type."""

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return what an editor may accept: anything, of a kind that has no schema."""
        return [{}]

    def __get_pydantic_core_schema__(self, _source: t.Any, _handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Let pydantic read values of this kind, and nothing else of the annotation."""
        return core_schema.no_info_plain_validator_function(self.read)


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number of ``minimum`` (0 or 1) or more."""

    minimum: int
    maximum: int = _MAXIMUM

    @property
    def words(self) -> str:
        """Return what would be right, for a remedy."""
        if self.maximum == _MAXIMUM:
            return f"a whole number of {self.minimum} or more"
        return f"a whole number from {self.minimum} to {self.maximum}"

    def read(self, value: t.Any) -> int:
        """Return the number."""
        value = plain(value)
        if isinstance(value, str) and _WHOLE.fullmatch(value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError("is not a whole number")
        if value < self.minimum:
            raise ValueError("is too small")
        if value > self.maximum:
            raise ValueError("is too large")
        return value

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the number itself, and the number as text."""
        text = "[+]?0*[1-9][0-9]*" if self.minimum else "[+]?[0-9]+"
        return [{"type": "integer", "minimum": self.minimum, "maximum": self.maximum}, text_schema(text)]


@dataclass(frozen=True)
class OrAuto(Kind):
    """A value of another kind, or ``auto`` where it is to be found."""

    kind: Kind

    @property
    def words(self) -> str:
        """Return what would be right, for a remedy."""
        return f"{self.kind.words}, or {AUTO}"

    def read(self, value: t.Any) -> t.Any:
        """Return the value, or ``auto``."""
        return AUTO if isinstance(value, str) and value.strip().casefold() == AUTO else self.kind.read(value)

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return those of the other kind, and ``auto``."""
        return [*self.kind.schemas(), text_schema(any_case(AUTO))]


@dataclass(frozen=True)
class Real(Kind):
    """A finite number greater than 0."""

    maximum: float = math.inf

    @property
    def words(self) -> str:
        """Return what would be right, for a remedy."""
        return "a number greater than 0" + (f" and at most {self.maximum:g}" if self.maximum < math.inf else "")

    def read(self, value: t.Any) -> float:
        """Return the number."""
        number = number_of(value, _REAL)
        if number <= 0:
            raise ValueError("is not greater than 0")
        if not math.isfinite(number) or number > self.maximum:
            raise ValueError("is too large")
        return number

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the number itself, and the number as text."""
        bounds = {"maximum": self.maximum} if self.maximum < math.inf else {}
        text = r"[+]?(?=[0.]*[1-9])([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
        return [{"type": "number", "exclusiveMinimum": 0, **bounds}, text_schema(text)]


@dataclass(frozen=True)
class Switch(Kind):
    """Yes or no."""

    @property
    def words(self) -> str:
        """Return what would be right, for a remedy."""
        return "True or False"

    def read(self, value: t.Any) -> bool:
        """Return the truth value."""
        bare = plain(value)
        flag = _FLAGS.get(str(bare).casefold()) if isinstance(bare, str | int) else None
        if flag is None:
            raise ValueError("is neither true nor false")
        return flag

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the truth value itself, 0 and 1, and the words for it."""
        return [{"type": "boolean"}, {"enum": [0, 1]}, text_schema("|".join(any_case(word) for word in _FLAGS))]


@dataclass(frozen=True)
class OneOf(Kind):
    """One of some names, in upper or lower case."""

    names: tuple[str, ...]

    @property
    def words(self) -> str:
        """Return what would be right, for a remedy."""
        return f"one of {', '.join(name or '(empty)' for name in self.names)}"

    def read(self, value: t.Any) -> str:
        """Return the name as it is listed."""
        for name in self.names:
            if isinstance(value, str) and value.strip().casefold() == name.casefold():
                return name
        raise ValueError("is not known here")

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the names, for an editor to offer, and the same in any case."""
        return [{"enum": list(self.names)}, text_schema("|".join(any_case(name) for name in self.names))]


@dataclass(frozen=True)
class OrNothing(Kind):
    """A value of another kind, or an empty text for none."""

    kind: Kind

    @property
    def words(self) -> str:
        """Return what would be right, for a remedy."""
        return f"{self.kind.words}, or nothing"

    def read(self, value: t.Any) -> t.Any:
        """Return the value, or None."""
        return None if value is None or plain(value) == "" else self.kind.read(value)

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return what the other kind accepts, and nothing."""
        return [*self.kind.schemas(), {"enum": ["", None]}]


@dataclass(frozen=True)
class Words:
    """The words of a list or an object, which pydantic reads itself."""

    words: str
