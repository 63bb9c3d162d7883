# SPDX-License-Identifier: GPL-3.0-or-later
"""The ranks and processes that wrote a log, as far as it shows them. No two nodes of a job have one in common.

Only the size of NCCL's widest communicator, `WIDEST`, may be the same on several nodes.
"""

from __future__ import annotations

import itertools
import re

from .find import Piece
from .pattern import later
from .text import line_end, line_start

_MOST_LINES = 64
ANOTHER_HOST = "NCCL process of another host "

# How many nodes and ranks it has: "comm 0x55d0c0 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0" (since NCCL 2.19).
WIDEST = "NCCL widest communicator "
_WIDTH = later(rb" nRanks (\d{1,7}) nNodes (\d{1,7}) localRanks ")
_MOST_COMMUNICATORS, _WIDTH_BYTES = 4096, 32

_PROCESS = later(rb"(?<![\w.-])(?!localhost\b)([A-Za-z0-9][A-Za-z0-9.-]{0,200}:\d{1,9}):\d+ \[\d+\] NCCL INFO ")
# From Primus, from Lightning's distributed.py, and from NCCL, which prints the rank in a communicator (since 2.18 with
# its size and id), the host and the process. "[rank3]:" does not count: with torchrun's --role it is the local rank, so
# each node has that number.
_TELLING = (
    (b"[rank-", later(rb"\[rank-(\d{1,7})/"), "rank "),
    (b"GLOBAL_RANK: ", later(rb"GLOBAL_RANK: (\d{1,7}),"), "rank "),
    (
        b" commId 0x",
        later(rb" rank (\d{1,7}) nranks (\d{1,7}) [^\r\n]{0,200}commId (0x[0-9a-f]{1,20})"),
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
    found += _of_another_host(found, piece)
    widest = max(filter(None, (widest_communicator(known), _widest(piece))), default=None)
    others = [line for line in found if not line.startswith(WIDEST)]
    return [*others, "%s%d nodes %d ranks" % (WIDEST, *widest)] if widest else others


def widest_communicator(known: list[str]) -> tuple[int, int] | None:
    """Return how many nodes and ranks NCCL's widest communicator has by the facts of a log; None if it does not say."""
    words = _said(known, WIDEST).split()
    return (int(words[0]), int(words[2])) if words else None


def _widest(piece: Piece) -> tuple[int, int] | None:
    places = itertools.islice(piece.positions((b" nNodes ",)), _MOST_COMMUNICATORS)
    found = (_WIDTH.search(piece.text, max(0, place - _WIDTH_BYTES), place + _WIDTH_BYTES) for place in places)
    return max(((int(match[2]), int(match[1])) for match in found if match), default=None)


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
