# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a node's text safe to keep and show: without terminal controls, invisible characters and tokens."""

from __future__ import annotations

import codecs
import re

from ..module_utils.logs.tokens import without_tokens

_LINE_CHARACTERS = 16 << 10
# A line that goes on for longer is taken apart.
_OPEN_LINE_CHARACTERS = 1 << 20

# ECMA-48: strings with a terminator (OSC, DCS, SOS, PM, APC), control sequences, other escapes; in 7 and in 8 bits.
_SEQUENCES = re.compile(
    r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]*[0-~]"
)
# C0 except tab and newline, DEL, C1, and lone surrogates, which no file can contain.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
# What shows a text in another order than it has, joins or has no width: marks of direction, spaces, fillers and tags.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff]"
)
_REPLACEMENT = "\ufffd"


def plain_text(text: str) -> str:
    """Return a text without control characters, escape sequences and tokens; a carriage return becomes a newline.

    U+FFFD replaces each character that would reorder the others, or be invisible.
    """
    if _CONTROLS.search(text):
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        text = _CONTROLS.sub("", _SEQUENCES.sub("", text))
    # Last, so that nothing invisible takes a token apart.
    return without_tokens(text if text.isascii() else _INVISIBLE.sub(_REPLACEMENT, text))


def one_line(text: str) -> str:
    """Return a text as one line of at most 16 Ki characters, without control characters but tabs."""
    return plain_text(text[: 2 * _LINE_CHARACTERS]).replace("\n", " ")[:_LINE_CHARACTERS]


class PlainLog:
    """Makes plain text of a log that comes in parts of bytes, which may tear a character or a sequence."""

    def __init__(self) -> None:
        """Begin a log."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._open_line = ""

    def add(self, part: bytes, final: bool = False) -> str:
        """Return what can be said with one more part, whole lines but for the end of the log."""
        text = self._open_line + self._decoder.decode(part, final)
        end = len(text) if final or len(text) > _OPEN_LINE_CHARACTERS + len(part) else text.rfind("\n") + 1
        self._open_line = text[end:]
        return plain_text(text[:end])
