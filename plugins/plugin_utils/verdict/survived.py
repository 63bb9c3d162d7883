# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run lived through, and what its last lines say: notes for the owner of a node, which decide nothing."""

from __future__ import annotations

import typing as t

from ...module_utils.logs.signature import Failure, is_warning
from .reasons import Reasons

if t.TYPE_CHECKING:
    from .seen import Seen

# Before the first step a trainer tries what it may do without: a library, an address, a device.
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
    if earlier is None or earlier.empty:
        return
    last, first = int(earlier["step"].iloc[-1]), int(seen.attempts[node]["step"].iloc[0])
    values = {"class": "restarted", "step": last, "first_step": first}
    reasons.remark("survived_fault", node, case="restarted", **values)


def note_unusual(seen: Seen, reasons: Reasons) -> None:
    """Note the lines at the end of a node's log that sound like a failure, for whoever wants to look."""
    for status in seen.statuses:
        lines = list(dict.fromkeys(line["line"] for line in status["log"]["unusual_at_end"]))
        if lines:
            reasons.remark("unusual_last_lines", status["node"], lines=lines)
