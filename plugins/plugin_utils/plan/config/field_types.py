# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts in a training config, and the types of fields made of them."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ...text.words import shown
from .kinds import (
    AUTO,
    LARGEST,
    Kind,
    OrNothing,
    OrWord,
    Real,
    Switch,
    Whole,
    Words,
    is_placeholder,
    plain,
    text_schema,
)

_LONGEST_TEXT, _MOST_CHOICES, _MOST_PATTERNS = 256, 2, 50
_OPENING = re.compile(r"\(\?[a-zA-Z]*[:)]")
_CHOICE, _REPEATED_GROUP = re.compile(r"[*+?{|]"), re.compile(r"\)[*+?{]")


def pattern(value: str) -> str:
    """Return a regular expression; raise ValueError if it is invalid, or could take too long to search for.

    The work grows as the length of the text to the power of the choices (``* + ? { |``), and without a limit if a group
    is repeated.
    """
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is not a regular expression ({error})") from None
    bare = _OPENING.sub("(", value)
    if len(_CHOICE.findall(bare)) > _MOST_CHOICES or _REPEATED_GROUP.search(bare):
        raise ValueError(
            f"repeats a group, or has more than {_MOST_CHOICES} of * + ? {{ |, which can take forever to match"
        )
    return value


def few(patterns: dict[str, str]) -> dict[str, str]:
    """Return an object of patterns; raise ValueError if there are too many."""
    if len(patterns) > _MOST_PATTERNS:
        raise ValueError(f"has more than {_MOST_PATTERNS} patterns")
    return patterns


def is_found(searched: str, text: str) -> bool:
    """Return whether a `pattern` is found in a text, ignoring case; of a long path only the end is searched."""
    return re.search(searched, text[-_LONGEST_TEXT:], re.IGNORECASE) is not None


USER_FIELD = "{user-id}"

# A shell, a container engine or the unquoted words of the training scripts could take these characters as syntax.
_UNSAFE = re.compile(r"[^A-Za-z0-9_./:@%+=,~^-]")


@dataclass(frozen=True)
class Written(Kind):
    """A string of a certain form, given as a regular expression.

    ``what`` is its name in the sentence 'is not …', ``expected`` in 'Give …'. Unless ``free``, it may contain no shell
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


_FIELD = r"\{user-id\}"
# Control characters, line ends, and characters that change the writing direction.
_UNPRINTABLE = r"\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069"

NAME = Written(
    rf"(?!-)([A-Za-z0-9_.:@%+=~^-]|{_FIELD})+", "a name", "a name of letters, digits and . _ : @ -, not starting with -"
)
_PATH = Written(rf"/([A-Za-z0-9_./@%+=~^-]|{_FIELD})*", "an absolute path without : and commas", "an absolute path")
_TEXT = Written(
    rf"(?![-~])([A-Za-z0-9_./:@%+=,~^-]|{_FIELD})+",
    "a string that does not start with - or ~",
    "a string without spaces",
)
_VARIABLE = Written("[A-Za-z_][A-Za-z0-9_]*", "the name of a variable", "the name of a variable", free=True)
LINE = Written(f"[^{_UNPRINTABLE}]*", "one line of text", "one line of text", free=True)

PositiveInteger = t.Annotated[int, Whole(1)]
NaturalInteger = t.Annotated[int, Whole(0)]
IntegerOrAuto = t.Annotated[int | str, OrWord(Whole(-1), AUTO)]
Number = t.Annotated[float, Real(0, above=True)]
PortOrNothing = t.Annotated[int | None, OrNothing(Whole(1, 65535))]
Fraction = t.Annotated[float, Real(0, 1, above=True)]
Flag = t.Annotated[bool, Switch()]
Text = t.Annotated[str, _TEXT]
TextOrNothing = t.Annotated[str | None, OrNothing(_TEXT)]
Name = t.Annotated[str, NAME]
NameList = t.Annotated[list[str], Several(NAME, "names separated by commas")]
Path = t.Annotated[str, _PATH]
ContainerName = t.Annotated[
    str,
    Written(
        rf"([A-Za-z0-9]|{_FIELD})([A-Za-z0-9_.-]|{_FIELD})*",
        "a valid container name",
        "a name of letters, digits and . _ -, starting with a letter or digit",
    ),
]
Size = t.Annotated[
    str,
    Written("0*[1-9][0-9]*[bBkKmMgG]?", "a size in bytes", "a size in bytes, optionally with K, M or G at the end"),
]
Line = t.Annotated[str, LINE]
PathOrNothing = t.Annotated[
    str, Written(f"(/[^{_UNPRINTABLE}]*)?", "an absolute path", "an absolute path, or nothing", free=True)
]
DeviceList = t.Annotated[list[Path], Words("a list of device paths")]
Mounts = t.Annotated[dict[Path, Path], Words("an object that maps absolute paths to absolute paths")]
Environment = t.Annotated[
    dict[t.Annotated[str, _VARIABLE], Line],
    Words("an object of variables"),
]
FreeObject = t.Annotated[dict[str, t.Any], Words("an object")]

# For YAML, where a quoted number stays a string.
Count = t.Annotated[int, Whole(1, strict=True)]
Natural = t.Annotated[int, Whole(0, strict=True)]
AnyInteger = t.Annotated[int, Whole(-LARGEST, strict=True)]
NotNegative = t.Annotated[float, Real(0, strict=True)]
Positive = t.Annotated[float, Real(0, above=True, strict=True)]
Probability = t.Annotated[float, Real(0, 1, strict=True)]
Boolean = t.Annotated[bool, Switch(strict=True)]
AnyValue = t.Annotated[t.Any, Words("a value")]
YamlText = t.Annotated[str, OneLine()]


def with_user(value: t.Any, user: str) -> t.Any:
    """Return a value with ``{user-id}`` in it, at any depth, resolved to the user who connects to the node."""
    if isinstance(value, str):
        return value.replace(USER_FIELD, user)
    if isinstance(value, list):
        return [with_user(inner, user) for inner in value]
    if isinstance(value, dict):
        return {with_user(key, user): with_user(inner, user) for key, inner in value.items()}
    return value
