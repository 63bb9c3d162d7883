# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a log piece by piece: whole lines, and on request whole messages of several lines."""

from __future__ import annotations

import os
import typing as t
from collections.abc import Iterator

from .failures import open_message
from .find import Piece
from .text import line_start

# How much of a log is in memory at one time: no more than fits into a processor's cache, because it is searched dozens
# of times.
_CHUNK_BYTES = 512 << 10
# So much of a line is read after a chunk. A line longer than a chunk is cut.
_LINE_BYTES = 16 << 10
# How much text may follow a message of several lines while its end is awaited.
_OPEN_MESSAGE_BYTES = 16 << 10
# Once a block of this size was freed, glibc keeps that much for itself. Otherwise it gives every chunk back
# and takes it again, page by page: measured, that takes as long as reading them.
_KEPT_BYTES = 8 << 20


class LogPart(t.NamedTuple):
    """A piece of a log, and which bytes of the log it is."""

    piece: Piece
    begin: int
    end: int


def new_parts(
    log: t.BinaryIO, begin: int, final: bool, max_bytes: int | None, whole_messages: bool
) -> Iterator[LogPart]:
    """Yield the log after the position, in parts that end with a line.

    If ``final`` is false, the last line may be half written and is left off. With ``max_bytes`` no part follows once
    that many bytes were yielded. With ``whole_messages`` a message of several lines that is torn at the end of the last
    part is left off too.
    """
    bytes(_KEPT_BYTES)
    enough = None if max_bytes is None else begin + max_bytes
    while enough is None or begin < enough:
        chunk = _chunk(log, begin)
        at_end = len(chunk) <= _CHUNK_BYTES
        if at_end and final:
            part = _whole(chunk, begin)
        else:
            last = at_end or (enough is not None and begin + len(chunk) >= enough)
            part = _whole_lines(chunk, begin, at_end, whole_messages and last)
        if part.end == begin:
            return
        yield part
        begin = part.end


def parts_with_whole_messages(log: t.BinaryIO, begin: int, end: int) -> Iterator[LogPart]:
    """Yield the log between two positions, in parts that do not tear messages of several lines."""
    while begin < end:
        chunk = _chunk(log, begin)[: end - begin]
        at_end = begin + len(chunk) >= end
        part = _whole(chunk, begin) if at_end else _whole_lines(chunk, begin, at_end, whole_messages=True)
        if part.end == begin:
            return
        yield part
        begin = part.end


def _chunk(log: t.BinaryIO, begin: int) -> bytes:
    # The end of the line is looked for first, because joining two reads would copy a whole chunk.
    behind = os.pread(log.fileno(), _LINE_BYTES, begin + _CHUNK_BYTES)
    log.seek(begin)
    return log.read(_CHUNK_BYTES + (behind.find(b"\n") + 1 or len(behind)))


def _whole(chunk: bytes, begin: int) -> LogPart:
    return LogPart(Piece(chunk), begin, begin + len(chunk))


def _whole_lines(chunk: bytes, begin: int, at_end: bool, whole_messages: bool) -> LogPart:
    """Return the chunk's part of the log up to the last place to cut.

    ``at_end`` says that nothing follows the chunk in the log. Elsewhere the part is never empty.
    """
    end = line_start(chunk, len(chunk))
    part = _whole(chunk if end == len(chunk) else chunk[:end], begin)
    opened = open_message(part.piece) if whole_messages else None
    if opened is not None:
        size = in_chunk(chunk[:end], part.piece, opened)
        if end - size < _OPEN_MESSAGE_BYTES if at_end else size > 0:
            part = _whole(chunk[:size], begin)
    return _whole(chunk, begin) if part.end == begin and not at_end else part


def in_chunk(chunk: bytes, piece: Piece, position: int) -> int:
    """Return the beginning of the line in the chunk that starts at the position in its piece."""
    if len(piece.text) == len(chunk):
        return position
    lines_before = piece.text.count(b"\n", 0, position)
    return len(chunk) - len(chunk.split(b"\n", lines_before)[-1])
