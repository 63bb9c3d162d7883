# SPDX-License-Identifier: GPL-3.0-or-later
"""Failures in the logs of a run although no node is known to have failed, and faults that the run survived."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Collection, Iterable, Sequence

from ...module_utils.logs.ending import only_errors
from ...module_utils.logs.failure_classes import BLAME
from ...module_utils.logs.severity import ERROR
from ...module_utils.logs.signature import Failure, is_warning
from ..contracts import EndedBy, FirstFailure, Reason, Status
from ..run.status import ended_well
from ..text.failures import ENDS
from .first_cause import echo_of, is_own
from .reasons import FAIL, INCONCLUSIVE, Reasons

if t.TYPE_CHECKING:
    from .seen import Seen

# `first_failure` of a run: from its nodes' statuses, and the nodes that ended with exit status 0 although they failed.
Blame = Callable[[Iterable[Status], Collection[str]], FirstFailure | None]

# The reasons that report NaN or infinite values.
_NOT_FINITE = frozenset({"not_finite", "nan_iterations"})
_OF_THE_MODEL = frozenset({"loss", "grad_norm", "nan_iterations"})


def judge_hidden_failure(seen: Seen, reasons: Reasons) -> None:
    """Note that the node of the first failure ended with exit status 0, though its log reports that failure.

    If no step was printed, nothing else shows that the training failed.
    """
    first = seen.first
    # A bare exit status does not come from the log.
    if first is None or first["class"] == "exit_status":
        return
    status = next(status for status in seen.statuses if status["node"] == first["node"])
    if ended_well(status):
        reasons.argue(FAIL, "failure_in_log", first["node"], case="exit_zero", **{"class": first["class"]})


# Losses that count even if the run trained to its end: a process, a device, a file system, or a checkpoint.
_LOSSES = frozenset(
    (
        *("host_memory", "killed", "node_failure", "gpu_ecc", "gpu_error", "gpu_hang", "gpu_memory_fault"),
        *("disk_full", "io_error", "checkpoint"),
    )
)
# A stop kills what does not end by itself.
_LOSSES_WITHOUT_A_STOP = _LOSSES - {"killed"}


def that_count(statuses: Iterable[Status]) -> list[Status]:
    """Return the statuses of a run that somebody stopped, without the failures that the stop itself may cause."""

    def losses(failures: Iterable[Failure] | None) -> list[Failure]:
        return [failure for failure in failures or () if failure["class"] in _LOSSES_WITHOUT_A_STOP]

    return [
        {
            **status,
            "log": {
                **status["log"],
                "failures": losses(status["log"]["failures"]),
                "failures_at_end": losses(status["log"]["failures_at_end"]),
            },
        }
        for status in statuses
    ]


def judge_failures_at_end(seen: Seen, reasons: Reasons) -> None:
    """Note failures of a known class after the last step, if no node is known to have failed.

    A failure before the last step was survived, as the later steps show. On a node without steps, a failure counts if
    no sign of training follows it. After somebody stopped the run, only a loss counts: the stop itself causes the rest.
    """
    statuses = that_count(seen.statuses) if seen.interrupted else seen.statuses
    for status in statuses if seen.first is None else ():
        node, failures = status["node"], status["log"]["failures_at_end"] or []
        case = "after_last_step"
        if node not in seen.attempts:
            failures = only_errors(status["log"]["failures"]) or failures
            case = "no_sign_of_life_after"
        for line, failure in {failure["line"]: failure for failure in failures}.items():
            lost = failure["class"] in _LOSSES
            code = "fault_at_end" if lost else "failure_at_end"
            reasons.argue(INCONCLUSIVE, code, node, case=case, line=line, **{"class": failure["class"]})


def failure_in_logs(statuses: Iterable[Status], reasons: Sequence[Reason], blame: Blame) -> FirstFailure | None:
    """Return the first cause, in the order of ``blame``, of failures that no later step shows to be survived, or None.

    These are failures of the node itself before its last few steps, failures of any class after the last step, and NaN
    or infinite values among the ``reasons``. The result reports a failure and does not change the verdict.
    """
    found: dict[str, Status] = {}
    statuses = list(statuses)
    for status in statuses:
        values = (
            reason for reason in reasons if reason["code"] in _NOT_FINITE and reason.get("node") == status["node"]
        )
        known = status["log"]["failures"]
        at_end = (_with_class(text, known) for text in status["log"]["failures_at_end"] or [])
        texts = [*filter(is_own, known), *at_end, *map(_nan, values)]
        if texts:
            failures = list({text["line"]: text for text in texts}.values())
            found[status["node"]] = {**status, "log": {**status["log"], "failures": failures}}
    return blame([found.get(status["node"], status) for status in statuses], found) if found else None


def nan_before(
    first: FirstFailure, statuses: Iterable[Status], reasons: Sequence[Reason], blame: Blame, *, together: bool
) -> FirstFailure:
    """Return the first failure; if that is a bare exit status, return the NaN or infinite values before it."""
    if first["class"] != "exit_status":
        return first
    bare: list[Status] = [
        {**status, "log": {**status["log"], "failures": [], "failures_at_end": []}} for status in statuses
    ]
    nan = failure_in_logs(bare, reasons, blame)
    if nan is None:
        return first
    ended = echo_of(first)
    known = {nan["node"], *(echo["node"] for echo in nan["echoes"])}
    echoes = [echo for echo in (ended, *first["echoes"]) if echo["node"] not in known]
    return {**nan, "echoes": [*nan["echoes"], *(echoes if together else [])]}


def _with_class(text: Failure, known: Iterable[Failure]) -> Failure:
    """Return the known failure that begins with the same text, which has a class, or else the text itself."""
    return next((failure for failure in known if failure["line"].startswith(text["line"])), text)


def _nan(reason: Reason) -> EndedBy:
    values = reason.get("values", {})
    case = "model" if values.get("metric", reason["code"]) in _OF_THE_MODEL else "number"
    return {
        "class": "nan",
        "blame": BLAME["nan"],
        "echo": False,
        "case": case,
        "values": {**values, "code": reason["code"], "said": reason["message"]},
        "line": reason["message"],
        "remedy": ENDS["nan"][case].remedy,
        "rank": None,
        "exit_code": None,
        "severity": ERROR,
        "step": None,
    }


# Before the first step, a trainer tries optional things: a library, an address, a device.
_OF_THE_MACHINE = frozenset(
    (
        "gpu_hang",
        "gpu_memory_fault",
        "gpu_ecc",
        "gpu_error",
        "gpu_slowdown",
        "node_failure",
        "host_memory",
        "killed",
        "io_error",
    )
)


def note_survived(seen: Seen, reasons: Reasons) -> None:
    """Note each fault in a log that later steps show to be survived: its node, class, line and the step before it."""
    for status in seen.statuses:
        node = status["node"]
        lines: set[str] = set()
        for fault in filter(_is_a_fault, status["log"]["survived"]):
            if fault["line"] in lines:
                continue
            lines.add(fault["line"])
            case = "before_first_step" if fault["step"] is None else ""
            values = {name: fault[name] for name in ("class", "line", "step", "remedy")}
            reasons.remark("survived_fault", node, case=case, **values)
        _note_restarts(seen, node, reasons)


def _is_a_fault(fault: Failure) -> bool:
    if is_warning(fault):
        return False
    return fault["step"] is not None or fault["class"] in _OF_THE_MACHINE


def _note_restarts(seen: Seen, node: str, reasons: Reasons) -> None:
    earlier = seen.earlier.get(node)
    if not earlier:
        return
    last, first = int(earlier["step"][-1]), int(seen.attempts[node]["step"][0])
    values = {"class": "restarted", "step": last, "first_step": first}
    reasons.remark("survived_fault", node, case="restarted", **values)


def note_unusual(seen: Seen, reasons: Reasons) -> None:
    """Note the lines at the end of a node's log that sound like a failure, for whoever wants to look."""
    for status in seen.statuses:
        lines = list(dict.fromkeys(line["line"] for line in status["log"]["unusual_at_end"]))
        if lines:
            reasons.remark("unusual_last_lines", status["node"], lines=lines)
