# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a growing log step by step, from the end of the last call."""

from __future__ import annotations

import math
import os
import typing as t
import zlib
from collections import deque
from collections.abc import Iterable
from operator import itemgetter, lt

from .cursor import Cursor, Seen, checked_cursor, new_cursor
from .ending import STEPS_TO_SURVIVE, begin_of_few, end_of, last_sign
from .failures import failures_with_places, few_of_each_class
from .find import Piece
from .grammar import Grammar
from .grammars.known import grammar_of
from .parts import in_chunk, new_parts, parts_with_whole_messages
from .ranks import add_ranks
from .rows import FoundStep, StepRows
from .settings import MOST_VALUES, add_arguments, add_settings
from .signature import Failure
from .starts import add_starts, most_starts
from .text import plain
from .transports import named_networks
from .world_size import last_world_size

_FINGERPRINT_BYTES = 256
_TAIL_BYTES = 64 << 10
_TAIL_LINE_CHARACTERS = 400

# A step that is printed again in a row has the same values of these.
_OF_A_STEP = ("step_time_ms", "loss")


class News(Seen):
    """The content of a log beyond a cursor; see `read_log`."""

    rows: StepRows
    failures: list[Failure]
    survived: list[Failure]
    summary: dict[str, float]
    starts: int
    cursor: Cursor


def read_log(
    path: str,
    framework: str,
    cursor: t.Mapping[str, t.Any] | None = None,
    final: bool = False,
    tokens_per_step_per_gpu: float | None = None,
    max_bytes: int | None = None,
    tokens_per_sequence_per_gpu: float | None = None,
    failures: t.Literal["all", "open", "none"] = "all",
) -> News:
    """Return the content of a log beyond the cursor.

    The answer has ``rows`` (`StepRows` in the order of their first appearance), ``failures`` (as from
    ``find_failures``, each with the last ``step`` before it), ``summary`` (canonical metric -> float, as from the
    grammar) and the new ``cursor``. From the cursor it repeats ``transports``, ``world_size``, ``settings``,
    ``arguments``, ``signs``, ``ranks``, ``conflicts`` and the number of ``starts``. ``failures`` has all of them. With
    ``open`` it has only failures that are followed by fewer than `STEPS_TO_SURVIVE` of the rows, and in a log without
    steps by no text of a rank that trains; the others are ``survived``. With ``none`` the search is skipped, which is
    faster.

    Only complete lines are read; the last one waits for its end unless the call is ``final``. An attempt begins where
    the step number goes back, where the log shows a new process (not NxDT), and where the log was replaced, but not
    where it was truncated. A step that is printed twice in a row does not begin a new attempt: within a call it is one
    row, with the later values; in two calls it is a row in each.

    If the log has no token rate, it is computed: from sequences/s of the whole job (NxDT's ``throughput``) and
    ``tokens_per_sequence_per_gpu`` (tokens), which is sequence length / devices of the job, or else from the step time
    and ``tokens_per_step_per_gpu`` (tokens).

    The part of the log in memory has a constant size, but the rows of a call add up. With ``max_bytes`` the call ends
    after the chunk that reaches this many bytes: call again until the cursor stays the same.

    A log that does not exist (yet) gives nothing. Raises ValueError for a framework without grammar, an invalid cursor
    and a token count that is not positive, and OSError for a log that cannot be read.
    """
    grammar = grammar_of(framework)
    for name, tokens in (
        ("tokens_per_step_per_gpu", tokens_per_step_per_gpu),
        ("tokens_per_sequence_per_gpu", tokens_per_sequence_per_gpu),
    ):
        if tokens is not None and not tokens > 0:
            raise ValueError(f"{name} is {tokens!r}, but must be greater than 0")
    reading = checked_cursor(cursor)
    rows = StepRows(tokens_per_step_per_gpu, tokens_per_sequence_per_gpu)
    try:
        with open(path, "rb") as log:
            return _read(log, grammar, reading, rows, final, max_bytes, failures)
    except FileNotFoundError:
        return _news(reading, rows, [], [], {})


