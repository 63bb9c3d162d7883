# SPDX-License-Identifier: GPL-3.0-or-later
"""A piece of a log as it is read: without control sequences, and literal texts are found in it fast."""

from __future__ import annotations

import re
import sys
import typing as t
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain

from .text import plain

Find = t.Callable[[bytes, int], int]
FindAll = t.Callable[[bytes], t.List[int]]

# For shorter texts, loading the C library costs more than it saves.
_LARGE_BYTES = 8 << 10


@lru_cache(maxsize=None)
def _finders_of_the_c_library() -> Callable[[bytes], tuple[Find, FindAll]] | None:
    """Return ``_finders`` for texts without zero bytes that uses the C library, or None if it is not available.

    ``bytes.find`` looks at 1 to 5 bytes at a time, glibc's strstr at 16 to 64: it measured 10 to 30 times as fast. That
    matters here, because dozens of texts are searched for, and nearly all of a log contains none of them.
    """
    # Only CPython is known to keep bytes at one place in memory, with the zero of a C text after them.
    if sys.implementation.name != "cpython":
        return None
    try:
        import ctypes  # noqa: PLC0415 # some builds of Python have none

        strstr = ctypes.PyDLL(None).strstr
    except (ImportError, OSError, AttributeError, TypeError, MemoryError):
        return None
    strstr.restype = ctypes.c_void_p
    strstr.argtypes = (ctypes.c_void_p, ctypes.c_char_p)

    def c_finders(text: bytes) -> tuple[Find, FindAll]:
        address = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value or 0

        # The default value keeps the text alive, whose memory is read here.
        def find(needle: bytes, start: int, _text: bytes = text) -> int:
            found = strstr(address + start, needle)
            return -1 if found is None else found - address

        def find_all(needle: bytes, _text: bytes = text) -> list[int]:
            positions = []
            found = strstr(address, needle)
            while found is not None:
                positions.append(found - address)
                found = strstr(found + len(needle), needle)
            return positions

        return find, find_all

    return c_finders


def _finders(text: bytes) -> tuple[Find, FindAll]:
    """Return functions equivalent to ``text.find(needle, start)``, and to finding all positions of the needles."""
    c_finders = _finders_of_the_c_library() if len(text) >= _LARGE_BYTES and b"\0" not in text else None
    return c_finders(text) if c_finders else (text.find, lambda needle: _all_in(text, needle))


def _all_in(text: bytes, needle: bytes) -> list[int]:
    positions = []
    found = text.find(needle)
    while found >= 0:
        positions.append(found)
        found = text.find(needle, found + len(needle))
    return positions


def finder(text: bytes) -> Find:
    """Return a function equivalent to ``text.find(needle, start)``; ``start`` is 0 to the length of the text."""
    return _finders(text)[0]


class Piece:
    """A piece of a log, which all who read it share.

    ``text`` is without terminal control sequences. ``find(needle, start)`` is ``text.find``, but faster.
    """

    __slots__ = ("_find_all", "find", "text")

    def __init__(self, chunk: bytes) -> None:
        """Take the bytes as they are in the log."""
        self.text = plain(chunk)
        self.find, self._find_all = _finders(self.text)

    def positions(self, needles: Iterable[bytes]) -> Iterator[int]:
        """Yield the positions of all needles, in ascending order."""
        return iter(sorted(chain.from_iterable(map(self._find_all, needles))))


class Printed(t.NamedTuple):
    """A text that a trainer prints: a piece without the ``needle`` has none, and ``pattern`` matches it."""

    needle: bytes
    pattern: bytes

    def matches(self, piece: Piece) -> Iterator[re.Match[bytes]]:
        """Return its positions in a piece, in that order."""
        return re.finditer(self.pattern, piece.text) if piece.find(self.needle, 0) >= 0 else iter(())
