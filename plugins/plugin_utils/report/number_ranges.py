# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts that differ in their numbers only, as one text with the range of each number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# A number that stands by itself; one that is part of a name, of a list or of a time of day is text.
_NUMBER = re.compile(r"(?<![\w.,:/-])[−-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w:/-]|[.,]\w)")


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
    ranges = [_range(values) for values in zip(*map(_NUMBER.findall, texts), strict=True)]
    return "".join(part + number for part, number in zip(pattern.split("\1"), [*ranges, ""], strict=True))


def _range(values: Sequence[str]) -> str:
    low, high = min(values, key=_value), max(values, key=_value)
    return low if low == high else f"{low} – {high}"


def _value(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))