def tail(path: str, lines: int = 20) -> list[str]:
    """Return the last lines of a log as a terminal would show them, each of at most 400 characters.

    At most 64 KiB are read. A log that does not exist has no lines; raises OSError for one that cannot be read.
    """
    end = end_of(path, _TAIL_BYTES + 1)
    whole = plain(end[-_TAIL_BYTES:]).decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    if len(end) > _TAIL_BYTES and len(whole) > 1:
        del whole[0]
    # The last text written to a line that a progress bar overwrites.
    shown = [line.rstrip("\r").rpartition("\r")[2].rstrip() for line in whole]
    while shown and not shown[-1]:
        shown.pop()
    return [line[:_TAIL_LINE_CHARACTERS] for line in shown[-lines:]]


def _read(
    log: t.BinaryIO,
    grammar: Grammar,
    cursor: Cursor,
    rows: StepRows,
    final: bool,
    max_bytes: int | None,
    which_failures: str,
) -> News:
    if _fingerprint(log, cursor["offset"]) != cursor["fingerprint"]:
        cursor = _other_log(cursor, is_shorter=log.seek(0, os.SEEK_END) < cursor["offset"])
    begin = cursor["offset"]
    with_steps: deque[_WithSteps] = deque(maxlen=STEPS_TO_SURVIVE)
    steps_at = [(begin, cursor["step"])]
    summary: dict[str, float] = {}
    under_way = begin
    for piece, part_begin, part_end in new_parts(log, begin, final, max_bytes, whole_messages=which_failures != "none"):
        steps_before = len(rows)
        if _add_steps(rows, grammar, piece, cursor):
            summary.clear()
        if len(rows) > steps_before:
            with_steps.append(_WithSteps(part_begin, part_end, len(rows) - steps_before))
        steps_at.append((part_end, cursor["step"]))
        summary.update(grammar.summary(piece))
        networks = cursor["transports"]
        cursor["transports"] = sorted({*networks, *named_networks(piece, known=bool(networks))})
        cursor["world_size"] = last_world_size(grammar.world_size, piece) or cursor["world_size"]
        cursor["settings"] = add_settings(cursor["settings"], grammar.settings, piece)
        cursor["ranks"] = add_ranks(cursor["ranks"], piece)
        cursor["arguments"] = add_arguments(cursor["arguments"], grammar.arguments, piece)
        _add_starts(cursor, grammar, piece)
        if cursor["step"] is None:
            cursor["signs"] = _signs(grammar, piece, cursor["signs"])
            if which_failures == "open":
                under_way = max(under_way, part_begin + last_sign((*grammar.under_way, *grammar.met), piece))
        cursor["offset"] = part_end
    cursor["fingerprint"] = _fingerprint(log, cursor["offset"])
    failures: list[Failure] = []
    survived: list[Failure] = []
    end = cursor["offset"]
    if which_failures == "open":
        first_open = _begin_of_few(log, grammar, with_steps) or (begin if rows else under_way)
        survived = _failures_between(log, grammar, begin, first_open, steps_at)
        begin = first_open
    if which_failures != "none":
        failures = _failures_between(log, grammar, begin, end, steps_at)
    return _news(cursor, rows, failures, survived, summary)


def _other_log(before: Cursor, *, is_shorter: bool) -> Cursor:
    """Return the cursor at the beginning of a log that is not the one that was read before.

    One that is shorter was truncated: the same training goes on if its steps do. Any other log is another attempt,
    unless the one before had no step.
    """
    if not is_shorter:
        return new_cursor(before["attempt"] + (before["step"] is not None))
    cursor = new_cursor(before["attempt"])
    cursor.update({"step": before["step"], "steps_seen": before["steps_seen"], "steps_total": before["steps_total"]})
    return cursor


