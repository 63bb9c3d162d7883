# SPDX-License-Identifier: GPL-3.0-or-later
"""How a trainer's log is read: the fields of each grammar in `grammars`."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterator, Mapping

from .find import Piece, Printed
from .rows import FoundStep, FoundSteps


def _no_summary(_piece: Piece) -> dict[str, float]:
    return {}


def _all_count(_found: Mapping[str, t.Any], _position: int) -> None:
    return None


EVERY_RANK = "every_rank"
FIRST_RANK = "first_rank"
LAST_RANK = "last_rank"


class Grammar(t.NamedTuple):
    """How one framework's log is read. The functions take a piece of it that begins and ends with a line.

    ``parse(piece, memory)`` yields ``{"step": int, "steps_total": int or None, "metrics": {metric: float}}`` for each
    step line. It may add ``"sequences_per_sec": float or None``, the token rate in sequences/s of the whole job,
    ``"new_process": bool``, whether a process began since the step before, and anything its own ``left_out`` needs. It
    keeps what it must know about earlier pieces in ``memory``, which is empty at the start of the log. The values in it
    are true, false, whole numbers from 0 on, lines of text (a fraction is written as text too) or None; `run.answers`
    takes no others from a node. ``memory["new_process"]`` is true from the start of a process until its first step.

    ``left_out(found, position)`` returns why a step that ``parse`` yielded is known not to have been measured well, or
    None. The position, from 1, is the place of the step among those of its attempt. Warm-up is another matter: it is
    seen from the values.

    ``summary(piece)`` returns the log's own figures for the whole run: canonical metric -> float.

    ``parse_many(piece, memory)`` yields the same as ``parse``, but many steps at once. From the third step of an
    attempt on, ``left_out`` must have nothing to say about them. It is None, or returns None, where the steps have to
    be taken one by one.

    ``world_size`` is how a process says how many ranks, or devices, it sees.

    ``settings`` reads the numbers that describe what a process trains, ``arguments`` the words.

    ``under_way`` are texts that a rank prints once it trains, or has trained: a failure before one of them was
    survived. The first rank of a job prints one of ``first_rank``. A node without steps prints one of these or of
    ``alive``, which proves that it took part. ``met`` are texts that a rank prints once it is connected with the
    others: whatever delayed the connection is past.

    ``each_step`` says that a process prints every step that it does, and not every tenth, say.

    ``by_interval`` says that a process prints the first step of a training and those that its log interval divides, but
    not that interval: the setting ``steps_per_line`` is then the greatest number that divides all of these.

    ``each_line`` lists the values that every step line has. ``ends`` are the texts that the first rank prints as the
    training begins, and those that the same function prints as it ends.

    A trainer prints one of the texts in ``over`` when its training is over; some trainers print none. If it prints one
    of ``cut_short`` too, the training ended before its last step.

    A process prints each of the texts in ``starts`` once, when it begins, so counting one of them counts the starts.

    ``saves`` are the texts that a process prints as it begins to write a checkpoint, and the texts that show it is
    written: either a message, or the first thing the process does afterwards.

    ``closing`` is the beginning of lines that a launch script prints once the training is over.

    ``one_process`` says that a job has one process on each node, which its failures count.

    ``bars`` says that a step is drawn again and again while it runs, each time with other values.

    ``first_step`` is the number of the first step of a training: one of N steps is complete at ``first_step + N - 1``.

    ``only_here`` are texts that no other grammar's logs have, where another one reads the same step lines.

    ``step_line`` shows a user what a step line looks like, ``printed_by`` which ranks of a job print it.
    ``helper_files`` is a pattern of Python files of the launch scripts, which fail without harm.
    """

    parse: Callable[[Piece, dict[str, t.Any]], Iterator[FoundStep]]
    world_size: t.Tuple[Printed, ...]
    first_step: int
    step_line: str
    printed_by: str
    settings: t.Tuple[Printed, ...] = ()
    arguments: t.Tuple[Printed, ...] = ()
    under_way: t.Tuple[bytes, ...] = ()
    first_rank: t.Tuple[bytes, ...] = ()
    alive: t.Tuple[bytes, ...] = ()
    met: t.Tuple[bytes, ...] = ()
    each_step: bool = False
    by_interval: bool = False
    each_line: t.Tuple[str, ...] = ()
    ends: t.Optional[t.Tuple[bytes, bytes]] = None
    over: t.Tuple[bytes, ...] = ()
    cut_short: t.Tuple[bytes, ...] = ()
    starts: t.Tuple[Printed, ...] = ()
    saves: t.Optional[t.Tuple[bytes, t.Tuple[bytes, ...]]] = None
    closing: t.Tuple[bytes, ...] = ()
    bars: bool = False
    one_process: bool = False
    left_out: Callable[[Mapping[str, t.Any], int], t.Optional[str]] = _all_count
    summary: Callable[[Piece], dict[str, float]] = _no_summary
    only_here: t.Tuple[bytes, ...] = ()
    helper_files: t.Optional[bytes] = None
    parse_many: t.Optional[Callable[[Piece, dict[str, t.Any]], t.Optional[Iterator[FoundSteps]]]] = None


def began_anew(cursor: Mapping[str, t.Any]) -> bool:
    """Return whether a process began after the last step of the log at a cursor."""
    return cursor["step"] is not None and bool(cursor["memory"].get("new_process"))
