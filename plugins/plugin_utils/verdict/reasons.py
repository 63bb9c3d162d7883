# SPDX-License-Identifier: GPL-3.0-or-later
"""The four verdicts, the reasons that argue for them, and the notes that argue for none."""

from __future__ import annotations

import typing as t

from ..contracts import Reason, Verdict

PASS: t.Final = "PASS"
FAIL: t.Final = "FAIL"
ERROR: t.Final = "ERROR"
INCONCLUSIVE: t.Final = "INCONCLUSIVE"

_GRAVITY: tuple[Verdict, ...] = (FAIL, ERROR, INCONCLUSIVE, PASS)


class Reasons:
    """Reasons of a verdict, each with the verdict that it argues for.

    FAIL goes before ERROR and ERROR before INCONCLUSIVE: what is known to be wrong with the training weighs more than
    what is not known.
    """

    def __init__(self) -> None:
        """Begin without any."""
        self._reasons: list[Reason] = []
        self._notes: list[Reason] = []

    def add(self, verdict: Verdict, code: str, message: str, node: str | None = None, **evidence: t.Any) -> None:
        """Note a reason, with the values or lines that it rests on."""
        self._reasons.append({**_told(code, message, node, evidence), "verdict": verdict})

    def note(self, code: str, message: str, node: str | None = None, **evidence: t.Any) -> None:
        """Note something to be told whatever the verdict is."""
        self._notes.append(_told(code, message, node, evidence))

    def verdict(self) -> Verdict:
        """Return the gravest verdict that any reason argues for; INCONCLUSIVE where there is none."""
        argued = {reason["verdict"] for reason in self._reasons}
        return next((verdict for verdict in _GRAVITY if verdict in argued), INCONCLUSIVE)

    def told(self) -> list[Reason]:
        """Return what speaks against a pass, the gravest first; for a PASS what it rests on."""
        ordered = sorted(self._reasons, key=lambda reason: _GRAVITY.index(reason["verdict"]))
        passed = self.verdict() == PASS
        return [reason for reason in ordered if (reason["verdict"] == PASS) == passed]

    def notes(self) -> list[Reason]:
        """Return the notes in their order."""
        return list(self._notes)


def _told(code: str, message: str, node: str | None, evidence: dict[str, t.Any]) -> Reason:
    told: Reason = {"code": code, "message": message}
    if node:
        told["node"] = node
    if evidence:
        told["evidence"] = evidence
    return told
