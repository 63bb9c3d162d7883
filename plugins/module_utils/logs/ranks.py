# SPDX-License-Identifier: GPL-3.0-or-later
"""The ranks and processes that wrote a log, as far as it shows them. No two nodes of a job have one in common."""

from __future__ import annotations

import re

from .find import Piece
from .text import line_end, line_start

_MOST_LINES = 64
ANOTHER_HOST = "NCCL process of another host "

_PROCESS = re.compile(rb"(?<![\w.-])(?!localhost\b)([A-Za-z0-9][A-Za-z0-9.-]{0,200}:\d{1,9}):\d+ \[\d+\] NCCL INFO ")
# From Primus, from Lightning's distributed.py, and from NCCL, which prints the rank in a communicator (since 2.18 with
# its size and id), the host and the process. "[rank3]:" does not count: with torchrun's --role it is the local rank, so
# each node has that number.
_TELLING = (
    (b"[rank-", re.compile(rb"\[rank-(\d{1,7})/"), "rank "),
    (b"GLOBAL_RANK: ", re.compile(rb"GLOBAL_RANK: (\d{1,7}),"), "rank "),
    (
        b" commId 0x",
        re.compile(rb" rank (\d{1,7}) nranks (\d{1,7}) [^\r\n]{0,200}commId (0x[0-9a-f]{1,20})"),
        "NCCL rank ",
    ),
    (b" NCCL INFO ", _PROCESS, "process "),
)


def add_ranks(known: list[str], piece: Piece) -> list[str]:
    """Return the known facts about who wrote a log, and the first of each kind in the piece, such as ``rank 8``."""
    found = list(known)
    for needle, pattern, kind in _TELLING:
        if any(line.startswith(kind) for line in found):
            continue
        match = _first(piece, needle, pattern)
        if match:
            found.append(kind + b" of ".join(match.groups()).decode("ascii"))
    return found + _of_another_host(found, piece)


def _first(piece: Piece, needle: bytes, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
    """Return the match in the first of the lines with the needle; only a few are tried."""
    text, place = piece.text, piece.find(needle, 0)
    for _line in range(_MOST_LINES):
        if place < 0:
            break
        end = line_end(text, place)
        match = pattern.search(text, line_start(text, place), end)
        if match:
            return match
        place = piece.find(needle, end)
    return None


def _of_another_host(found: list[str], piece: Piece) -> list[str]:
    """Return a process of a second host in the log's first communicator, if this piece is the first to mention one.

    Such a log is from two nodes: a process that starts again on another host makes a communicator of its own.
    """
    communicator, process = _said(found, "NCCL rank ").rpartition(" of ")[2], _said(found, "process ")
    if not communicator or not process or _said(found, ANOTHER_HOST):
        return []
    needle = b" commId " + communicator.encode("ascii")
    place = piece.find(needle, 0)
    while place >= 0:
        other = _PROCESS.search(piece.text, line_start(piece.text, place), place)
        if other and other.group(1).partition(b":")[0] != process.partition(":")[0].encode("ascii"):
            return [ANOTHER_HOST + other.group(1).decode("ascii")]
        place = piece.find(needle, place + 1)
    return []


def _said(found: list[str], kind: str) -> str:
    return next((line[len(kind) :] for line in found if line.startswith(kind)), "")