def _failures_between(
    log: t.BinaryIO, grammar: Grammar, begin: int, end: int, steps_at: list[tuple[int, int | None]]
) -> list[Failure]:
    """Return the first failures of each class between two places of a log, each with the last step before it.

    ``steps_at`` are places in the log, in ascending order, each with the last step before it.
    """
    failures: list[Failure] = []
    for part in parts_with_whole_messages(log, begin, end):
        step = max((known for known in steps_at if known[0] <= part.begin), default=(0, None), key=itemgetter(0))[1]
        behind = 0
        for start, failure in failures_with_places(part.piece):
            between = Piece(part.piece.text[behind:start])
            step = next((found["step"] for found in reversed(list(grammar.parse(between, {})))), step)
            failure["step"], behind = step, start
            failures.append(failure)
        failures = few_of_each_class(failures)
    return failures


def _add_starts(cursor: Cursor, grammar: Grammar, piece: Piece) -> None:
    """Let the cursor follow the starts of the piece, one that no step follows as the begin of a process."""
    cursor["starts"], place = add_starts(cursor["starts"], grammar.starts, piece)
    if place is None and grammar.bars and cursor["step"] is not None:
        begin = _last_begin(grammar, piece)
        place = begin if begin >= 0 else None
    if place is not None and not any(True for _step in grammar.parse(Piece(piece.text[place:]), {})):
        cursor["memory"]["new_process"] = True


def _signs(grammar: Grammar, piece: Piece, known: list[str]) -> list[str]:
    """Return the texts that prove that a rank took part: the known ones, and those in the piece."""
    looked_for = {sign.decode(): sign for sign in (*grammar.under_way, *grammar.first_rank, *grammar.alive)}
    new = {text for text, sign in looked_for.items() if text not in known and piece.find(sign, 0) >= 0}
    end = grammar.ends[1] if grammar.ends else b""
    if end and end.decode() in new.union(known) and _last_start(grammar, piece) > piece.text.rfind(end):
        # Another process began after the one that reached its end.
        return sorted(new.union(known) - {end.decode()})
    return sorted(new.union(known)) if new else known


def _last_start(grammar: Grammar, piece: Piece) -> int:
    """Return the last position where a process reports its beginning, or its training's, or -1."""
    start = piece.text.rfind(grammar.ends[0]) if grammar.ends else -1
    return max(start, _last_begin(grammar, piece))


def _last_begin(grammar: Grammar, piece: Piece) -> int:
    """Return the last position where a process reports how many ranks it sees (at its beginning), or -1."""
    return max((found.start() for printed in grammar.world_size for found in printed.matches(piece)), default=-1)


class _WithSteps(t.NamedTuple):
    """Bytes of a log with step lines, and how many steps they added."""

    begin: int
    end: int
    steps: int


def _begin_of_few(log: t.BinaryIO, grammar: Grammar, with_steps: deque[_WithSteps]) -> int | None:
    """Return the position in the log with fewer than `STEPS_TO_SURVIVE` steps after it, or None without more steps."""
    missing = STEPS_TO_SURVIVE
    for begin, end, steps in reversed(with_steps):
        if steps >= missing:
            log.seek(begin)
            chunk = log.read(end - begin)
            piece = Piece(chunk)
            return begin + in_chunk(chunk, piece, begin_of_few(piece.text, grammar, missing))
        missing -= steps
    return None


def _news(
    cursor: Cursor, rows: StepRows, failures: list[Failure], survived: list[Failure], summary: dict[str, float]
) -> News:
    return {
        "rows": rows,
        "failures": failures,
        "survived": survived,
        "summary": summary,
        "transports": list(cursor["transports"]),
        "world_size": cursor["world_size"],
        "settings": cursor["settings"],
        "signs": cursor["signs"],
        "ranks": cursor["ranks"],
        "conflicts": cursor["conflicts"],
        "arguments": cursor["arguments"],
        "starts": most_starts(cursor["starts"]),
        "cursor": cursor,
    }


