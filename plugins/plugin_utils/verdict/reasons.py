# SPDX-License-Identifier: GPL-3.0-or-later
"""The four verdicts, the reasons that argue for them, and the notes that argue for none."""

from __future__ import annotations

import math
import typing as t

from ..contracts import Lack, LedgerRow, Reason, Verdict
from ..text.catalogue import VERDICT
from ..text.sentences import filled
from .checks import CHECK_OF_CODE, CHECKS, ERROR, FAIL, INCONCLUSIVE

__all__ = ("ERROR", "FAIL", "GRAVITY", "INCONCLUSIVE", "PASS", "Reasons")

PASS: t.Final = "PASS"

# Gravest first.
GRAVITY: tuple[Verdict, ...] = (FAIL, ERROR, INCONCLUSIVE, PASS)

# Codes of a training that failed, or whose log says so: these need a cause.
_OF_A_FAILURE = frozenset(
    check.code
    for check in CHECKS
    if check.row in ("exit status", "failures", "numbers") and check.code not in ("exit_status_unknown", "no_end_seen")
) | {"last_step_missing", "no_steps"}


class Reasons:
    """Reasons of a verdict, each with the verdict that it argues for.

    FAIL takes precedence over ERROR, and ERROR over INCONCLUSIVE: a known fault of the training outweighs an open
    question.
    """

    def __init__(self, *, complete: bool = False) -> None:
        """Begin without reasons; ``complete`` tells whether the facts of the run are complete, see `checks`."""
        self._complete = complete
        self._reasons: list[Reason] = []
        self._notes: list[Reason] = []

    @property
    def complete(self) -> bool:
        """Return whether the facts of the run are complete, so that they outrank gaps in a log."""
        return self._complete

    def __len__(self) -> int:
        """Return how many reasons there are."""
        return len(self._reasons)

    def argue(
        self, verdict: Verdict, code: str, node: str | None = None, /, *, case: str = "", **values: t.Any
    ) -> None:
        """Note a finding that argues for a verdict: its code and case, its node, and the values of its sentence.

        If the check may not argue for that verdict, or the facts of the run outrank it, the finding becomes a note.
        """
        check = CHECK_OF_CODE.get(code)
        if verdict != PASS and check and (not check.effects or (check.outranked and self._complete)):
            self.remark(code, node, case=case, **values)
            return
        self._reasons.append({**_finding(code, case, node, values), "verdict": verdict})

    def remark(self, code: str, node: str | None = None, /, *, case: str = "", **values: t.Any) -> None:
        """Note a finding that is shown whatever the verdict is."""
        self._notes.append(_finding(code, case, node, values))

    def add_missing(self, row: LedgerRow, node: str) -> None:
        """Note that a ledger row of a node has no evidence."""
        reason = _finding("evidence_missing", "", node, {"row": row})
        self._reasons.append({**reason, "row": row, "verdict": INCONCLUSIVE})

    def take_over(self, verdict: Verdict, lack: Lack) -> None:
        """Note a gap that the plan reports, in the plan's words: an earlier version may have written it."""
        row = CHECK_OF_CODE[lack["code"]].row if lack["code"] in CHECK_OF_CODE else None
        reason: Reason = {**t.cast(Reason, lack), "verdict": verdict}
        self._reasons.append({**reason, "row": row} if row else reason)

    def verdict(self) -> Verdict:
        """Return the gravest verdict that any reason argues for; INCONCLUSIVE without reasons."""
        argued = {reason["verdict"] for reason in self._reasons}
        return next((verdict for verdict in GRAVITY if verdict in argued), INCONCLUSIVE)

    def has_failure(self) -> bool:
        """Return whether something failed, rather than missed a threshold, differed or stayed unknown."""
        return any(reason["code"] in _OF_A_FAILURE for reason in self._reasons)

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


def _finding(code: str, case: str, node: str | None, values: dict[str, t.Any]) -> Reason:
    finding: Reason = {"code": code, "message": filled(VERDICT[code][case].one, {**values, "node": node or ""})}
    check = CHECK_OF_CODE.get(code)
    if check and check.row:
        finding["row"] = check.row
    if node:
        finding["node"] = node
    if case:
        finding["case"] = case
    if values:
        finding["values"] = {name: as_json(value) for name, value in values.items()}
    return finding


def as_json(value: t.Any) -> t.Any:
    """Return a value of a finding for JSON, with NaN and infinity as texts."""
    if isinstance(value, dict):
        return {name: as_json(one) for name, one in value.items()}
    if isinstance(value, list):
        return [as_json(one) for one in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
