# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether each node's log is its own, from a single run, and from a rank that took part."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import numpy as np

from ...module_utils.logs.clock import NO_YEAR, seconds_of
from ...module_utils.logs.grammar import EVERY_RANK
from ...module_utils.logs.ranks import ANOTHER_HOST, WIDEST
from ..contracts import Status, Trainer
from .reasons import INCONCLUSIVE, Reasons

if t.TYPE_CHECKING:
    from .frame import Rows
    from .seen import Seen

# Clocks are set now and then, by less than this.
_CLOCK_IS_SET = 2.0
# No time zone is further from the controller's than this, and no log is written later than this.
_ZONES = 14 * 3600.0 + 600.0
_FIRST_ABSOLUTE = seconds_of(b"%d-01-01 00:00:00" % (NO_YEAR + 1))
# Stamps without a year jump further at New Year.
_NEW_YEAR = 300 * 86400.0
# Processes of one job print a step within so many seconds of each other, except for this share of steps.
_TOGETHER, _MOST_APART = 60.0, 0.05
# Time zones are whole quarters of an hour apart.
_ZONE = 900.0
# Two nodes practically never share step times by chance.
_CHANCE = 1e-3
_TIMED = ("step_time_ms", "tokens_per_sec_per_gpu")


def judge_life(seen: Seen, reasons: Reasons) -> None:
    """Note each node of one job whose ranks print no steps and whose log does not show that they trained."""
    grammar = seen.grammar
    if not seen.together or grammar.printed_by == EVERY_RANK or not seen.attempts:
        return
    _judge_starts(seen, reasons)
    of_first = {text.decode() for text in grammar.first_rank}
    of_any = of_first.union(text.decode() for text in (*grammar.under_way, *grammar.alive))
    silent = [
        status
        for status in seen.statuses
        if status["status"] in ("exited", "log_only") and status["node"] not in seen.attempts
    ]
    signs_of = {status["node"]: of_any.intersection(status["trainer"]["signs"]) for status in silent}
    for node, signs in signs_of.items():
        if not signs:
            reasons.argue(INCONCLUSIVE, "no_sign_of_life", node)
        begin, end = (text.decode() for text in grammar.ends or (b"", b""))
        if begin in signs and end not in signs:
            reasons.argue(INCONCLUSIVE, "no_sign_of_life", node, case="unfinished", begin=begin, end=end)
    all_alive = bool(silent) and all(signs_of.values())
    first_seen = any(of_first.intersection(signs) for signs in signs_of.values())
    if of_first and all_alive and not first_seen and not any(map(_has_first_rank, seen.statuses)):
        node = min(silent, key=lambda status: status["node_rank"] or 0)["node"]
        reasons.argue(INCONCLUSIVE, "no_sign_of_life", node, case="first_rank")


def _judge_starts(seen: Seen, reasons: Reasons) -> None:
    """Note each node whose ranks print no steps and started more or less often than those that print them."""
    known = max(status["steps"]["starts"] for status in seen.statuses if status["node"] in seen.attempts)
    most = max(known, *(int(rows["attempt"].max()) for rows in seen.attempts.values()))
    for status in seen.statuses:
        node, starts = status["node"], status["steps"]["starts"]
        if node not in seen.attempts and (starts > most or 0 < starts < known):
            case = "more_starts" if starts > most else "fewer_starts"
            reasons.argue(INCONCLUSIVE, "began_anew", node, case=case, starts=starts, seen=most)


def _has_first_rank(status: Status) -> bool:
    return status["steps"]["last_step"] is not None and "rank 0" in status["trainer"]["ranks"]


def judge_same_log(seen: Seen, reasons: Reasons) -> None:
    """Note nodes that share their log, their step times or, in one job, a rank or process with another node.

    Nodes of one job also share one communicator of all ranks, and take their steps at the same time.
    """
    owner: dict[t.Any, str] = {}
    for node, rows in seen.attempts.items():
        columns = [name for name in ("step", *_TIMED, "clock", "loss") if name in rows]
        same = tuple(rows[name].tobytes() for name in columns)
        if same not in owner or _chance_of(rows) * len(seen.attempts) ** 2 / 2 < _CHANCE:
            _note_owner(owner, same, node, "", reasons)
    if seen.together:
        _judge_same_job(seen, reasons)
        _judge_same_checkpoint(seen.statuses, reasons)
        for status in seen.statuses:
            for ranks in status["trainer"]["ranks"]:
                if ranks.startswith(WIDEST):
                    continue
                _note_owner(owner, ranks, status["node"], ranks, reasons)


