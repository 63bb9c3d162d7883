# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a growing log step by step, from where the last call ended.

What is read of a log stands in a *cursor*, a plain dict that survives JSON::

    {"offset": 5120, "fingerprint": 2774340567, "attempt": 1, "step": 7, "steps_total": 30}

``offset`` is the number of bytes read, ``fingerprint`` a checksum of the last of them, by which a log that was replaced
or cut off is noticed. ``step`` and ``steps_total`` are those of the last step line, null before the first.
"""

from __future__ import annotations

import os
import typing as t
import zlib

from ansible_collections.trainops.cluster.plugins.module_utils.logs._failures import (
    few_of_each_class,
    find_failures,
    open_message,
)
from ansible_collections.trainops.cluster.plugins.module_utils.logs._grammar import grammar_of
from ansible_collections.trainops.cluster.plugins.module_utils.logs._record import with_derived_metrics
from ansible_collections.trainops.cluster.plugins.module_utils.logs._text import line_start, plain

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from ansible_collections.trainops.cluster.plugins.module_utils.logs._grammar import Grammar

Cursor = t.Dict[str, t.Any]

# What is held of a log at one time. A line longer than this is cut here.
_CHUNK_BYTES = 4 << 20
# How much may follow a message of several lines before its end is no longer waited for.
_OPEN_MESSAGE_BYTES = 16 << 10
_FINGERPRINT_BYTES = 256
_TAIL_BYTES = 64 << 10
_TAIL_LINE_CHARACTERS = 400

_START: Cursor = {"offset": 0, "fingerprint": 0, "attempt": 1, "step": None, "steps_total": None}


def read_log(
    path: str,
    framework: str,
    cursor: Cursor | None = None,
    final: bool = False,
    tokens_per_step_per_gpu: float | None = None,
    max_bytes: int | None = None,
) -> dict[str, t.Any]:
    """Return what a log says beyond the cursor, in one pass over its bytes.

    The answer holds ``rows`` (step rows as in ``_record``, in the order of their first appearance), ``failures`` (as
    from ``find_failures``), ``summary`` (canonical metric -> float, as from the grammar) and the new ``cursor``.

    Only complete lines are read; the last one waits for its end unless the call is ``final``. An attempt begins where
    the step number goes back and where the log was replaced. A step that is printed twice in a row is no new attempt:
    within a call it is one row, in which the later values count; in two calls it is a row of each.

    ``tokens_per_step_per_gpu`` (tokens) fills in the token rate where the log has none. With ``max_bytes`` the call
    ends after the chunk in which that many bytes were read: call again until the cursor stays the same.

    A log that does not exist (yet) has nothing to say. Raises ValueError for a framework without grammar, a cursor that
    is none and a token count that is not positive, and OSError for a log that cannot be read.
    """
    grammar = grammar_of(framework)
    if tokens_per_step_per_gpu is not None and not tokens_per_step_per_gpu > 0:
        raise ValueError(f"tokens_per_step_per_gpu is {tokens_per_step_per_gpu!r}, but must be greater than 0")
    cursor = _checked(cursor)
    try:
        with open(path, "rb") as log:
            return _read(log, grammar, cursor, final, tokens_per_step_per_gpu, max_bytes)
    except FileNotFoundError:
        return {"rows": [], "failures": [], "summary": {}, "cursor": cursor}


def tail(path: str, lines: int = 20) -> list[str]:
    """Return the last lines of a log as a terminal would show them, each of at most 400 characters.

    At most 64 KiB are read. A log that does not exist has no lines; raises OSError for one that cannot be read.
    """
    try:
        with open(path, "rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(0, size - _TAIL_BYTES))
            text = plain(log.read(_TAIL_BYTES)).decode("utf-8", "replace")
    except FileNotFoundError:
        return []
    whole = text.replace("\r\n", "\n").split("\n")
    if size > _TAIL_BYTES and len(whole) > 1:
        del whole[0]
    # Of a line that a progress bar wrote over, what was written last.
    shown = [line.rstrip("\r").rpartition("\r")[2].rstrip() for line in whole]
    while shown and not shown[-1]:
        shown.pop()
    return [line[:_TAIL_LINE_CHARACTERS] for line in shown[-lines:]]


def _read(
    log: t.BinaryIO,
    grammar: Grammar,
    cursor: Cursor,
    final: bool,
    tokens_per_step_per_gpu: float | None,
    max_bytes: int | None,
) -> dict[str, t.Any]:
    if _fingerprint(log, cursor["offset"]) != cursor["fingerprint"]:
        # A log that takes the place of another is another attempt, unless the other one had no step yet.
        cursor = dict(_START, attempt=cursor["attempt"] + (cursor["step"] is not None))
    rows: dict[tuple[int, int], dict[str, t.Any]] = {}
    failures: list[dict[str, t.Any]] = []
    summary: dict[str, float] = {}
    for chunk in _chunks(log, cursor["offset"], final, max_bytes):
        text = plain(chunk)
        for found in grammar.parse(text):
            step = found["step"]
            if cursor["step"] is not None and step < cursor["step"]:
                cursor["attempt"] += 1
            cursor["step"], cursor["steps_total"] = step, found["steps_total"]
            key = (cursor["attempt"], step)
            earlier = rows[key]["metrics"] if key in rows else {}
            rows[key] = dict(found, attempt=cursor["attempt"], metrics=dict(earlier, **found["metrics"]))
        failures = few_of_each_class([*failures, *find_failures(text)])
        summary.update(grammar.summary(text))
        cursor["offset"] += len(chunk)
    cursor["fingerprint"] = _fingerprint(log, cursor["offset"])
    return {
        "rows": [with_derived_metrics(row, tokens_per_step_per_gpu) for row in rows.values()],
        "failures": failures,
        "summary": summary,
        "cursor": cursor,
    }


def _checked(cursor: Cursor | None) -> Cursor:
    if not cursor:
        return dict(_START)
    if set(cursor) != set(_START):
        raise ValueError(f"cursor has the keys {sorted(cursor)}, but must have {sorted(_START)}, as returned by a call")
    for key, least in (("offset", 0), ("fingerprint", 0), ("attempt", 1), ("step", 0), ("steps_total", 0)):
        value = cursor[key]
        if value is None and _START[key] is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"cursor.{key} is {value!r}, but must be a whole number of at least {least}")
    return dict(cursor)


def _fingerprint(log: t.BinaryIO, offset: int) -> int:
    """Return a checksum of what stands before the offset; in another log, other bytes stand there."""
    start = max(0, offset - _FINGERPRINT_BYTES)
    log.seek(start)
    return zlib.crc32(log.read(offset - start))


def _chunks(log: t.BinaryIO, offset: int, final: bool, max_bytes: int | None) -> Iterator[bytes]:
    """Yield what follows the offset in pieces that end with a line and do not tear a message of several lines."""
    end = None if max_bytes is None else offset + max_bytes
    while end is None or offset < end:
        log.seek(offset)
        block = log.read(_CHUNK_BYTES)
        at_end = len(block) < _CHUNK_BYTES
        if at_end and final:
            chunk = block
        else:
            chunk = block[: line_start(block, len(block))]
            opened = open_message(chunk)
            if opened is not None and (len(chunk) - opened < _OPEN_MESSAGE_BYTES if at_end else opened > 0):
                chunk = chunk[:opened]
            if not chunk and not at_end:
                chunk = block
        if not chunk:
            return
        yield chunk
        offset += len(chunk)
