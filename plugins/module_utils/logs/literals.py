# SPDX-License-Identifier: GPL-3.0-or-later
"""The literal texts that a regular expression cannot match without: they are found far faster than it is compiled."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterator
from functools import lru_cache

from .pattern import later
from .text import without_digits

Texts = t.Tuple[bytes, ...]

# A character that is repeated or optional is not part of a literal, and the content of (?!…) is passed over.
_TOKEN = later(
    rb"(?P<literal>(?:[^\\\[\](){}|?*+.^$]+|\\[^\w\s\\])+(?![?*+{]))|(?P<group>\((?:\?P<\w+>|\?[ims]?:|\?<?=|(?!\?)))"
    rb"|(?P<passed>\((?!\?i\)))|(?P<optional>\)(?:[?*]|\{0?,))|(?P<end>\))|(?P<or>\|)"
    rb"|\(\?i\)|\[\^?\]?(?:\\.|[^\]\\])*\]|\{[\d,]*\}|\\.",
    re.DOTALL,
)

# Most lines that may report a failure have one of these, so any other literal is more specific.
_COMMON = later(rb"[: ]?(?:e?rror|fail(?:ed)?|exception|warning|rank|code|status|[0: ]*):? ?")


@lru_cache(maxsize=None)
def literals_of(pattern: bytes) -> Texts:
    """Return texts in lower case and without digits: each match contains one. There may be none."""
    return tuple(map(_plain, _literals(_TOKEN.finditer(pattern))[0]))


def _literals(tokens: Iterator[re.Match[bytes]]) -> tuple[Texts, bool]:
    """Return the literals of the group whose tokens are next, and whether it may be left out."""
    branches: list[Texts] = []
    best: Texts = ()
    best_worth = 0
    kind = None
    for token in tokens:
        kind = token.lastgroup
        if kind == "literal":
            found: Texts = (token.group().replace(b"\\", b""),)
        elif kind in ("group", "passed"):
            found, optional = _literals(tokens)
            if optional or kind == "passed":
                continue
        elif kind == "or":
            branches.append(best)
            best, best_worth = (), 0
            continue
        elif kind in ("end", "optional"):
            break
        else:
            continue
        worth = min(map(_worth, found), default=0)
        if worth > best_worth:
            best, best_worth = found, worth
    branches.append(best)
    return tuple(text for branch in branches for text in branch) if all(branches) else (), kind == "optional"


def _plain(literal: bytes) -> bytes:
    return without_digits(literal.lower())


def _worth(literal: bytes) -> int:
    plain = _plain(literal)
    return min(len(plain), 2) if _COMMON.fullmatch(plain) else len(plain)
