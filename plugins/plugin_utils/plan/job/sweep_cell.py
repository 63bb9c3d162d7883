# SPDX-License-Identifier: GPL-3.0-or-later
"""One run of a sweep."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

# It becomes a part of folder and container names.
LONGEST_NAME = 60
# Each is a run.
MOST_CELLS = 256


@dataclass(frozen=True)
class Cell:
    """One run of a sweep: its name, and the values by the keys of the config that they take the place of."""

    name: str
    values: dict[str, t.Any]
