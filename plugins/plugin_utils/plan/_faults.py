# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults and warnings: what is wrong with a training config, collected rather than raised.

Everything that is wrong is said at once, so nothing here raises. A fault stops the run; a warning does not.
"""

from __future__ import annotations

import difflib
import typing as t
from dataclasses import asdict, dataclass, field

if t.TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: where it stands, what stands there, why that is wrong, what would be right."""

    key: str
    value: t.Any
    message: str
    remedy: str

    def as_text(self) -> str:
        """Return the finding as one sentence for people."""
        return f"{self.key}: {self.message} {self.remedy}".strip()


@dataclass
class Findings:
    """The faults and warnings of one plan, in the order in which they were found."""

    faults: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)

    def fault(self, key: str, value: t.Any, message: str, remedy: str) -> None:
        """Note something that stops the run."""
        self._add(self.faults, Finding(key, value, message, remedy))

    def warn(self, key: str, value: t.Any, message: str, remedy: str) -> None:
        """Note something that the user should know and that does not stop the run."""
        self._add(self.warnings, Finding(key, value, message, remedy))

    def as_dict(self) -> dict[str, list[dict[str, t.Any]]]:
        """Return both lists as plain data: ``key``, ``value``, ``message`` and ``remedy`` of each finding."""
        return {
            "faults": [asdict(finding) for finding in self.faults],
            "warnings": [asdict(finding) for finding in self.warnings],
        }

    @staticmethod
    def _add(findings: list[Finding], finding: Finding) -> None:
        if finding not in findings:
            findings.append(finding)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like the given one, upper and lower case being the same, or None."""
    by_folded = {candidate.casefold(): candidate for candidate in known}
    matches = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[matches[0]] if matches else None


def listed(names: Iterable[str]) -> str:
    """Return the names as a list for a sentence: ``a, b, c``, or ``nothing``."""
    return ", ".join(names) or "nothing"
