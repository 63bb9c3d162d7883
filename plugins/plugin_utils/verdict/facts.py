# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts of a run, which outrank what its logs say: how each node ended, the last step, the trainer's own end."""

from __future__ import annotations

import typing as t

from ..contracts import Plan
from ..run.status import ended_well
from .reasons import INCONCLUSIVE, Reasons

if t.TYPE_CHECKING:
    from .seen import Seen


def is_complete(seen: Seen) -> bool:
    """Return whether the facts of the run show that it trained to its end.

    They are exit status 0 on every node, as the collection itself saw it, the last planned step, and the line with
    which the trainer ends. An exit status that a user told is no fact: he knows it of a script, mostly. Of one that a
    script returns from behind ``tee`` the trainer's line tells that it is the trainer's.
    """
    if seen.plan.get("logs") or not seen.reached.finished:
        return False
    return all(map(ended_well, seen.statuses)) and not without_end(seen)


def without_end(seen: Seen) -> list[str]:
    """Return the nodes whose job does not show the line with which its trainer ends, if its trainer has one.

    One rank of a job prints it.
    """
    if not seen.grammar.over:
        return []
    silent = [status["node"] for status in seen.statuses if not status["log"]["said_end"]]
    return [] if seen.together and len(silent) < len(seen.statuses) else silent


def judge_end(seen: Seen, reasons: Reasons) -> None:
    """Note where nothing but an exit status says that the training came to its end: it may be that of a script."""
    exited = {status["node"] for status in seen.statuses if ended_well(status)}
    silent = [node for node in without_end(seen) if node in exited]
    if not silent or not seen.reached.finished:
        return
    line = seen.grammar.over[0].decode()
    if seen.together:
        reasons.argue(INCONCLUSIVE, "no_end_seen", case="every_node", line=line)
        return
    for node in silent:
        reasons.argue(INCONCLUSIVE, "no_end_seen", node, line=line)


def trains_on_cpus(plan: Plan) -> bool:
    """Return whether a training was planned for CPUs: a rehearsal, or a config whose accelerator is ``cpu``.

    It tries the launch, not the model, and NCCL, whose variables the plan sets, takes no part in it. That nodes have no
    accelerator excuses no other training.
    """
    return bool(plan.get("rehearsal")) or (plan["gpu"] or "").casefold() == "cpu"
