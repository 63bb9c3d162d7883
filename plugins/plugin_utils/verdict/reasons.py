# SPDX-License-Identifier: GPL-3.0-or-later
"""The four verdicts, the reasons that argue for them, and the notes that argue for none."""

from __future__ import annotations

import math
import typing as t

from ..contracts import LedgerRow, Reason, Verdict

PASS: t.Final = "PASS"
FAIL: t.Final = "FAIL"
ERROR: t.Final = "ERROR"
INCONCLUSIVE: t.Final = "INCONCLUSIVE"

# The gravest first.
GRAVITY: tuple[Verdict, ...] = (FAIL, ERROR, INCONCLUSIVE, PASS)

# The row of the ledger that each code is of; the others are of the run as a whole.
_CODES: dict[LedgerRow, tuple[str, ...]] = {
    "exit status": (
        "node_failed",
        "node_killed",
        "node_unreachable",
        "node_bad_answer",
        "node_gone",
        "node_not_started",
        "node_running",
        "node_stopped",
        "node_stalled",
        "exit_status_unknown",
    ),
    "log": (
        "other_log",
        "log_cut",
        "same_log",
        "steps_conflict",
        "clock_back",
        "other_time",
        "two_runs",
        "settings_differ",
        "nodes_unknown",
        "logs_missing",
        "logs_left_over",
    ),
    "sign of life": ("no_sign_of_life",),
    "steps": ("no_steps", "last_step_unknown", "last_step_missing", "began_anew", "too_few_samples", "long_warm_up"),
    "gaps": ("steps_missing", "loss_missing", "last_loss_missing", "metric_gaps", "metric_missing", "no_loss"),
    "failures": ("failure_at_end", "failure_in_log", "machine_fault"),
    "numbers": ("not_finite", "below_zero", "nan_iterations"),
    "skipped": ("skipped_iterations", "skipped_unknown", "last_step_skipped", "idle_steps"),
    "loss": (
        "loss_rises",
        "loss_climbs",
        "loss_flat",
        "loss_constant",
        "loss_negative",
        "loss_differs",
        "loss_spike",
        "loss_repeats",
        "loss_too_high",
        "loss_too_low",
        "perplexity_differs",
    ),
    "workload": ("other_workload", "rates_disagree", "world_size", "trained_alone", "alone_suspected", "impossible"),
    "network": ("tcp_transport", "low_traffic", "transport_unknown"),
    "time": ("pauses", "slows_down"),
}
ROWS = (*_CODES, "last line")
ROW_OF_CODE = {code: row for row, codes in _CODES.items() for code in codes}


class Reasons:
    """Reasons of a verdict, each with the verdict that it argues for.

    FAIL takes precedence over ERROR, and ERROR over INCONCLUSIVE: what is known to be wrong with the training outweighs
    what is unknown.
    """

    def __init__(self) -> None:
        """Begin without any."""
        self._reasons: list[Reason] = []
        self._notes: list[Reason] = []

    def __len__(self) -> int:
        """Return how many reasons there are."""
        return len(self._reasons)

    def add(self, verdict: Verdict, code: str, message: str, node: str | None = None, **evidence: t.Any) -> None:
        """Note a reason, with the values or lines that support it."""
        self._reasons.append({**_reason(code, message, node, evidence), "verdict": verdict})

    def add_missing(self, row: LedgerRow, node: str) -> None:
        """Note that a ledger row of a node has no evidence."""
        reason = _reason("evidence_missing", f'{node} has no evidence for "{row}".', node, {})
        self._reasons.append({**reason, "row": row, "verdict": INCONCLUSIVE})

    def note(self, code: str, message: str, node: str | None = None, **evidence: t.Any) -> None:
        """Note something to be shown whatever the verdict is."""
        self._notes.append(_reason(code, message, node, evidence))

    def verdict(self) -> Verdict:
        """Return the gravest verdict that any reason argues for; INCONCLUSIVE where there is none."""
        argued = {reason["verdict"] for reason in self._reasons}
        return next((verdict for verdict in GRAVITY if verdict in argued), INCONCLUSIVE)

    def decisive(self) -> list[Reason]:
        """Return the reasons against a pass, gravest first; for a PASS, the reasons for it."""
        ordered = sorted(self._reasons, key=lambda reason: GRAVITY.index(reason["verdict"]))
        passed = self.verdict() == PASS
        return [reason for reason in ordered if (reason["verdict"] == PASS) == passed]

    def of_rows(self) -> dict[tuple[LedgerRow, str | None], Reason]:
        """Return the gravest reason against a pass for each row and node; the node is None for a reason about all."""
        found: dict[tuple[LedgerRow, str | None], Reason] = {}
        for reason in sorted(self._reasons, key=lambda reason: -GRAVITY.index(reason["verdict"])):
            if reason["verdict"] != PASS and "row" in reason:
                found[reason["row"], reason.get("node")] = reason
        return found

    def notes(self) -> list[Reason]:
        """Return the notes in their order."""
        return list(self._notes)


def _reason(code: str, message: str, node: str | None, evidence: dict[str, t.Any]) -> Reason:
    reason: Reason = {"code": code, "message": message}
    if code in ROW_OF_CODE:
        reason["row"] = ROW_OF_CODE[code]
    if node:
        reason["node"] = node
    if evidence:
        reason["evidence"] = {name: _json(value) for name, value in evidence.items()}
    return reason


def _json(value: t.Any) -> t.Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
