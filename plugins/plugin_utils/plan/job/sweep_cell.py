# SPDX-License-Identifier: GPL-3.0-or-later
"""One run of a sweep."""

from __future__ import annotations

import hashlib
import json
import re
import typing as t
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

# It becomes part of folder and container names.
_LONGEST_NAME = 60
_OF_ATTEMPT = re.compile(r"-[0-9]+$")
# Each is a run.
MOST_CELLS = 256


@dataclass(frozen=True)
class Cell:
    """One run of a sweep: its name, its values by the config keys that they replace, and its name in the config."""

    name: str
    values: dict[str, t.Any]
    name_in_config: str = ""


def cell_names(names: Iterable[str], told: Iterable[t.Any]) -> list[str]:
    """Return unique names of cells for use in folder names.

    A name that is too long, that two cells share, or that a further attempt at another cell would get, ends with a
    digest of the cell's ``told`` values.
    """
    plain = [re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_.-") for name in names]
    counts = Counter(plain)

    def is_own(name: str) -> bool:
        cell = _OF_ATTEMPT.sub("", name)
        return 0 < len(name) <= _LONGEST_NAME and counts[name] == 1 and (cell == name or cell not in counts)

    return [name if is_own(name) else _shortened(name, of_cell) for name, of_cell in zip(plain, told, strict=True)]


def _shortened(name: str, of_cell: t.Any) -> str:
    digest = hashlib.sha256(json.dumps(of_cell, sort_keys=True).encode()).hexdigest()[:8]
    return f"{name[: _LONGEST_NAME - 9].strip('_.-')}-{digest}".strip("-")
