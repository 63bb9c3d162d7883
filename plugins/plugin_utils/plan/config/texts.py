# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of strings: one of a certain form, or several of them."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ...text.words import shown
from .kinds import Kind, is_placeholder, plain, text_schema

USER_FIELD = "{user-id}"

# What a shell, a container engine's option or the training scripts' unquoted words could parse as syntax.
_UNSAFE = re.compile(r"[^A-Za-z0-9_./:@%+=,~^-]")


@dataclass(frozen=True)
class Written(Kind):
    """A string of a certain form, given as a regular expression.

    ``what`` names it in the sentence 'is not …', ``expected`` in 'Give …'. Unless ``free``, it may contain no shell
    syntax, and no field except ``{user-id}``. A whole number is read as its digits. ``longest`` is in characters.
    """

    pattern: str
    what: str
    expected: str
    free: bool = False
    longest: int = 4096

    def __str__(self) -> str:
        return self.expected

    def read(self, value: t.Any) -> str:
        """Return the text without blanks around it."""
        bare = plain(value)
        if isinstance(bare, bool) or not isinstance(bare, str | int):
            raise ValueError("is not text")
        if isinstance(bare, str) and len(bare) > self.longest:
            raise ValueError(f"has more than {self.longest} characters")
        text = str(bare)
        if not text and not re.fullmatch(self.pattern, text):
            raise ValueError("is empty")
        if not self.free:
            _refuse_syntax(text)
        if not re.fullmatch(self.pattern, text):
            raise ValueError(f"is not {self.what}")
        return text

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the text, and a whole number where its digits would do."""
        bounds: dict[str, dict[str, int]] = {"-1": {}, "0": {"minimum": 0}, "1": {"minimum": 1}}
        numbers = [
            {"type": "integer", **bound} for digits, bound in bounds.items() if re.fullmatch(self.pattern, digits)
        ]
        return [text_schema(self.pattern), *numbers[:1]]


def _refuse_syntax(value: str) -> None:
    bare = value.replace(USER_FIELD, "")
    field = re.search(r"\{[^{}]*\}", bare)
    if field:
        raise ValueError(f"contains the unknown field {field.group()}")
    unsafe = _UNSAFE.search(bare)
    if unsafe:
        found = "whitespace" if unsafe.group().isspace() else repr(unsafe.group())
        raise ValueError(f"contains {found}, which is unsafe in a shell")


@dataclass(frozen=True)
class OneLine(Kind):
    """A non-empty string of one line in YAML, where a number is not a string."""

    def __str__(self) -> str:
        return "a string"

    def read(self, value: t.Any) -> str:
        """Return the text."""
        if not isinstance(value, str):
            raise ValueError("is not text" if isinstance(value, dict | list) else "is not text; put it in quotes")
        if not value.strip():
            raise ValueError("is empty")
        if not value.isprintable():
            raise ValueError("contains unprintable characters")
        return value

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the text."""
        return [{"type": "string", "pattern": r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"}]


@dataclass(frozen=True)
class Several(Kind):
    """Strings of one form, as a list or as one comma-separated string."""

    part: Written
    expected: str
    at_least: int = 1

    def __str__(self) -> str:
        return self.expected

    def read(self, value: t.Any) -> list[str]:
        """Return the texts."""
        if isinstance(value, str):
            value = value.split(",") if value.strip() else []
        if not isinstance(value, list | tuple):
            raise ValueError("is neither a list nor comma-separated text")
        if len(value) < self.at_least:
            raise ValueError("is empty")
        # A placeholder is reported by itself, and hides none of the other parts.
        parts = [part for part in value if not is_placeholder(part)]
        return [self.part.read(parts[0])] if len(value) == 1 and parts else [self._part(part) for part in parts]

    def _part(self, value: t.Any) -> str:
        if isinstance(value, str) and not value.strip():
            raise ValueError("has an empty entry")
        try:
            return self.part.read(value)
        except ValueError as error:
            raise ValueError(f"contains {shown(value)}, which {error}") from None

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the list, and the text."""
        return [
            {"type": "array", "items": {"anyOf": self.part.schemas()}, "minItems": self.at_least},
            text_schema(rf"{self.part.pattern}(\s*,\s*{self.part.pattern})*"),
        ]
