# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts that differ in their numbers only, as one text with the range of each number, or all of its values.

What has a unit or decimals was measured, and a range says what it is about. Other numbers may be names for something,
such as an exit status, and none of those in between was seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# A number that stands by itself; one that is part of a name, of a list or of a time of day is text.
_NUMBER = re.compile(r"(?<![\w.,:/-])[−-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w:/-]|[.,]\w)")
# A measured number has one of these units after it.
_UNIT = re.compile(r" ?(?:%|°C|(?:ms|s|seconds?|minutes?|hours?|days?|[KMGT]i?B(?:/s)?|Gbit/s|W|MHz|GT/s)(?!\w))")
# More values than anybody compares.
_MOST_LISTED = 8


def in_ranges(texts: Iterable[str], fewest: int = 2) -> dict[str, str]:
    """Return by text what it shares with those that differ from it in numbers only: ``it took 420.6 – 423.8 ms``.

    Where there are not even the ``fewest`` such texts, each stays as it is.
    """
    alike: dict[str, list[str]] = {}
    for text in dict.fromkeys(texts):
        alike.setdefault(_NUMBER.sub("\1", text), []).append(text)
    return {
        text: _shared(pattern, members) if len(members) >= fewest else text
        for pattern, members in alike.items()
        for text in members
    }


def _shared(pattern: str, texts: Sequence[str]) -> str:
    first, *after = pattern.split("\1")
    of_each = zip(*map(_NUMBER.findall, texts), strict=True)
    return first + "".join(_all_of(values, text) + text for values, text in zip(of_each, after, strict=True))


def _all_of(values: Sequence[str], after: str) -> str:
    """Return the values of a number as one, given the text after it."""
    *others, last = sorted(dict.fromkeys(values), key=_value)
    if not others:
        return last
    was_measured = _UNIT.match(after) or any("." in value for value in values)
    if was_measured or len(others) >= _MOST_LISTED:
        return f"{others[0]} – {last}"
    return f"{', '.join(others)} and {last}"


def _value(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))