def _judge_same_job(seen: Seen, reasons: Reasons) -> None:
    """Note nodes that were in a different job: in another communicator of all ranks, or at another time."""
    ranks = seen.workload["gpus"] if seen.workload else 0
    # The communicator of all ranks is created first.
    named = {
        status["node"]: found for status in seen.statuses if (found := next(communicators(status["trainer"]), None))
    }
    of_all = [node for node, (size, _name) in named.items() if size == ranks]
    for node, (size, name) in named.items() if of_all else ():
        first = of_all[0]
        its = named[first][1]
        if (size, name) != (ranks, its):
            reasons.argue(
                INCONCLUSIVE,
                "other_job",
                node,
                other=first,
                ranks=ranks,
                communicator=name,
                communicator_ranks=size,
                other_communicator=its,
            )
    for status in seen.statuses:
        for other in status["trainer"]["ranks"]:
            if other.startswith(ANOTHER_HOST):
                process = other.removeprefix(ANOTHER_HOST)
                reasons.argue(INCONCLUSIVE, "other_log", status["node"], case="other_host", process=process)
    # Another check reports stamps that are not numbers.
    stamped = {node: rows.finite("clock") for node, rows in seen.attempts.items() if "clock" in rows}
    first, *others = stamped or [""]
    for node in others:
        rows, theirs = stamped[node], stamped[first]
        _steps, own, same = np.intersect1d(rows["step"], theirs["step"], assume_unique=True, return_indices=True)
        apart = rows["clock"][own] - theirs["clock"][same]
        if not apart.size:
            continue
        usual = float(np.median(apart))
        off_zone = abs(usual - _ZONE * round(usual / _ZONE))
        if off_zone > _TOGETHER or abs(usual) > _ZONES or (np.abs(apart - usual) > _TOGETHER).mean() > _MOST_APART:
            reasons.argue(INCONCLUSIVE, "other_time", node, case="steps_apart", other=first, seconds=usual)
    _judge_dates(seen.statuses, stamped, reasons)


def _judge_dates(statuses: list[Status], stamped: Mapping[str, Rows], reasons: Reasons) -> None:
    """Note a log with a date of another day than the job's steps."""
    first = min((float(rows["clock"].min()) for rows in stamped.values() if rows), default=0.0)
    last = max((float(rows["clock"].max()) for rows in stamped.values() if rows), default=0.0)
    if first < _FIRST_ABSOLUTE:
        return
    for status in statuses:
        for said in status["trainer"]["arguments"].get("datetime", []):
            try:
                seconds = seconds_of(said.encode())
            except ValueError:
                continue
            if not first - _ZONES < seconds < last + _ZONES:
                day = datetime.fromtimestamp(first, tz=UTC).date().isoformat()
                reasons.argue(INCONCLUSIVE, "other_time", status["node"], case="dated", dated=said, steps_on=day)


def _judge_same_checkpoint(statuses: list[Status], reasons: Reasons) -> None:
    """Note nodes of one job that resumed from a different checkpoint than the first node."""
    resumed = {status["node"]: found for status in statuses if (found := status["trainer"]["settings"].get("resumed"))}
    first = next(iter(resumed), "")
    for node, steps in resumed.items():
        if not set(steps).intersection(resumed[first]):
            its, others = int(steps[-1]), int(resumed[first][-1])
            case = "other_checkpoint"
            reasons.argue(INCONCLUSIVE, "other_log", node, case=case, other=first, resumed=its, other_resumed=others)


def communicators(trainer: Trainer) -> Iterator[tuple[int, str]]:
    """Yield the size and the name of each NCCL communicator in a node's log, in order."""
    found = (re.fullmatch(r"NCCL rank \d+ of (\d+) of (\w+)", text) for text in trainer["ranks"])
    return ((int(match[1]), match[2]) for match in found if match)


def _chance_of(rows: Rows) -> float:
    """Return the chance that another node has the same times, drawing each time as often as it occurs.

    Timestamps with fractions of a second identify one process.
    """
    if "clock" in rows and (rows["clock"] % 1 > 0).any():
        return 0.0
    alike = [_chance_of_same(rows.finite(name)[name]) for name in _TIMED if name in rows]
    return float(min(alike, default=1.0) ** len(rows))


