# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node's status on the board means.

``not_started``, ``staged`` and ``running`` lead to one of ``exited`` (with ``exit_status``), ``killed`` (gone without
one), ``stopped`` (by us; ``interrupted`` where that was another command than the one that follows the run),
``stalled`` (its log stopped growing), ``unreachable`` (it does not answer), ``bad_answer`` (its answer is invalid) and
``gone`` (its run folder was removed). ``log_only`` is a node that nobody followed: its log does not show how the
training ended. ``unfit`` is a node that could not be staged or started, but not because another run holds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..contracts import Status

# A node holds a training, of which it has not said that it ended.
UNENDED = ("staged", "running")
_WITHOUT_A_START = frozenset({"not_started", "staged", "unreachable"})


def has_failed(status: Status) -> bool:
    """Tell whether a node is known to have failed by itself, as opposed to being stopped.

    Exit status 0 is no success if the node's own log ends before the last step: some training scripts exit with 0 after
    the training has crashed.
    """
    if status["status"] == "exited":
        return status.get("exit_status") != 0 or stops_short(status)
    if status["status"] == "log_only":
        # A log that just ends may be half a copy; one that ends with a failure is not.
        return bool(status.get("failures")) and (status.get("last_step") is None or stops_short(status))
    return status["status"] in ("killed", "stalled", "unreachable", "bad_answer", "gone")


def stops_short(status: Status) -> bool:
    """Tell whether a node's log has steps but not the last one that it announces, although nobody removed the log."""
    if status.get("log_problem"):
        return False
    last_step, steps_total = status.get("last_step"), status.get("steps_total")
    if last_step is None or steps_total is None:
        return False
    interval = status.get("interval") or said_interval([status.get("settings", {})])
    return bool(last_step - status["first_step"] + 1 < last_line_of(steps_total, interval))


def none_began(statuses: Iterable[str], has_started: bool) -> bool:
    """Tell whether no node of a run began to train, as far as is known, given what became of each.

    ``has_started`` says whether any has a time at which it started. A node that was stopped without a start was ready,
    and the run ended because of another.
    """
    ended = set(statuses) - {"stopped"}
    return bool(ended) and ended <= _WITHOUT_A_START and not has_started


def said_interval(settings: Iterable[Mapping[str, list[float]]]) -> int | None:
    """Return how many steps apart a trainer's lines are, according to its logs; None if unknown."""
    said = {value for of_log in settings for value in of_log.get("steps_per_line", ())}
    return int(said.pop()) if len(said) == 1 else None


def last_line_of(last_step: int, interval: int | None) -> int:
    """Return the last step that has a line: a log interval need not divide the steps."""
    return last_step - last_step % (interval or 1) or last_step
