# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a log tells behind its last steps."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.trainops.cluster.plugins.module_utils.logs._failures import find_failures
from ansible_collections.trainops.cluster.plugins.module_utils.logs._find import Piece
from ansible_collections.trainops.cluster.plugins.module_utils.logs._grammar import grammar_of
from ansible_collections.trainops.cluster.plugins.module_utils.logs._text import line_start

# A failure further in front of the end is not looked for.
_LAST_BYTES = 64 << 20
# Where the last steps are looked for first. A log of gigabytes would take long to be taken apart once more.
_FIRST_LOOK_BYTES = 64 << 10


def failures_behind(path: str, framework: str, steps: int) -> list[dict[str, t.Any]]:
    """Return the failures at the end of a log that fewer than ``steps`` steps follow, as from ``find_failures``.

    A log that does not exist has none; raises OSError for one that cannot be read.
    """
    size, text = _FIRST_LOOK_BYTES, end_of(path, _FIRST_LOOK_BYTES)
    while size < _LAST_BYTES and len(text) == size and _few_behind(text, 0, framework, steps):
        size *= 4
        text = end_of(path, size)
    return find_failures(Piece(_behind(text, framework, steps)))


def end_of(path: str, size: int = _LAST_BYTES) -> bytes:
    """Return the last bytes of a log, none where it does not exist; raises OSError for one that cannot be read."""
    try:
        with open(path, "rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - size))
            return log.read()
    except FileNotFoundError:
        return b""


def _behind(text: bytes, framework: str, steps: int) -> bytes:
    # The more lines are left off, the fewer steps follow: so the first line with few behind it can be bisected. A list
    # of all lines would take more memory than the text, which may be nothing but line ends.
    few = 0 if _few_behind(text, 0, framework, steps) else len(text)
    many = 0
    while many < few:
        middle = (many + few) // 2
        if _few_behind(text, middle, framework, steps):
            few = middle
        else:
            many = middle + 1
    return text[few:]


def _few_behind(text: bytes, place: int, framework: str, steps: int) -> bool:
    """Tell whether fewer than ``steps`` steps stand in the line of the place and behind it."""
    found = grammar_of(framework).parse(Piece(text[line_start(text, place) :]), {})
    return len({step["step"] for step in found}) < steps