def _chance_of_same(values: np.ndarray) -> float:
    """Return the chance that two values are equal, each drawn as often as it occurs."""
    _values, counts = np.unique(values, return_counts=True)
    return float(((counts / max(1, values.size)) ** 2).sum())


def _note_owner(owner: dict[t.Any, str], what: t.Any, node: str, ranks: str, reasons: Reasons) -> None:
    """Note a node that shares its ``ranks``, or else its steps, with another node."""
    first = owner.setdefault(what, node)
    if first != node and ranks:
        reasons.argue(INCONCLUSIVE, "same_log", node, case="ranks", other=first, ranks=ranks)
    elif first != node:
        reasons.argue(INCONCLUSIVE, "same_log", node, case="steps", other=first)


def judge_one_run(seen: Seen, reasons: Reasons) -> None:
    """Note logs that contain more than one run, or lines that are out of order."""
    for status in seen.statuses:
        node, conflicts = status["node"], status["steps"]["conflicts"]
        if conflicts:
            reasons.argue(INCONCLUSIVE, "steps_conflict", node, steps=conflicts)
    _judge_ended(seen.statuses, seen.attempts, reasons)
    goal = seen.reached.last_line
    for node, rows in seen.attempts.items():
        earlier = seen.earlier[node]
        if goal is not None and earlier["step"].max(initial=-1) >= goal:
            reasons.argue(INCONCLUSIVE, "two_runs", node, last_step=goal)
        # Each process starts its progress bars, and their clock, at zero.
        _judge_clock(node, rows, earlier.at(slice(0)) if seen.grammar.bars else earlier, reasons)


def _judge_ended(statuses: list[Status], attempts: Mapping[str, Rows], reasons: Reasons) -> None:
    """Note a log that says that the training ended before the last step seen."""
    lasts = {node: int(rows["step"].max()) for node, rows in attempts.items()}
    last_of_all = max(lasts.values(), default=0)
    for status in statuses:
        last = lasts.get(status["node"], last_of_all)
        ended = max(status["trainer"]["settings"].get("ended", ()), default=last)
        if ended < last and status["steps"]["starts"] < 2:
            values = {"ended": int(ended), "last_step": last}
            reasons.argue(INCONCLUSIVE, "other_log", status["node"], case="ended_before", **values)


def _judge_clock(node: str, rows: Rows, earlier: Rows, reasons: Reasons) -> None:
    if "clock" not in rows:
        return
    clock, before = (_stamps(one) for one in (rows, earlier))
    if before.size and clock.size:
        clock = np.concatenate(([before.max()], clock))
    # Compare with the latest earlier stamp, because many small steps back add up to a large one.
    worst = float((clock - np.maximum.accumulate(clock)).min()) if clock.size else 0.0
    # Stamps without a year jump far back at New Year.
    tells_year = bool(clock.size) and clock[0] > _FIRST_ABSOLUTE
    if worst < -_CLOCK_IS_SET and (tells_year or worst > -_NEW_YEAR):
        reasons.argue(INCONCLUSIVE, "clock_back", node, seconds=-worst)


def _stamps(rows: Rows) -> np.ndarray:
    """Return the time stamps of steps, in seconds; another check reports those that are not numbers."""
    return rows.finite("clock")["clock"] if "clock" in rows else np.empty(0)


def judge_clock_of_run(seen: Seen, reasons: Reasons) -> None:
    """Note a log whose timestamps are outside the time of its run, or span longer than the run took."""
    for status in seen.statuses:
        rows = seen.attempts.get(status["node"])
        started, ended, node = status["process"]["started_at"], status["process"]["ended_at"], status["node"]
        if rows is None or "clock" not in rows or np.isnan(rows["clock"]).all() or not started or not ended:
            continue
        first, last = float(np.nanmin(rows["clock"])), float(np.nanmax(rows["clock"]))
        if last < _FIRST_ABSOLUTE and last - first > _NEW_YEAR:
            continue
        if last - first > ended - started + 60.0:
            took = {"stamped": last - first, "run": float(ended - started)}
            reasons.argue(INCONCLUSIVE, "other_time", node, case="took_longer", **took)
        elif first > _FIRST_ABSOLUTE and not started - _ZONES < first <= last < ended + _ZONES:
            reasons.argue(INCONCLUSIVE, "other_time", node, case="other_day", first=first, started_at=started)
