# SPDX-License-Identifier: GPL-3.0-or-later
"""The wording of faults: keys, values, lists and counts."""

from __future__ import annotations

import difflib
import itertools
import json
import re
import reprlib
import typing as t
from collections import Counter
from collections.abc import Iterable

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
# Longer lists are unreadable in a sentence, and longer names are not compared.
_MOST_NAMES, _LONGEST_NAME, _MOST_COMPARED = 40, 100, 2000
# In a long name, two wrong letters still count as a typo.
_LONG_ENOUGH_FOR_TWO = 12
_DIGITS = re.compile("[0-9]+")
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
    """Return a value for use in a sentence: short, in JSON notation."""
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


def every(count: int) -> str:
    """Return a count that includes all things: "both", "all 16"."""
    return {2: "both"}.get(count, f"all {count}")


def as_sentence(text: str) -> str:
    """Return a text with a full stop, unless it already ends like a sentence; it may end with a quotation."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


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


def misspelled(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that the given one seems to misspell, or None.

    A typo is one letter that is wrong, missing, added or swapped with the next, or two in a name of 12 or more letters.
    Other names may be valid here, unlike with `nearest`, so merely similar names are not typos, nor are names that
    differ in a number.
    """
    if len(name) > _LONGEST_NAME:
        return None
    most = 1 if len(name) < _LONG_ENOUGH_FOR_TWO else 2
    without_digits, letters, close = _DIGITS.sub("", name), Counter(name), []
    for other in itertools.islice(known, _MOST_COMPARED):
        if _DIGITS.sub("", other) == without_digits:
            return None
        # Each typo puts at most one letter in the place of another. To count letters is far cheaper than to align them.
        if abs(len(other) - len(name)) <= most and (letters - Counter(other)).total() <= most:
            close.append(other)
    apart = {other: _typos(name, other) for other in close}
    near = min(apart, key=lambda other: (apart[other], other), default=None)
    return near if near is not None and apart[near] <= most else None


def _typos(one: str, other: str) -> int:
    """Return the fewest letters to change, add, take out or swap with the next to get from one text to the other."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        this = [row]
        for column, wanted in enumerate(other, 1):
            least = min(last[column] + 1, this[-1] + 1, last[column - 1] + (letter != wanted))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == wanted:
                least = min(least, before[column - 2] + 1)
            this.append(least)
        before, last = last, this
    return last[-1]
