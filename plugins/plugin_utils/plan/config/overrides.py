# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that replace a training config's own: the variable training_overrides."""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...text.words import key_path
from .budget import DEEPEST
from .findings import Findings
from .kinds import Kind


@dataclass(frozen=True)
class JsonObject(Kind):
    """An object, or its JSON as text. ``-e NAME=VALUE`` gives text, and splits it at blanks; ``example`` does not."""

    example: str

    def __str__(self) -> str:
        return f"an object; on the command line as a part of one JSON text, for example -e '{self.example}'"

    def read(self, value: t.Any) -> dict[str, t.Any]:
        """Return the object."""
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                raise ValueError("is not JSON; the value of -e NAME=VALUE ends at the first blank") from None
        if not isinstance(value, dict):
            raise ValueError("is not an object")
        return value

    def schemas(self) -> list[dict[str, t.Any]]:
        """Return the object, and its text."""
        return [{"type": "object"}, {"type": "string"}]


Overrides = t.Annotated[dict[str, t.Any], JsonObject('{"training_overrides": {"batch_size": 256}}')]


# The section of a file whose config is in Python, with the values that replace it.
OVERRIDES = "overrides"
_REMEDY = "Give a key of the training config, with dots between section names."


def within_depth(overrides: Mapping[str, t.Any], findings: Findings) -> Iterator[tuple[str, t.Any]]:
    """Yield the overrides whose paths are within the allowed depth, and report the others."""
    for path, value in overrides.items():
        if path.count(".") + path.count("[") >= DEEPEST:
            fault_no_place(path, value, f"its path is more than {DEEPEST} keys deep", findings)
        else:
            yield path, value


def flattened(
    values: Mapping[str, t.Any],
    paths: re.Pattern[str],
    findings: Findings,
    *,
    of_file: bool = False,
    nested_lists: bool = False,
) -> dict[str, t.Any]:
    """Return the values in objects of any depth by their paths, and report those that no argument can hold.

    ``paths`` matches a path. The values come from the section of a file (``of_file``), or else from
    ``training_overrides``.
    """
    result: dict[str, t.Any] = {}
    for given, value in _flat(values, ""):
        path = given if of_file else given.removeprefix(f"{OVERRIDES}.")
        if not paths.fullmatch(path):
            reason, remedy = "it is not names with dots between them", _REMEDY
        elif path in result:
            reason, remedy = "it is given twice", "Give it once."
        elif isinstance(value, list) and any(_is_no_item(item, nested_lists) for item in value):
            reason = "a list in an argument cannot contain objects" + ("" if nested_lists else " or lists")
            remedy = "Give a list of texts, numbers, true, false or null."
        else:
            result[path] = value
            continue
        place = key_path(OVERRIDES, *path.split(".")) if of_file else ""
        fault_no_place(given, value, reason, findings, place, remedy)
    return result


def _flat(values: Mapping[str, t.Any], above: str) -> Iterator[tuple[str, t.Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _is_no_item(item: t.Any, nested_lists: bool) -> bool:
    if isinstance(item, list):
        return not nested_lists or any(_is_no_item(inner, nested_lists) for inner in item)
    return isinstance(item, dict)


def fault_no_place(
    path: str, value: t.Any, reason: str, findings: Findings, key: str = "", remedy: str = _REMEDY
) -> None:
    """Report that no value can be set at a path, and why; ``key`` is where it is, if not in ``training_overrides``."""
    findings.fault(
        key or key_path("training_overrides", path),
        value,
        f"{path} cannot be set: {reason}.",
        remedy,
    )
