# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading the small files of /proc, /sys and /etc below a root folder, so that a test can give a tree of its own.

The kernel refuses some of them at times (an empty GID table entry, a device that is being reset). An unreadable file is
None here: one mute file must not hide the rest of the node.
"""

from __future__ import annotations

import os
import re


def below(root: str, path: str) -> str:
    """Return the path below the root folder of an absolute path."""
    return os.path.join(root, path.lstrip("/"))


def text(root: str, path: str, limit: int = 65536) -> str | None:
    """Return the content of a file, up to ``limit`` bytes, or None if it cannot be read."""
    try:
        with open(below(root, path), "rb") as stream:
            return stream.read(limit).decode("utf-8", "replace")
    except OSError:
        return None


def line(root: str, path: str) -> str | None:
    """Return a file's first line, stripped, or None if it has none."""
    return (text(root, path) or "").partition("\n")[0].strip() or None


def number(root: str, path: str) -> int | None:
    """Return the whole number in a file, or None if it has none."""
    try:
        return int(line(root, path) or "", 0)
    except ValueError:
        return None


def names(root: str, path: str) -> list[str]:
    """Return the names in a folder, with numbers in the order of their values; an empty list without such a folder."""
    try:
        return sorted(os.listdir(below(root, path)), key=by_numbers)
    except OSError:
        return []


def link_name(root: str, path: str) -> str | None:
    """Return the last part of a symbolic link's target, or None if there is no such link."""
    try:
        return os.path.basename(os.readlink(below(root, path)))
    except OSError:
        return None


def fields(content: str | None, separator: str) -> dict[str, str]:
    """Return the ``name<separator>value`` lines of a text; quotes around values are dropped."""
    pairs = (row.partition(separator) for row in (content or "").splitlines())
    return {name.strip(): value.strip().strip("\"'") for name, found, value in pairs if found}


def by_numbers(name: str) -> list[tuple[int, str]]:
    """Return the key that sorts names as people do: node2 before node10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"([0-9]+)", name)]
