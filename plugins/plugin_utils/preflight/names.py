# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of many nodes in few letters: gpu01 to gpu16 and gpu19 become ``gpu[01-16,19]``, as schedulers write them."""

from __future__ import annotations

import re
from collections.abc import Iterable

_LAST_NUMBER = re.compile(r"(?P<before>.*?)(?P<number>[0-9]+)(?P<after>[^0-9]*)")


def folded(names: Iterable[str]) -> str:
    """Return names with those folded into one that differ in their last number only; a name by itself stays."""
    families: dict[tuple[str, str, int], list[int]] = {}
    others = []
    for name in names:
        parts = _LAST_NUMBER.fullmatch(name)
        if parts:
            # Those with leading zeros keep their width.
            width = len(parts["number"]) if parts["number"].startswith("0") else 0
            families.setdefault((parts["before"], parts["after"], width), []).append(int(parts["number"]))
        else:
            others.append(name)
    return ",".join([*_of_families(families), *others])


def _of_families(families: dict[tuple[str, str, int], list[int]]) -> Iterable[str]:
    for (before, after, width), numbers in _joined(families).items():
        ranges = [
            f"{first:0{width}}" if first == last else f"{first:0{width}}-{last:0{width}}"
            for first, last in _ranges(sorted(numbers))
        ]
        yield f"{before}{ranges[0]}{after}" if len(numbers) == 1 else f"{before}[{','.join(ranges)}]{after}"


def _joined(families: dict[tuple[str, str, int], list[int]]) -> dict[tuple[str, str, int], list[int]]:
    """Return the families with 10 and 100 put to 01: numbers that are as wide as the zero-led ones, or wider."""
    joined = {family: list(numbers) for family, numbers in families.items() if family[2]}
    for (before, after, width), numbers in families.items():
        for number in () if width else numbers:
            fitting = [one for one in joined if one[:2] == (before, after) and 0 < one[2] <= len(str(number))]
            joined.setdefault(fitting[0] if fitting else (before, after, 0), []).append(number)
    return joined


def _ranges(numbers: list[int]) -> Iterable[tuple[int, int]]:
    first = last = numbers[0]
    for number in numbers[1:]:
        if number != last + 1:
            yield first, last
            first = number
        last = number
    yield first, last
