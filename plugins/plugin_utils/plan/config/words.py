# SPDX-License-Identifier: GPL-3.0-or-later
"""Wording of faults: how keys, values, lists and counts are written."""

from __future__ import annotations

import difflib
import itertools
import json
import re
import reprlib
import typing as t
from collections.abc import Iterable

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
# Longer lists are unreadable in a sentence, and longer names are not compared.
_MOST_NAMES, _LONGEST_NAME, _MOST_COMPARED = 40, 100, 2000
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


def key_path(path: str, *parts: str | int) -> str:
    """Return the path of a key below another one: ``config.device_list[0]``, ``config.volume_dict["/home"]``."""
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part):
            path = f"{path}.{part}" if path else part
        else:
            path += f"[{json.dumps(part, ensure_ascii=False)}]"
    return path


def shown(value: t.Any) -> str:
    """Return a value for use in a sentence: short, and in JSON's terms."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return _SHORT.repr(value) if value != "" else "an empty string"


def listed(names: Iterable[str], most: int = _MOST_NAMES) -> str:
    """Return the names as a list for a sentence: ``a, b, c``, ``nothing``, or the first ones and how many more."""
    every = list(names)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return (", ".join(every[:most]) or "nothing") + more


def printable(text: str, keep: str = "") -> str:
    """Return a text with unprintable characters escaped, except those to keep."""
    if text.isprintable():
        return text
    odd = {char for char in set(text) if not char.isprintable() and char not in keep}
    return text.translate({ord(char): char.encode("unicode_escape").decode() for char in odd})


def all_of(count: int, what: str) -> str:
    """Return a count of things as the start of a sentence: "The node", "Both nodes", "All 3 nodes"."""
    return {1: f"The {what}", 2: f"Both {what}s"}.get(count, f"All {count} {what}s")


def counted(number: int, what: str) -> str:
    """Return a number of things: ``1 node``, ``4 nodes``."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is closest to the given one, ignoring case, or None.

    A name with the same letters comes first: two swapped letters are one typo, but difflib counts them as two.
    """
    if len(name) > _LONGEST_NAME:
        return None
    by_folded = {candidate.casefold(): candidate for candidate in itertools.islice(known, _MOST_COMPARED)}
    letters = sorted(name.casefold())
    matches = difflib.get_close_matches(name.casefold(), by_folded, n=5, cutoff=0.6)
    matches.sort(key=lambda match: sorted(match) != letters)
    return by_folded[matches[0]] if matches else None