def _add_steps(rows: StepRows, grammar: Grammar, piece: Piece, cursor: Cursor) -> bool:
    """Add the values of the piece's step lines to the rows, and move the cursor; return whether there is any line."""
    many = grammar.parse_many and grammar.parse_many(piece, cursor["memory"])
    if many is None:
        return _add_rows(rows, grammar, grammar.parse(piece, cursor["memory"]), cursor)
    found = None
    for found in many:
        steps, last = found.steps, cursor["step"]
        if cursor["steps_seen"] > 1 and last is not None and last < steps[0] and all(map(lt, steps, steps[1:])):
            rows.add_found(cursor["attempt"], found)
            seen = cursor["steps_seen"] + len(steps)
            _note_total(cursor, cursor["steps_total"], found.steps_total)
            cursor.update({"step": steps[-1], "steps_seen": seen, "steps_total": found.steps_total})
        else:
            _add_rows(rows, grammar, found.each(), cursor)
    return found is not None


def _add_rows(rows: StepRows, grammar: Grammar, steps: Iterable[FoundStep], cursor: Cursor) -> bool:
    attempt, last = cursor["attempt"], cursor["step"]
    seen, steps_total = cursor["steps_seen"], cursor["steps_total"]
    found = None
    for found in steps:
        step, before, steps_total, metrics = found["step"], steps_total, found["steps_total"], found["metrics"]
        if last is not None and (step < last or found.get("new_process")):
            attempt, seen = attempt + 1, 0
        else:
            _note_total(cursor, before, steps_total)
        again = step == last and seen > 0
        if not again:
            seen += 1
        last = step
        if grammar.by_interval and step > grammar.first_step:
            _note_interval(cursor, step)
        sequences_per_sec = found.get("sequences_per_sec")
        if sequences_per_sec is not None and rows.tokens_per_sequence_per_gpu:
            metrics["tokens_per_sec_per_gpu"] = sequences_per_sec * rows.tokens_per_sequence_per_gpu
        elif sequences_per_sec is not None and math.isfinite(sequences_per_sec):
            metrics["sequences_per_sec"] = sequences_per_sec
        # Within an attempt the steps go up, so only the last row can have the same step.
        if again and rows:
            row = rows.take_last()
            if not grammar.bars:
                cursor["conflicts"] += any(_differ(row["metrics"], metrics, metric) for metric in _OF_A_STEP)
            # A printed line is not taken back.
            metrics.update({metric: value for metric, value in row["metrics"].items() if not math.isfinite(value)})
            row["metrics"].update(metrics)
            row["steps_total"] = steps_total
        else:
            row = {"attempt": attempt, "step": step, "steps_total": steps_total, "metrics": metrics}
        reason = grammar.left_out(found, seen)
        if reason:
            row["left_out"] = reason
        rows.add(row)
    cursor.update({"attempt": attempt, "step": last, "steps_seen": seen, "steps_total": steps_total})
    return found is not None


def _note_total(cursor: Cursor, before: int | None, total: int | None) -> None:
    """Take a total that changes within an attempt for two values of the setting."""
    if before is None or total is None or before == total:
        return
    settings = cursor["settings"]
    said = [*settings.get("iterations", ()), float(before), float(total)]
    cursor["settings"] = {**settings, "iterations": list(dict.fromkeys(said))[:MOST_VALUES]}


def _note_interval(cursor: Cursor, step: int) -> None:
    """Take the greatest number that divides all steps so far for how many steps apart the lines are."""
    settings = cursor["settings"]
    interval = math.gcd(step, int(settings.get("steps_per_line", (0,))[0]))
    cursor["settings"] = {**settings, "steps_per_line": [float(interval)]}


def _differ(earlier: dict[str, float], later: dict[str, float], metric: str) -> bool:
    return metric in earlier and metric in later and earlier[metric] != later[metric]


def _fingerprint(log: t.BinaryIO, offset: int) -> int:
    """Return a checksum of the bytes before the offset; another log has other bytes there."""
    start = max(0, offset - _FINGERPRINT_BYTES)
    log.seek(start)
    return zlib.crc32(log.read(offset - start))
