# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds failures in a training log."""

from __future__ import annotations

import re
import typing as t
from itertools import islice
from operator import itemgetter

from ansible_collections.trainops.cluster.plugins.module_utils.logs._find import finder
from ansible_collections.trainops.cluster.plugins.module_utils.logs._signatures import (
    PYTHON_ERROR,
    SIGNATURES,
    TRACEBACK,
    Signature,
)
from ansible_collections.trainops.cluster.plugins.module_utils.logs._text import line_end, line_start, plain

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ansible_collections.trainops.cluster.plugins.module_utils.logs._find import Find

_FEW = 3
_LINE_CHARACTERS = 400

# mark -> the numbers of the signatures that have it
_MARKS: dict[bytes, tuple[int, ...]] = {}
for _number, _signature in enumerate(SIGNATURES):
    for _mark in _signature.marks:
        _MARKS[_mark] = (*_MARKS.get(_mark, ()), _number)

# torchrun's and Primus' prefixes: "[rank3]: ", "[rank-7/8]".
_OWN_RANK = re.compile(rb"\[rank-?(\d+)[\]/]")
_RANK_PREFIX = re.compile(rb"\[rank\d+\]: ?$")
_LINE = re.compile(rb"[^\r\n]+")
_FRAME = re.compile(rb'\s+File "([^"\r\n]*)", line')
# The launch scripts of ROCm Megatron-LM ask for RDMA links and average at the end in Python; both fail without harm.
_HELPER_FILE = re.compile(rb"<string>$|/json/|mean_log_value\.py$")
_TRACEBACK_LINES = 300

# How messages of several lines begin, and what must have followed for them to be understood.
_MESSAGES = (
    (
        TRACEBACK,
        re.compile(rb"^(?:\[[^\]\r\n]*\][: ]*)*(?:\w+\.)*\w+(?:Error|Exception|Exit|Interrupt)\b", re.MULTILINE),
    ),
    (b"Root Cause (first observed failure):", re.compile(rb"exitcode\s+: [^\r\n]*")),
    (b"(stopped sending heartbeats):", re.compile(rb"/task:\d+")),
)


def find_failures(chunk: bytes) -> list[dict[str, t.Any]]:
    """Return the failures that some lines of a log tell of, in their order, at most three of a class.

    Each is ``{"class", "blame", "echo", "remedy", "line", "rank", "exit_code"}``; the first four are those of its
    ``Signature``. ``line`` is the evidence, one line of at most 400 characters. ``rank`` is the rank or, of JAX, the
    task (process) that the text blames or, where it is no echo, that printed it; ``rank`` and ``exit_code`` are null
    where the text has none. A line is one failure, of the first signature that matches.
    """
    text = plain(chunk)
    find = finder(text)
    told: dict[int, tuple[Signature, re.Match[bytes]]] = {}
    for start, numbers in _marked_lines(text, find).items():
        first = _first_match(text, start, sorted(numbers))
        if first:
            told[start] = first
    for last in _exceptions(text, find):
        told.setdefault(line_start(text, last.start()), (PYTHON_ERROR, last))
    count: dict[str, int] = {}
    failures = []
    for _start, (signature, match) in sorted(told.items(), key=itemgetter(0)):
        count[signature.failure] = count.get(signature.failure, 0) + 1
        if count[signature.failure] <= _FEW:
            failures.append(_failure(signature, text, match))
    return failures


def few_of_each_class(failures: Iterable[dict[str, t.Any]]) -> list[dict[str, t.Any]]:
    """Return the first three failures of each class, in the order given."""
    count: dict[str, int] = {}
    kept = []
    for failure in failures:
        count[failure["class"]] = count.get(failure["class"], 0) + 1
        if count[failure["class"]] <= _FEW:
            kept.append(failure)
    return kept


def open_message(chunk: bytes) -> int | None:
    """Return where the line begins with which a message of several lines began that has not ended yet, or None."""
    find = finder(chunk)
    starts = []
    for opening, closing in _MESSAGES:
        if find(opening, 0) >= 0:
            start = chunk.rfind(opening)
            if not closing.search(plain(chunk[start:])):
                starts.append(line_start(chunk, start))
    return min(starts, default=None)


def _marked_lines(text: bytes, find: Find) -> dict[int, set[int]]:
    """Return the lines on which a mark stands: where each begins -> the numbers of the signatures with that mark."""
    lines: dict[int, set[int]] = {}
    for mark, numbers in _MARKS.items():
        position = find(mark, 0)
        while position >= 0:
            lines.setdefault(line_start(text, position), set()).update(numbers)
            position = find(mark, line_end(text, position))
    return lines


def _first_match(text: bytes, start: int, numbers: Iterable[int]) -> tuple[Signature, re.Match[bytes]] | None:
    """Return the first of the signatures that matches in the line that begins at the start, and how."""
    end = line_end(text, start)
    for number in numbers:
        signature = SIGNATURES[number]
        match = signature.pattern.search(text, start, end + signature.reach)
        if match and match.start() <= end:
            return signature, match
    return None


def _failure(signature: Signature, text: bytes, match: re.Match[bytes]) -> dict[str, t.Any]:
    start, end = line_start(text, match.start()), line_end(text, match.end())
    groups = match.groupdict()
    rank = groups.get("rank")
    if rank is None and not signature.echo:
        own = _OWN_RANK.search(text, start, end)
        rank = own.group(1) if own else None
    if end - start > _LINE_CHARACTERS:
        start = match.start()
    exit_code = groups.get("exit_code")
    return {
        "class": signature.failure,
        "blame": signature.blame,
        "echo": signature.echo,
        "remedy": signature.remedy,
        "line": " ".join(text[start:end].decode("utf-8", "replace").split())[:_LINE_CHARACTERS],
        "rank": None if rank is None else int(rank),
        "exit_code": None if exit_code is None else int(exit_code),
    }


def _exceptions(text: bytes, find: Find) -> Iterator[re.Match[bytes]]:
    """Yield the last line of each traceback, but of those of the launch scripts' own helpers."""
    begin = find(TRACEBACK, 0)
    while begin >= 0:
        last = _last_line(text, begin)
        if last:
            yield last
        begin = find(TRACEBACK, begin + len(TRACEBACK))


def _last_line(text: bytes, begin: int) -> re.Match[bytes] | None:
    # Ranks that share a log print between each other's lines, so only lines with the same rank's prefix belong here.
    prefix = _RANK_PREFIX.search(text, line_start(text, begin), begin)
    files = []
    for line in islice(_LINE.finditer(text, begin + len(TRACEBACK)), _TRACEBACK_LINES):
        start = line.start()
        if prefix:
            if not line.group().startswith(prefix.group()):
                continue
            start += len(prefix.group())
        frame = _FRAME.match(text, start, line.end())
        if frame:
            files.append(frame.group(1))
        elif text.startswith(TRACEBACK, start):
            return None
        else:
            last = PYTHON_ERROR.pattern.match(text, start, line.end())
            if last:
                harmless = files and all(_HELPER_FILE.search(file) for file in files)
                return None if harmless else last
    return None
