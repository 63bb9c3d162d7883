# SPDX-License-Identifier: GPL-3.0-or-later
"""The failure that the logs of a run hold although no node is known to have failed.

A launch script that pipes the trainer into tee ends with exit status 0, and where the number of steps is not known the
log does not look cut off either. So this names a failure, and leaves the verdict as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...module_utils.logs.signatures.known import SIGNATURES
from ..contracts import Failure, FirstFailure, Reason, Status
from .first_cause import first_failure, is_own

# Of the reasons, those that report values that are no numbers.
_NOT_FINITE = frozenset({"not_finite", "nan_iterations"})
_NAN = next(signature for signature in SIGNATURES if signature.failure == "nan")


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
        texts = [*filter(is_own, status.get("failures", [])), *status.get("failures_at_end", []), *map(_nan, values)]
        if texts:
            found.append({**status, "failures": list({text["line"]: text for text in texts}.values())})
    return first_failure(found, {status["node"] for status in found}, together)


def _nan(reason: Reason) -> Failure:
    return {
        "class": _NAN.failure,
        "blame": _NAN.blame,
        "echo": False,
        "line": reason["message"],
        "remedy": _NAN.remedy,
        "rank": None,
        "exit_code": None,
    }
