# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The types of a training config's values.

In the files nearly every value is a string. Here it is settled, once, what each string has to be. Every type
carries the words with which a wrong value is answered (`Expected`) and the JSON Schema that an editor is given:
the value itself, the same as a string, or a ``<changeme>`` that is still to be filled in.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

PLACEHOLDER = "<changeme>"

# What a shell, a container engine's option or the training scripts' unquoted words could take for syntax.
_UNSAFE = re.compile(r"[^A-Za-z0-9_./:@%+=,~^{}-]")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIZE = re.compile(r"[0-9]+[bBkKmMgGtT]?")
_USER_FIELD = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class Expected:
    """What a value of this type is, in words that complete 'Give …'."""

    words: str


def _not_bool(value: t.Any) -> t.Any:
    if isinstance(value, bool):
        raise ValueError("is true or false")
    return value.strip() if isinstance(value, str) else value


def _text(value: t.Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("is no text")
    return str(value).strip()


def _safe(value: str) -> str:
    if not value:
        raise ValueError("is empty")
    unsafe = _UNSAFE.search(value)
    if unsafe:
        raise ValueError(f"holds {unsafe.group()!r}, which a shell could take for syntax")
    unknown = [name for name in _USER_FIELD.findall(value) if name != "user-id"]
    if unknown:
        raise ValueError(f"holds the unknown field {{{unknown[0]}}}")
    return value


def _name(value: str) -> str:
    if "/" in value or value.startswith("-"):
        raise ValueError("is no name")
    return value


def _absolute(value: str) -> str:
    if not value.startswith("/"):
        raise ValueError("is no absolute path")
    return value


def _identifier(value: str) -> str:
    if not _IDENTIFIER.fullmatch(value):
        raise ValueError("is no name of a variable")
    return value


def _size(value: str) -> str:
    if not _SIZE.fullmatch(value):
        raise ValueError("is no size")
    return value


def _split(value: t.Any) -> t.Any:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    return value


def _or_text(schema: dict[str, t.Any], pattern: str) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [schema, {"type": "string", "pattern": f"^({pattern})$|{PLACEHOLDER}"}]})


PositiveInteger = t.Annotated[
    int,
    BeforeValidator(_not_bool),
    Field(ge=1),
    Expected("a whole number of 1 or more"),
    _or_text({"type": "integer", "minimum": 1}, "[1-9][0-9]*"),
]
NaturalInteger = t.Annotated[
    int,
    BeforeValidator(_not_bool),
    Field(ge=0),
    Expected("a whole number of 0 or more"),
    _or_text({"type": "integer", "minimum": 0}, "[0-9]+"),
]
Number = t.Annotated[
    float,
    BeforeValidator(_not_bool),
    Field(gt=0, allow_inf_nan=False),
    Expected("a number greater than 0"),
    _or_text({"type": "number", "exclusiveMinimum": 0}, "[0-9.eE+-]+"),
]
Flag = t.Annotated[
    bool,
    Expected("True or False (or 1 or 0)"),
    _or_text({"type": "boolean"}, "[Tt]rue|[Ff]alse|TRUE|FALSE|0|1"),
]
Text = t.Annotated[
    str,
    BeforeValidator(_text),
    AfterValidator(_safe),
    Expected("text without blanks or any of $ ; & | < > ( ) * ? ' \" ` \\"),
]
Name = t.Annotated[Text, AfterValidator(_name), Expected("a name of letters, digits and . _ : @ -")]
Path = t.Annotated[
    Text, AfterValidator(_absolute), Expected("an absolute path without blanks or characters of shell syntax")
]
Size = t.Annotated[Text, AfterValidator(_size), Expected("a size such as 128G")]
VariableName = t.Annotated[Text, AfterValidator(_identifier), Expected("a name of a variable")]
NameList = t.Annotated[
    list[Name],
    BeforeValidator(_split),
    Field(min_length=1),
    Expected("names separated by commas"),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]


def is_placeholder(value: t.Any) -> bool:
    """Tell whether a value, or a part of it, is still to be filled in."""
    return isinstance(value, str) and PLACEHOLDER in value.casefold()


def with_user(value: str, user: str) -> str:
    """Return a value with ``{user-id}`` resolved to the user who connects to the node."""
    return value.replace("{user-id}", user)
