# SPDX-License-Identifier: GPL-3.0-or-later
"""Slurm's compact lists of node names: ``gpu[01-04,7],login1``.

Format: https://slurm.schedmd.com/scontrol.html, of ``show hostlist`` and ``show hostnames``
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator

_ENTRY = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_PART = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_MOST = 100_000
# In characters: Slurm itself accepts no longer one.
_LONGEST = 1024 * 1024


def expand_hostlist(text: str) -> list[str]:
    """Return the names in a hostlist, in order; raise ValueError, with the reason, if it is invalid."""
    text = text.strip()
    if len(text) > _LONGEST:
        raise ValueError(f"the hostlist has {len(text):,} characters; at most {_LONGEST:,} are allowed")
    entries = _ENTRY.findall(text)
    if ",".join(entries) != text or not text:
        raise ValueError(f"{text!r} is not a hostlist such as gpu[01-04,7],login1")
    names: list[str] = []
    for entry in entries:
        parts = [_Numbers(found[1]) if found[1] is not None else [found[2]] for found in _PART.finditer(entry)]
        if len(names) + math.prod(map(len, parts)) > _MOST:
            raise ValueError(f"{text!r} expands to more than {_MOST:,} hosts")
        names += ["".join(chosen) for chosen in itertools.product(*parts)]
    return names


class _Numbers:
    """The numbers between brackets, counted before they are generated."""

    def __init__(self, inside: str) -> None:
        self._ranges = [_range_of(part) for part in inside.split(",")]

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last, _digits in self._ranges)

    def __iter__(self) -> Iterator[str]:
        return (f"{number:0{digits}}" for first, last, digits in self._ranges for number in range(first, last + 1))


def _range_of(part: str) -> tuple[int, int, int]:
    """Return the first and the last number of a range, and their minimum number of digits."""
    found = _RANGE.fullmatch(part)
    if not found:
        raise ValueError(f"[{part}] is not a number or a range such as 01-04")
    first, last = found[1], found[2] or found[1]
    if int(last) < int(first) or int(last) - int(first) >= _MOST:
        raise ValueError(f"[{part}] is not an ascending range of at most {_MOST:,} numbers")
    return int(first), int(last), len(first)
