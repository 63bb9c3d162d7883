# SPDX-License-Identifier: GPL-3.0-or-later
"""The failure that the logs of a run hold although no node is known to have failed.

A launch script that pipes the trainer into tee ends with exit status 0, and where the number of steps is not known the
log does not look cut off either. So this names a failure, and leaves the verdict as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...module_utils.logs.signature import BLAME
from ..contracts import Failure, FirstFailure, Reason, Status
from .first_cause import first_failure, is_own

# Of the reasons, those that report values that are no numbers.
_NOT_FINITE = frozenset({"not_finite", "nan_iterations"})
_OF_THE_MODEL = frozenset({"loss", "grad_norm", "nan_iterations"})
_REMEDY_OF_THE_MODEL = (
    "The loss or the gradients became NaN or infinite: check data, precision and learning rate; where one rank alone "
    "has it, check its GPU."
)
_REMEDY_OF_A_NUMBER = "Read that line of the log: the trainer could not measure, or the line is torn or was changed."


def failure_in_logs(
    statuses: Iterable[Status], reasons: Sequence[Reason], together: bool = True
) -> FirstFailure | None:
    """Return the first cause among what no step has shown to be survived, as `first_failure` does, or None.

    These are failures of the node itself before its last few steps, failures of any class after the last step, and
    values that are NaN or infinite, which are among the ``reasons``.
    """
    found: list[Status] = []
    for status in statuses:
        values = (
            reason for reason in reasons if reason["code"] in _NOT_FINITE and reason.get("node") == status["node"]
        )
        known = status.get("failures", [])
        at_end = (_with_class(text, known) for text in status.get("failures_at_end", []))
        texts = [*filter(is_own, known), *at_end, *map(_nan, values)]
        if texts:
            found.append({**status, "failures": list({text["line"]: text for text in texts}.values())})
    return first_failure(found, {status["node"] for status in found}, together)


def nan_before(
    first: FirstFailure, statuses: Iterable[Status], reasons: Sequence[Reason], together: bool = True
) -> FirstFailure:
    """Return the first failure, or where that is a bare exit status the values that were NaN or infinite before it."""
    if first["class"] != "exit_status":
        return first
    bare: list[Status] = [{**status, "failures": [], "failures_at_end": []} for status in statuses]
    nan = failure_in_logs(bare, reasons, together)
    if nan is None:
        return first
    ended = {name: first[name] for name in ("node", "class", "message")}
    known = {nan["node"], *(echo["node"] for echo in nan["echoes"])}
    echoes = [echo for echo in (ended, *first["echoes"]) if echo["node"] not in known]
    return {**nan, "echoes": [*nan["echoes"], *(echoes if together else [])]}


def _with_class(text: Failure, known: Iterable[Failure]) -> Failure:
    """Return the failure that has a class and begins with the same words, or the text itself: it may have none."""
    return next((failure for failure in known if failure["line"].startswith(text["line"])), text)


def _nan(reason: Reason) -> Failure:
    of_model = reason["evidence"].get("metric", reason["code"]) in _OF_THE_MODEL
    return {
        "class": "nan",
        "blame": BLAME["nan"],
        "echo": False,
        "line": reason["message"],
        "remedy": _REMEDY_OF_THE_MODEL if of_model else _REMEDY_OF_A_NUMBER,
        "rank": None,
        "exit_code": None,
    }
