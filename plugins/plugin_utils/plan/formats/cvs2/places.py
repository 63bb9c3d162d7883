# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the keys of CVS's first format stand in a later one: values move there."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping


def value_at(data: t.Any, path: str) -> t.Any:
    """Return the value at a path with dots, or None if it, or a section on the way, is not there."""
    for name in path.split("."):
        data = data.get(name) if isinstance(data, dict) else None
    return data


def put(data: dict[str, t.Any], path: str, value: t.Any) -> None:
    """Set a value at a path with dots; sections on the way are created."""
    *sections, name = path.split(".")
    for section in sections:
        data = data.setdefault(section, {})
    data[name] = value


def words_of(moves: Mapping[str, str]) -> dict[str, str]:
    """Return the places of moved keys, given as new path by old one, and of their names alone where these differ."""
    words = {old.rpartition(".")[2]: new.rpartition(".")[2] for old, new in moves.items()}
    return {old: new for old, new in words.items() if old != new} | dict(moves)
