# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of nodes as Slurm writes them in short: ``gpu[01-04,7],login1``.

Format: https://slurm.schedmd.com/scontrol.html, of ``show hostlist`` and ``show hostnames``
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

_ENTRY = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_PART = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?")
_MOST = 100_000


def expand_hostlist(text: str) -> list[str]:
    """Return the names that a hostlist stands for, in its order. ValueError, with what is wrong, where it is none."""
    text = text.strip()
    entries = _ENTRY.findall(text)
    if ",".join(entries) != text or not text:
        raise ValueError(f"{text!r} is no hostlist such as gpu[01-04,7],login1")
    names: list[str] = []
    for entry in entries:
        parts = [_numbers(found[1]) if found[1] is not None else [found[2]] for found in _PART.finditer(entry)]
        names += ["".join(chosen) for chosen in itertools.islice(itertools.product(*parts), _MOST + 1)]
        if len(names) > _MOST:
            raise ValueError(f"{text!r} stands for more than {_MOST:,} hosts")
    return names


def _numbers(inside: str) -> list[str]:
    return [number for part in inside.split(",") for number in _numbers_of(part)]


def _numbers_of(part: str) -> Iterator[str]:
    found = _RANGE.fullmatch(part)
    if not found:
        raise ValueError(f"[{part}] is no number or range such as 01-04")
    first, last = found[1], found[2] or found[1]
    if int(last) < int(first) or int(last) - int(first) >= _MOST:
        raise ValueError(f"[{part}] is no range that can be counted up")
    return (f"{number:0{len(first)}}" for number in range(int(first), int(last) + 1))
