# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many ranks a process says that there are. One that silently trains alone sees fewer than the run has."""

from __future__ import annotations

import re
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Iterable

    from ansible_collections.trainops.cluster.plugins.module_utils.logs._find import Piece

# What follows shows that the number is whole.
_NUMBER = re.compile(rb"(\d{1,9})(?=\D)")


def last_number_behind(labels: Iterable[bytes], piece: Piece) -> int | None:
    """Return the number that follows one of the labels for the last time in the piece, or None where none does."""
    number = None
    for label in labels:
        for start in piece.positions((label,)):
            found = _NUMBER.match(piece.text, start + len(label))
            number = int(found.group(1)) if found else number
    return number
