# SPDX-License-Identifier: GPL-3.0-or-later
"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import json
import os
import typing as t


def write_text(path: str, text: str, mode: int) -> bool:
    """Write a file in one step, and return whether it was different before."""
    if read_text(path) == text:
        return False
    draft = f"{path}.{os.getpid()}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    os.replace(draft, path)
    return True


def read_text(path: str) -> str | None:
    """Return what a file holds, or None where there is no such file."""
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except FileNotFoundError:
        return None


def read_json(path: str) -> dict[str, t.Any] | None:
    """Return the JSON object in a file, or None where there is no such file; ValueError where it holds none."""
    text = read_text(path)
    if text is None:
        return None
    try:
        return t.cast("dict[str, t.Any]", json.loads(text))
    except ValueError as error:
        raise ValueError(f"{path} holds no JSON: {error}") from error


def write_json(path: str, value: dict[str, t.Any], mode: int = 0o640) -> None:
    """Write a JSON object in one step."""
    write_text(path, json.dumps(value, indent=1, sort_keys=True) + "\n", mode)
