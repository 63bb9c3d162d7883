# SPDX-License-Identifier: GPL-3.0-or-later
"""Size limits for hand-written files, so that reading, checking and reporting them takes seconds.

The largest CVS config has 12 KB, 210 values and strings of up to 728 characters; the largest NxDT example has 8 KB and
five interpolations.
"""

from __future__ import annotations

import os
import re
import stat
import typing as t

MOST_BYTES = 256 * 1024
MOST_VALUES = 3000
DEEPEST = 50
LONGEST_TEXT = 10_000
# Why a file is rejected, as the end of a sentence.
TOO_DEEP = f"lists and objects are nested more than {DEEPEST} deep"
TOO_LONG_A_TEXT = f"it has a string of more than {LONGEST_TEXT:,} characters"
# Python does not write longer numbers, and reads them only in hexadecimal.
_MOST_BITS = 4096
_SURROGATE = re.compile("[\ud800-\udfff]")
_KINDS = {stat.S_ISDIR: "a directory", stat.S_ISFIFO: "a FIFO", stat.S_ISSOCK: "a socket"}


def text_of(path: str, most_bytes: int = MOST_BYTES) -> str:
    """Return the text of a file; raise OSError or ValueError if it cannot be read. Do not wait for a FIFO or device."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise ValueError(f"it is {next((words for is_it, words in _KINDS.items() if is_it(mode)), 'a device')}")
        with open(descriptor, "rb", closefd=False) as stream:
            data = stream.read(most_bytes + 1)
    finally:
        os.close(descriptor)
    if reason := too_long(data, most_bytes):
        raise ValueError(reason)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None


def too_long(text: str | bytes, most: int = MOST_BYTES) -> str | None:
    """Return why a text, or its bytes, is too long to be read, or None."""
    return f"it has more than {most // 1024} KiB, more than any file of its kind needs" if len(text) > most else None


def over_budget(data: t.Any, most_values: int = MOST_VALUES) -> str | None:
    """Return which limit plain data exceeds, as the end of a sentence, or None."""
    level, count = [data], 0
    for _depth in range(DEEPEST + 1):
        inner: list[t.Any] = []
        for value in level:
            if isinstance(value, dict):
                inner += value.values()
            elif isinstance(value, list):
                inner += value
            for text in value if isinstance(value, dict) else [value]:
                if reason := _wrong_text(text):
                    return reason
            if isinstance(value, int) and value.bit_length() > _MOST_BITS:
                return "it has a number with more than 1,200 digits"
        count += len(inner)
        if count > most_values:
            return too_many_values(most_values)
        level = inner
        if not level:
            return None
    return TOO_DEEP


def _wrong_text(value: t.Any) -> str | None:
    """Return the fault in a text; None if there is none, or if the value is not text."""
    if not isinstance(value, str):
        return None
    if len(value) > LONGEST_TEXT:
        return TOO_LONG_A_TEXT
    return "it has half a character (an unpaired surrogate)" if _SURROGATE.search(value) else None


def too_many_values(most: int = MOST_VALUES) -> str:
    """Return that there are too many values, as the end of a sentence."""
    return f"it has more than {most:,} values"
