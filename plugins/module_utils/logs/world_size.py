# SPDX-License-Identifier: GPL-3.0-or-later
"""How many ranks a process says that there are. One that silently trains alone sees fewer than the run has."""

from __future__ import annotations

import re
import typing as t

from .find import Piece

# What follows shows that the number is whole.
RANKS = rb"(\d{1,9})(?=\D)"


class WorldSize(t.NamedTuple):
    """How a trainer says how many ranks there are: texts to look for, and a pattern that matches where one stands.

    The last group of the pattern that matches is the number, `RANKS`.
    """

    needles: tuple[bytes, ...]
    pattern: bytes


def last_world_size(grammar: WorldSize, piece: Piece) -> int | None:
    """Return the number of ranks that is reported last in the piece, or None where none is."""
    number = None
    for start in piece.positions(grammar.needles):
        found = re.compile(grammar.pattern).match(piece.text, start)
        number = int(found.group(found.lastindex or 0)) if found else number
    return number
