# SPDX-License-Identifier: GPL-3.0-or-later
"""How many ranks a process says that there are. One that silently trains alone sees fewer than the run has."""

from __future__ import annotations

from collections.abc import Iterable

from .find import Piece, Printed

# The next text shows that the number is complete.
RANKS = rb"(\d{1,9})(?=\D)"


def last_world_size(printed: Iterable[Printed], piece: Piece) -> int | None:
    """Return the number of ranks, `RANKS`, that is reported last in the piece, or None."""
    found = [match for one in printed for match in one.matches(piece)]
    last = max(found, key=lambda match: match.start(), default=None)
    return int(last.group(1)) if last else None
