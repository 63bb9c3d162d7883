# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of values in a training config.

In CVS files nearly every value is a string. A kind defines in one place how such a string is read, how a wrong one is
reported, and which JSON Schema an editor gets: the value itself, the same as a string, or a ``<changeme>`` still to be
filled in. In YAML, which other programs read as well, a quoted number stays a string: there a kind is ``strict``. Kinds
annotate pydantic fields: ``Annotated[int, Whole(1)]``.
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
LARGEST = 10**12
_MOST_CHARACTERS = 4000

_DIGITS = "[0-9]+"
# As in YAML 1.1: 500_000.
_GROUPED_DIGITS = "[0-9]+(_[0-9]+)*"
_TRUTH = "a boolean"
# What YAML reads as a string only in quotes.
_FLAG = re.compile("true|false|yes|no|on|off", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?[0-9][0-9_]*(\.[0-9_]*)?(e[+-]?[0-9]+)?", re.IGNORECASE)
_FLAGS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def any_case(word: str) -> str:
    """Return a regular expression for a word in upper or lower case, because JSON Schema has no flag for it."""
    return "".join(f"[{letter.upper()}{letter.lower()}]" if letter.isalpha() else re.escape(letter) for letter in word)


PLACEHOLDER_PATTERN = any_case(PLACEHOLDER)


def is_placeholder(value: t.Any) -> bool:
    """Return whether a value, or a part of it, is still to be filled in."""
    return isinstance(value, str) and PLACEHOLDER in value.casefold()


# An interpolation of OmegaConf, or a placeholder, may stand for any strict value.
_OPEN = {"type": "string", "pattern": rf"\$\{{|{PLACEHOLDER_PATTERN}"}


def text_schema(pattern: str) -> dict[str, t.Any]:
    """Return the JSON Schema of a text that a regular expression matches, or that is still to be filled in."""
    return {"type": "string", "pattern": rf"^\s*({pattern})\s*$|{PLACEHOLDER_PATTERN}"}


def plain(value: t.Any) -> t.Any:
    """Return a string stripped, a whole float as the integer that JSON means, and anything else unchanged."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _bare(value: t.Any, what: str, strict: bool) -> t.Any:
    """Return a value as `plain` does; if strict, return it unchanged, but reject a string: it is not ``what``."""
    if strict and isinstance(value, str):
        quoted = _FLAG.fullmatch(value) if what == _TRUTH else _NUMBER.fullmatch(value)
        raise ValueError(f"is text, not {what}{'; remove the quotes' if quoted else ''}")
    return value if strict else plain(value)


class Kind(abc.ABC):
    """A kind of value. Its string completes the sentence 'Give …'; ``read`` returns the value or raises ValueError.

    The error ends a sentence that begins with the value. ``schemas`` are the JSON Schemas of valid values.
    """

    @abc.abstractmethod
    def __str__(self) -> str: ...

    @abc.abstractmethod
    def read(self, value: t.Any) -> t.Any:
        """Return the value with its type."""

    @abc.abstractmethod
    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the values that an editor may accept."""

    def __get_pydantic_core_schema__(self, _source: t.Any, _handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Make pydantic validate with this kind, ignoring the rest of the annotation."""
        return core_schema.no_info_plain_validator_function(self.read)


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number between two bounds; ``minimum`` is -1, 0, 1 or none, unless it is strict.

    The digits of a text may be ``grouped`` with ``_``.
    """

    minimum: int | None = None
    maximum: int = LARGEST
    grouped: bool = False
    strict: bool = False

    def __str__(self) -> str:
        if self.minimum == self.maximum:
            return f"the number {self.minimum}"
        if self.maximum < LARGEST and not self.strict:
            return f"a whole number from {self.minimum} to {self.maximum}"
        below = "" if self.minimum in (None, -LARGEST) else f" of {self.minimum} or more"
        return f"a whole number{below}" + (f", at most {self.maximum}" if self.maximum < LARGEST else "")

    @property
    def _digits(self) -> str:
        return _GROUPED_DIGITS if self.grouped else _DIGITS

    def read(self, value: t.Any) -> int:
        """Return the number."""
        number = _bare(value, "a whole number", self.strict)
        if isinstance(number, str) and len(number) <= _MOST_CHARACTERS and re.fullmatch(f"[+-]?{self._digits}", number):
            number = int(number)
        if isinstance(number, bool) or not isinstance(number, int):
            raise ValueError("is not a whole number")
        if self.minimum is not None and number < self.minimum:
            raise ValueError("is too small")
        if abs(number) > self.maximum:
            raise ValueError("is too large")
        return number

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the number itself, and the number as text."""
        minimum = -self.maximum if self.minimum is None else self.minimum
        number = {"type": "integer", "minimum": minimum, "maximum": self.maximum}
        if self.strict:
            return [number, _OPEN]
        texts = {None: f"[+-]?{self._digits}", 0: f"[+]?{self._digits}", 1: f"[+]?(?=[0_]*[1-9]){self._digits}"}
        texts[-1] = f"{texts[0]}|-0*[01]"
        zero = "|-0+(_0+)*" if self.minimum == 0 and self.grouped else ""
        return [number, text_schema(texts[self.minimum] + zero)]


@dataclass(frozen=True)
class OrWord(Kind):
    """A value of another kind, or a word, which matches in any case if it is given in lowercase."""

    kind: Kind
    word: str

    def __str__(self) -> str:
        return f"{self.kind}, or {self.word}"

    def read(self, value: t.Any) -> t.Any:
        """Return the value, or the word."""
        bare = plain(value)
        is_word = isinstance(bare, str) and self.word in (bare, bare.casefold())
        return self.word if is_word else self.kind.read(value)

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the other kind's values, and the word."""
        return [*self.kind.schemas(), text_schema(any_case(self.word) if self.word.islower() else self.word)]


@dataclass(frozen=True)
class Real(Kind):
    """A number between two bounds, finite unless strict; ``above`` excludes the lower bound.

    A ``minimum`` is 0 unless it is strict. The digits of a text may be ``grouped`` with ``_``.
    """

    minimum: float = -math.inf
    maximum: float = math.inf
    above: bool = False
    grouped: bool = False
    strict: bool = False

    def __str__(self) -> str:
        lower = f" greater than {self.minimum:g}" if self.above else f" of {self.minimum:g} or more"
        below = lower if self.minimum > -math.inf else ""
        joined = "," if self.strict else " and"
        return f"a number{below}" + (f"{joined} at most {self.maximum:g}" if self.maximum < math.inf else "")

    @property
    def _form(self) -> str:
        digits = _GROUPED_DIGITS if self.grouped else _DIGITS
        return rf"[+-]?({digits}\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"

    def read(self, value: t.Any) -> float:
        """Return the number; where it is strict, a whole one as it is."""
        number = self._number(value)
        if number < self.minimum or (self.above and number == self.minimum):
            small = self.strict or not self.above
            raise ValueError("is too small" if small else f"is not greater than {self.minimum:g}")
        if number > self.maximum or abs(number) == math.inf:
            raise ValueError("is too large")
        return number

    def _number(self, value: t.Any) -> float:
        bare = _bare(value, "a number", self.strict)
        is_text = isinstance(bare, str) and re.fullmatch(self._form, bare)
        is_number = isinstance(bare, int | float) and not (isinstance(bare, float) and math.isnan(bare))
        if isinstance(bare, bool) or not (is_text or is_number):
            raise ValueError("is not a number")
        try:
            return t.cast("float", bare) if self.strict else float(bare)
        except OverflowError:
            return math.inf

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the number itself, and the number as text."""
        lower = {"exclusiveMinimum" if self.above else "minimum": self.minimum} if self.minimum > -math.inf else {}
        upper = {"maximum": self.maximum} if self.maximum < math.inf else {}
        number = {"type": "number", **lower, **upper}
        if self.strict:
            return [number, _OPEN]
        small = "(?!-(?=[0._]*[1-9]))" if lower else ""
        return [number, text_schema(("(?!-)(?=[+]?[0._]*[1-9])" if self.above else small) + self._form)]


@dataclass(frozen=True)
class Switch(Kind):
    """Yes or no."""

    strict: bool = False

    def __str__(self) -> str:
        return "true or false" if self.strict else "True or False"

    def read(self, value: t.Any) -> bool:
        """Return the truth value."""
        bare = _bare(value, _TRUTH, self.strict)
        known = isinstance(bare, bool if self.strict else str | int)
        flag = _FLAGS.get(str(bare).casefold()) if known else None
        if flag is None:
            raise ValueError("is neither true nor false")
        return flag

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the truth value itself, 0 and 1, and the words for it."""
        words = text_schema("|".join(any_case(word) for word in _FLAGS))
        return [{"type": "boolean"}, *([_OPEN] if self.strict else [{"enum": [0, 1]}, words])]


@dataclass(frozen=True)
class OneOf(Kind):
    """One of several names in any case; if strict, in exactly this spelling."""

    names: tuple[str, ...]
    strict: bool = False

    def __str__(self) -> str:
        return f"one of {', '.join(name or '(empty)' for name in self.names)}"

    def read(self, value: t.Any) -> str:
        """Return the name as it is listed."""
        for name in self.names:
            if value == name if self.strict else isinstance(value, str) and plain(value).casefold() == name.casefold():
                return name
        raise ValueError("is not one of the allowed values")

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the names, for an editor to offer, and the same in any case."""
        in_any_case = text_schema("|".join(any_case(name) for name in self.names))
        return [{"enum": list(self.names)}, _OPEN if self.strict else in_any_case]


@dataclass(frozen=True)
class OrNothing(Kind):
    """A value of another kind, or an empty text for none."""

    kind: Kind

    def __str__(self) -> str:
        return f"{self.kind}, or nothing"

    def read(self, value: t.Any) -> t.Any:
        """Return the value, or None."""
        return None if value is None or plain(value) == "" else self.kind.read(value)

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the values that the other kind accepts, and null."""
        return [*self.kind.schemas(), {"enum": ["", None]}]


@dataclass(frozen=True)
class Words:
    """The words of a list or an object, which pydantic reads itself."""

    words: str

    def __str__(self) -> str:
        return self.words
