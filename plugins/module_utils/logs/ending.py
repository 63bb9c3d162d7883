# SPDX-License-Identifier: GPL-3.0-or-later
"""What a log tells behind its last steps."""

from __future__ import annotations

import os
import typing as t
from itertools import groupby
from operator import itemgetter

from .failures import find_failures
from .find import Piece
from .frameworks.known import grammar_of
from .grammar import Grammar
from .text import line_start

# A failure that so many steps follow was survived. One is not enough: ranks print on while another one has failed.
STEPS_TO_SURVIVE = 3
# A failure further in front of the end is not looked for.
_LAST_BYTES = 64 << 20
# Where the last steps are looked for first, in a log and in lines of it: to take all of it apart would take long.
_FIRST_LOOK_BYTES = 64 << 10
_LAST_STEPS_BYTES = 8 << 10


def failures_at_end(path: str, framework: str) -> list[dict[str, t.Any]]:
    """Return the failures behind the last step of a log, as from ``find_failures``.

    A log that does not exist has none; raises OSError for one that cannot be read.
    """
    grammar = grammar_of(framework)
    size, text = _FIRST_LOOK_BYTES, end_of(path, _FIRST_LOOK_BYTES)
    while size < _LAST_BYTES and len(text) == size and _few_behind(text, 0, grammar, 1):
        size *= 4
        text = end_of(path, size)
    return find_failures(Piece(text[begin_of_few(text, grammar, 1) :]))


def end_of(path: str, size: int = _LAST_BYTES) -> bytes:
    """Return the last bytes of a log, none where it does not exist; raises OSError for one that cannot be read."""
    try:
        with open(path, "rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - size))
            return log.read()
    except FileNotFoundError:
        return b""


def begin_of_few(text: bytes, grammar: Grammar, steps: int) -> int:
    """Return the place in some lines of a log from which on there are fewer than ``steps`` steps."""
    size = _LAST_STEPS_BYTES
    while size < len(text) and _few_behind(text, len(text) - size, grammar, steps):
        size *= 4
    many, few = max(0, len(text) - size), len(text)
    if _few_behind(text, many, grammar, steps):
        return many
    # The more lines are left off, the fewer steps follow: so the first line with few behind it can be bisected. A list
    # of all lines would take more memory than the text, which may be nothing but line ends.
    while many < few:
        middle = (many + few) // 2
        if _few_behind(text, middle, grammar, steps):
            few = middle
        else:
            many = middle + 1
    return few


def _few_behind(text: bytes, place: int, grammar: Grammar, steps: int) -> bool:
    """Tell whether fewer than ``steps`` steps stand in the line of the place and behind it."""
    found = grammar.parse(Piece(text[line_start(text, place) :]), {})
    return sum(1 for _step in groupby(found, itemgetter("step"))) < steps
