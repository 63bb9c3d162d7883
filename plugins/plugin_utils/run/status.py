# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's status: its parts, and their meaning.

``not_started``, ``staged`` and ``running`` lead to one of ``exited`` (with ``exit_status``), ``killed`` (gone without
one), ``stopped`` (by us; ``interrupted`` if by another command than the one that follows the run), ``stalled`` (its log
stopped growing), ``unreachable`` (it does not answer), ``bad_answer`` (its answer is invalid) and ``gone`` (its run
folder was removed). ``log_only`` is a node that nobody followed: its log does not show how the training ended.
``unfit`` is a node that could not be staged or started, for any reason but another run on it.
"""

from __future__ import annotations

import math
import typing as t
from collections.abc import Iterable, Mapping

from ..contracts import NodeLog, Status, Steps

# A node has a training that it has not reported as ended.
UNENDED = ("staged", "running")
_WITHOUT_A_START = frozenset({"not_started", "staged", "unreachable"})


def status_of(known: Mapping[str, t.Any]) -> Status:
    """Return a node's status from all its values by name, in the form that nodes send and every release writes.

    A value that is missing is unknown.
    """

    def some(name: str) -> t.Any:
        return known.get(name) or []

    def by_name(name: str) -> t.Any:
        return known.get(name) or {}

    return {
        "node": known["node"],
        "node_rank": known.get("node_rank"),
        "status": known.get("status", "not_started"),
        "message": known.get("message") or "",
        "problems": some("problems"),
        "unfit": known.get("unfit", False),
        "process": {
            "started_at": known.get("started_at"),
            "ended_at": known.get("ended_at"),
            "ran_seconds": known.get("ran_seconds"),
            "clock_seconds": known.get("clock_seconds"),
            "exit_status": known.get("exit_status"),
            "oom_killed": known.get("oom_killed", False),
            "booted": known.get("booted", False),
            "engine_problem": known.get("engine_problem"),
            "container_removed": known.get("container_removed", False),
            "full_disk": known.get("full_disk"),
            "ended_by": known.get("ended_by"),
        },
        "following": {
            "interrupted": known.get("interrupted", False),
            "taken_up": known.get("taken_up", False),
            "finished": known.get("finished", False),
            "followed": known.get("followed", False),
            "silent_since": known.get("silent_since"),
            "outages": some("outages"),
            "program": known.get("program"),
        },
        "steps": {
            "first_step": known.get("first_step"),
            "last_step": known.get("last_step"),
            "last_step_at": known.get("last_step_at"),
            "steps_total": known.get("steps_total"),
            "interval": known.get("interval") or said_interval([by_name("settings")]),
            "metrics": by_name("metrics"),
            "starts": known.get("starts", 0),
            "conflicts": known.get("conflicts", 0),
            "began_anew": known.get("began_anew", False),
        },
        "log": {
            "bytes": known.get("log_bytes", 0),
            "unread": known.get("log_unread", 0),
            "file": known.get("log_file"),
            "run_id": known.get("log_run_id"),
            "problem": known.get("log_problem"),
            "last_lines": some("last_lines"),
            "said_end": known.get("said_end", False),
            "failures": some("failures"),
            "survived": some("survived"),
            "failures_at_end": known.get("failures_at_end"),
            "unusual_at_end": some("unusual_at_end"),
        },
        "trainer": {
            "settings": by_name("settings"),
            "arguments": by_name("arguments"),
            "world_size": known.get("world_size"),
            "transports": some("transports"),
            "ranks": some("ranks"),
            "signs": some("signs"),
        },
        "machine": {
            "hardware": known.get("hardware"),
            "image_id": known.get("image_id"),
            "changes": known.get("machine_changes"),
            "traffic": by_name("traffic"),
            "traffic_step": known.get("traffic_step"),
        },
        "hang": {
            "ranks": some("ranks_seen"),
            "recorded": some("recorded"),
            "ras": some("ras"),
        },
    }


def ended_well(status: Status) -> bool:
    """Tell whether a node's training ended by itself, with exit status 0."""
    return status["status"] == "exited" and status["process"]["exit_status"] == 0


def has_failed(status: Status) -> bool:
    """Tell whether a node is known to have failed by itself, as opposed to being stopped.

    Exit status 0 is not a success if the node's own log ends before the last step: some training scripts exit with 0
    after the training has crashed.
    """
    log, steps = status["log"], status["steps"]
    if status["status"] == "exited":
        return not ended_well(status) or stops_short(log, steps)
    if status["status"] == "log_only":
        # A log that just ends may be half a copy; one that ends with a failure is not.
        return bool(log["failures"]) and (steps["last_step"] is None or stops_short(log, steps))
    return status["status"] in ("killed", "stalled", "unreachable", "bad_answer", "gone")


def stops_short(log: NodeLog, steps: Steps) -> bool:
    """Tell whether a node's log has steps but not the last one that it announces, although nobody removed the log."""
    first, last, total = steps["first_step"], steps["last_step"], steps["steps_total"]
    if log["problem"] or first is None or last is None or total is None:
        return False
    return last - first + 1 < last_line_of(total, steps["interval"])


def none_began(statuses: Iterable[str], has_started: bool) -> bool:
    """Tell whether no node of a run began to train, as far as is known, from the status of each.

    ``has_started`` says whether any has a time at which it started. A node that was stopped without a start was ready,
    and the run ended because of another.
    """
    ended = set(statuses) - {"stopped"}
    return bool(ended) and ended <= _WITHOUT_A_START and not has_started


def said_interval(settings: Iterable[Mapping[str, list[float]]]) -> int | None:
    """Return how many steps apart a trainer's lines are, according to its logs; None if unknown."""
    said = {value for of_log in settings for value in of_log.get("steps_per_line", ()) if math.isfinite(value)}
    return int(said.pop()) if len(said) == 1 else None


def last_line_of(last_step: int, interval: int | None) -> int:
    """Return the last step that has a line: a log interval need not divide the steps."""
    return last_step - last_step % (interval or 1) or last_step
