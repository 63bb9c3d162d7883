# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A piece of a log as it is read: without control sequences, and literal texts are found in it fast."""

from __future__ import annotations

import sys
import typing as t

from ansible_collections.trainops.cluster.plugins.module_utils.logs._text import plain

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Find = Callable[[bytes, int], int]


def _finder_of_the_c_library() -> Callable[[bytes], Find] | None:
    """Return a ``finder`` for texts without zero bytes that uses the C library, or None where that cannot be had.

    ``bytes.find`` looks at 1 to 5 bytes at a time, glibc's strstr at 16 to 64: measured, it is 10 to 30 times as fast.
    That decides here, because dozens of texts are looked for, and nearly all of a log has none of them.
    """
    # Only of CPython it is known that bytes stay where they are in memory, and that the zero of a C text follows them.
    if sys.implementation.name != "cpython":
        return None
    try:
        import ctypes  # noqa: PLC0415 # some builds of Python have none

        strstr = ctypes.PyDLL(None).strstr
    except (ImportError, OSError, AttributeError, TypeError, MemoryError):
        return None
    strstr.restype = ctypes.c_void_p
    strstr.argtypes = (ctypes.c_void_p, ctypes.c_char_p)

    def c_finder(text: bytes) -> Find:
        address = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value or 0

        # The default value keeps the text alive, whose memory is read here.
        def find(needle: bytes, start: int, _text: bytes = text) -> int:
            found = strstr(address + start, needle)
            return -1 if found is None else found - address

        return find

    return c_finder


_C_FINDER = _finder_of_the_c_library()


def finder(text: bytes) -> Find:
    """Return a function that does what ``text.find(needle, start)`` does; ``start`` is 0 to the length of the text."""
    if _C_FINDER is None or b"\0" in text:
        return text.find
    return _C_FINDER(text)


class Piece:
    """A piece of a log, which all who read it share.

    ``text`` is without terminal control sequences. ``find(needle, start)`` is ``text.find``, but faster.
    """

    __slots__ = ("find", "text")

    def __init__(self, chunk: bytes) -> None:
        """Take the bytes as they stand in the log."""
        self.text = plain(chunk)
        self.find = finder(self.text)

    def positions(self, needles: Iterable[bytes]) -> Iterator[int]:
        """Yield where any of the needles stands, in ascending order."""
        found = []
        for needle in needles:
            position = self.find(needle, 0)
            while position >= 0:
                found.append(position)
                position = self.find(needle, position + len(needle))
        return iter(sorted(found))
