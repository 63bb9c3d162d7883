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


def failures_behind(path: str, framework: str, steps: int) -> list[dict[str, t.Any]]:
    """Return the failures at the end of a log that fewer than ``steps`` steps follow, as from ``find_failures``.

    Raises OSError for a log that cannot be read.
    """
    return find_failures(Piece(_behind(end_of(path), framework, steps)))


def end_of(path: str) -> bytes:
    """Return the last 64 MiB of a log; raises OSError for one that cannot be read."""
    with open(path, "rb") as log:
        log.seek(max(0, log.seek(0, os.SEEK_END) - _LAST_BYTES))
        return log.read()


def _behind(text: bytes, framework: str, steps: int) -> bytes:
    parse = grammar_of(framework).parse

    def few_behind(place: int) -> bool:
        return len({found["step"] for found in parse(Piece(text[line_start(text, place) :]), {})}) < steps

    # The more lines are left off, the fewer steps follow: so the first line with few behind it can be bisected. A list
    # of all lines would take more memory than the text, which may be nothing but line ends.
    few = 0 if few_behind(0) else len(text)
    many = 0
    while many < few:
        middle = (many + few) // 2
        if few_behind(middle):
            few = middle
        else:
            many = middle + 1
    return text[few:]
