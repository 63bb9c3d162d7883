# SPDX-License-Identifier: GPL-3.0-or-later
"""The value types of a training config: names, paths, sizes and so on."""

from __future__ import annotations

import typing as t

from .kinds import AUTO, LARGEST, OrNothing, OrWord, Real, Switch, Whole, Words
from .texts import USER_FIELD, OneLine, Several, Written

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
