# SPDX-License-Identifier: GPL-3.0-or-later
"""Failures behind exit status 0: scripts that pipe the trainer's output into tee end with the status of tee."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable

from ..contracts import FirstFailure, Status
from .first_cause import is_own
from .reasons import FAIL, INCONCLUSIVE

if t.TYPE_CHECKING:
    from .reasons import Reasons

# The class of what is known of a node's end alone, with nothing in its log.
_END_ALONE = "exit_status"


def judge_hidden_failure(
    statuses: Iterable[Status], first: FirstFailure | None, interrupted: bool, reasons: Reasons
) -> None:
    """Note that the node of the ``first`` failure ended with exit status 0, though its log tells of that failure.

    Before any step was printed nothing else tells that the training failed.
    """
    if first is None or interrupted or first["class"] == _END_ALONE:
        return
    status = next(status for status in statuses if status["node"] == first["node"])
    if status["status"] == "exited" and status.get("exit_status") == 0:
        message = f"{first['node']} ended with exit status 0, but its log tells of a failure ({first['class']})."
        reasons.add(FAIL, "failure_in_log", message, first["node"])


def judge_failures_at_end(statuses: Iterable[Status], first: FirstFailure | None, reasons: Reasons) -> None:
    """Note what failed behind the last step, where no node is known to have failed.

    In front of it, the steps that follow show that the training survived it; here nothing does.
    """
    if first is not None:
        return
    for status in statuses:
        node = status["node"]
        for failure in filter(is_own, status.get("failures_at_end", [])):
            message = (
                f"The log of {node} tells of a failure behind its last step ({failure['class']}): {failure['line']}"
            )
            reasons.add(INCONCLUSIVE, "failure_at_end", message, node)
