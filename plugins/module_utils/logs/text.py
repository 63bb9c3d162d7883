# SPDX-License-Identifier: GPL-3.0-or-later
"""A log as bytes: without colours, with the beginning and the end of its lines."""

from __future__ import annotations

from .pattern import later

# ECMA-48 control sequences: colours, and the cursor movements of progress bars.
_CONTROL_SEQUENCE = later(rb"\x1b\[[0-?]*[ -/]*[@-~]")

_DIGITS_TO_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_MOST_TO_SPLIT = 1 << 20
_SHORT_LINE = 16


def plain(chunk: bytes) -> bytes:
    """Return the bytes without terminal control sequences."""
    return _CONTROL_SEQUENCE.sub(b"", chunk) if b"\x1b" in chunk else chunk


def without_digits(text: bytes) -> bytes:
    """Return the text with a zero for each digit: most lines of a log differ in nothing else."""
    return text.translate(_DIGITS_TO_ZEROS)


def distinct_lines(text: bytes) -> bytes:
    """Return each line of a text once, in any order: searching the result took a tenth of the time in a measurement.

    A list of all lines of a text that is large, or has hardly any but line ends, would take more memory than the text:
    it is returned as it is.
    """
    if len(text) >= _MOST_TO_SPLIT or text.count(b"\n") * _SHORT_LINE >= len(text):
        return text
    return b"\n".join(set(text.split(b"\n")))


def line_start(text: bytes, position: int) -> int:
    """Return the beginning of the line at the position; a carriage return ends a line too."""
    newline = text.rfind(b"\n", 0, position)
    return max(newline, text.rfind(b"\r", newline + 1, position)) + 1


def line_end(text: bytes, position: int) -> int:
    """Return the end of the line at the position, without its line end."""
    newline = text.find(b"\n", position)
    end = newline if newline >= 0 else len(text)
    carriage_return = text.find(b"\r", position, end)
    return carriage_return if carriage_return >= 0 else end
