# SPDX-License-Identifier: GPL-3.0-or-later
"""Failures behind exit status 0: scripts that pipe the trainer's output into tee end with the status of tee."""

from __future__ import annotations

import typing as t
from collections.abc import Container, Iterable

from ...module_utils.logs.ending import without_closed_store
from ..contracts import FirstFailure, Status
from .reasons import FAIL, INCONCLUSIVE

if t.TYPE_CHECKING:
    from .reasons import Reasons

# The class of what is known of a node's end alone, with nothing in its log.
_END_ALONE = "exit_status"


def judge_hidden_failure(
    statuses: Iterable[Status], first: FirstFailure | None, interrupted: bool, reasons: Reasons
) -> None:
    """Note that the node of the ``first`` failure ended with exit status 0, though its log reports that failure.

    Before any step was printed nothing else says that the training failed.
    """
    if first is None or interrupted or first["class"] == _END_ALONE:
        return
    status = next(status for status in statuses if status["node"] == first["node"])
    if status["status"] == "exited" and status.get("exit_status") == 0:
        message = f"{first['node']} ended with exit status 0, but its log holds a failure ({first['class']})."
        reasons.add(FAIL, "failure_in_log", message, first["node"])


def judge_failures_at_end(
    statuses: Iterable[Status], first: FirstFailure | None, with_steps: Container[str], reasons: Reasons
) -> None:
    """Note what failed after the last step, of whatever class, where no node is known to have failed.

    In front of it, the steps that follow show that the training survived it; here nothing does. On a node without
    steps that is what nothing follows by which it trains.
    """
    if first is not None:
        return
    for status in statuses:
        node = status["node"]
        failures = [*status.get("failures_at_end", [])]
        where = "after its last step"
        if node not in with_steps:
            failures = without_closed_store(status.get("failures", [])) or failures
            where = "that nothing shows it to have survived"
        for line, failure in {failure["line"]: failure for failure in failures}.items():
            message = f"The log of {node} holds a failure {where} ({failure['class']}): {line}"
            reasons.add(INCONCLUSIVE, "failure_at_end", message, node)
