# SPDX-License-Identifier: GPL-3.0-or-later
"""The log grammars of the frameworks, behind one face."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterator

from .find import Piece
from .frameworks import maxtext, megatron, megatron_processes, nxdt
from .rows import FoundSteps
from .world_size import WorldSize


def _no_summary(_piece: Piece) -> dict[str, float]:
    return {}


def _all_count(_found: dict[str, t.Any], _position: int) -> None:
    return None


class Grammar(t.NamedTuple):
    """How one framework's log is read. The functions take a piece of it that begins and ends with a line.

    ``parse(piece, memory)`` yields ``{"step": int, "steps_total": int or None, "metrics": {metric: float}}`` for each
    step line. It may have ``"sequences_per_sec": float or None``, the token rate in sequences/s of the whole job,
    ``"new_process": bool``, whether a process began since the step before, and what its own ``left_out`` needs. What it
    has to know of earlier pieces it keeps in ``memory``, a dict of plain JSON that is empty where the log begins. While
    no step follows a process that began, ``memory["new_process"]`` is true.

    ``left_out(found, position)`` returns why a step that ``parse`` yielded is known not to have been measured well, or
    None. The position, from 1, is the place of the step among those of its attempt. Warm-up is another matter: it is
    seen from the values.

    ``summary(piece)`` returns what the log itself says of the whole run: canonical metric -> float.

    ``parse_many(piece, memory)`` yields the same as ``parse``, many steps at once, of which ``left_out`` has nothing to
    say from the third one of an attempt on. It is None, or returns None, where the steps have to be taken one by one.

    ``world_size`` is how a process says how many ranks (MaxText: devices) it sees.

    ``first_step`` is the number of the first step of a training: one of N steps is complete at ``first_step + N - 1``.
    """

    parse: Callable[[Piece, dict[str, t.Any]], Iterator[dict[str, t.Any]]]
    left_out: Callable[[dict[str, t.Any], int], t.Optional[str]]
    summary: Callable[[Piece], dict[str, float]]
    world_size: WorldSize
    first_step: int
    parse_many: t.Optional[Callable[[Piece, dict[str, t.Any]], t.Optional[Iterator[FoundSteps]]]] = None


GRAMMARS = {
    "maxtext": Grammar(maxtext.parse, maxtext.left_out, _no_summary, maxtext.WORLD_SIZE, first_step=0),
    "megatron": Grammar(
        megatron_processes.parse,
        megatron.left_out,
        megatron.summary,
        megatron.WORLD_SIZE,
        first_step=1,
        parse_many=megatron_processes.parse_many,
    ),
    "nxdt": Grammar(nxdt.parse, _all_count, _no_summary, nxdt.WORLD_SIZE, first_step=1),
}


def grammar_of(framework: str) -> Grammar:
    """Return the grammar of a framework; raises ValueError for one that has none."""
    if framework not in GRAMMARS:
        raise ValueError(f"framework is {framework!r}, but must be one of: {', '.join(sorted(GRAMMARS))}")
    return GRAMMARS[framework]


def began_anew(cursor: dict[str, t.Any]) -> bool:
    """Tell whether a process began behind the last step of the log that a cursor stands in."""
    return cursor["step"] is not None and bool(cursor["memory"].get("new_process"))
