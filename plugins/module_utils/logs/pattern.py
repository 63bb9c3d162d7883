# SPDX-License-Identifier: GPL-3.0-or-later
"""Regular expressions that are compiled where they are first used.

Reading a log loads some 70 of them, and a typical piece of it needs a few: to compile them all took half of the
processor time of an answer.
"""

from __future__ import annotations

import re
import typing as t
from functools import lru_cache

compiled = lru_cache(maxsize=None)(re.compile)


class _Later:
    """Stands for a pattern, and has its attributes."""

    def __init__(self, *given: t.Any) -> None:
        self._given = given

    def __getattr__(self, name: str) -> t.Any:
        found = self.__dict__[name] = getattr(compiled(*self._given), name)
        return found


def later(pattern: t.AnyStr, flags: int = 0) -> re.Pattern[t.AnyStr]:
    """Return a pattern that is compiled when it is used."""
    return t.cast("re.Pattern[t.AnyStr]", _Later(pattern, flags))
