# SPDX-License-Identifier: GPL-3.0-or-later
"""How often processes began to train in a log, as far as NCCL, RCCL and the trainer show it.

A process prints its bootstrap line once, and a GPU is in communicators of one process until another one takes its
place. So the second process of a GPU is a second start, and so is a process that bootstraps again (in a container it
may have the pid of the one before it).
"""

from __future__ import annotations

import re
import typing as t

from .find import Piece, Printed
from .pattern import later


class Start(t.TypedDict):
    """How many starts something had that has one, and the process of the last one."""

    count: int
    last: str


Starts = t.Dict[str, Start]

_FROM = rb"([A-Za-z0-9][A-Za-z0-9.-]{0,200}):(\d{1,9}):\d{1,9} \[\d{1,4}\] NCCL INFO "
_BOOTSTRAP = later(_FROM + rb"Bootstrap ?: Using ")
_COMMUNICATOR = later(
    _FROM + rb"(?:\w{1,40} )?comm 0x[0-9a-f]{1,20} rank \d{1,7} n[rR]anks \d{1,7} (cudaDev \d{1,4} [^\r\n]{0,99}?"
    rb"busId \w{1,20})(?: commId (0x[0-9a-f]{1,20}))?"
)
_NEEDLES = (b"Bootstrap", b" Init COMPLETE")
_LINE_BEGIN, _LINE_END = 600, 200
# More than a node has GPUs and processes.
_MOST = 128


def add_starts(known: Starts, printed: t.Sequence[Printed], piece: Piece) -> tuple[Starts, int | None]:
    """Return the known starts with the new ones of the piece, and the position of the last repeated start in it."""
    found, last = known, None
    for place in piece.positions((*_NEEDLES, *(start.needle for start in printed))):
        begin = piece.text.rfind(b"\n", max(0, place - _LINE_BEGIN), place) + 1 or max(0, place - _LINE_BEGIN)
        line = piece.text[begin : place + _LINE_END].partition(b"\n")[0]
        start = None if piece.text.endswith(line + b"\n", 0, begin) else _start(line, printed)
        if start is None:
            continue
        of_what, process, begins_it = start
        before = found.get(of_what)
        if before is None and len(found) == _MOST:
            continue
        if before is None or begins_it or _is_another(before["last"], process):
            found = {**found, of_what: {"count": before["count"] + 1 if before else 1, "last": process}}
            last = place if before else last
    return found, last


def most_starts(starts: Starts) -> int:
    """Return how often the process or GPU with most starts began."""
    return max((of_one["count"] for of_one in starts.values()), default=0)


def _start(line: bytes, printed: t.Sequence[Printed]) -> tuple[str, str, bool] | None:
    """Return what started, its process and communicator, and whether this is surely a start; None for other lines."""
    bootstrap = _BOOTSTRAP.search(line)
    if bootstrap:
        return b":".join(bootstrap.groups()).decode(), "", True
    for start in printed:
        begun = re.search(start.pattern, line)
        if begun:
            return begun.group().decode(), "", True
    match = _COMMUNICATOR.search(line)
    if not match:
        return None
    host, process, gpu, name = match.groups()
    return (host + b" " + gpu).decode(), (process + b" " + (name or b"")).decode(), False


def _is_another(before: str, now: str) -> bool:
    """Return whether it is another process, or makes its first communicator, which has a name of its own, again."""
    process = before.partition(" ")[0]
    return not now.startswith(f"{process} ") or (now == before and not now.endswith(" "))
