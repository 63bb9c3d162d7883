# SPDX-License-Identifier: GPL-3.0-or-later
"""The errors and remarks of a plan, and their places in a file.

Faults and warnings about a training config, collected rather than raised.

The user sees every error at once, so nothing here raises. A fault stops the run; a warning does not.
"""

from __future__ import annotations

import functools
import math
import re
import typing as t
from dataclasses import dataclass, field

from ...contracts import Finding, FoundFindings
from ...text.words import printable
from .secret_names import without_secrets

_LONG_WORD = re.compile(r"\S{200,}")
# Nobody reads more than this.
_MOST = 200
_MORE: Finding = {
    "key": "",
    "value": None,
    "message": f"Only the first {_MOST} are listed.",
    "remedy": "Fix these first.",
}


@dataclass
class Findings:
    """The faults and warnings of one plan, in the order found, with secrets removed.

    ``notes`` are sentences about the plan's assumptions and derived values; they need no remedy.
    """

    faults: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def fault(self, key: str, value: t.Any, message: str, remedy: str) -> None:
        """Record an error that stops the run."""
        self._add(self.faults, key, value, message, remedy)

    def warn(self, key: str, value: t.Any, message: str, remedy: str) -> None:
        """Record what the user should know, without stopping the run."""
        self._add(self.warnings, key, value, message, remedy)

    def note(self, sentence: str) -> None:
        """Record an assumption or a derived value of the plan."""
        self.notes.append(_readable(sentence))

    def has_fault(self, key: str) -> bool:
        """Return whether an error of a key is recorded."""
        return any(fault["key"] == key for fault in self.faults)

    def as_dict(self) -> FoundFindings:
        """Return the lists as plain data."""
        return {"faults": list(self.faults), "warnings": list(self.warnings), "notes": list(self.notes)}

    @staticmethod
    def _add(findings: list[Finding], key: str, value: t.Any, message: str, remedy: str) -> None:
        if len(findings) > _MOST:
            return
        names = re.findall(r"\w+", key)
        name = names[-1] if names else ""
        finding: Finding = {
            "key": _shortened(printable(key)),
            "value": _shown(without_secrets(value, name)),
            "message": _readable(message),
            "remedy": _readable(remedy),
        }
        if finding not in findings:
            findings.append(finding if len(findings) < _MOST else _MORE)


def _readable(sentence: str) -> str:
    """Return a sentence without secrets, overlong words and control characters."""
    return _shortened(printable(str(without_secrets(sentence))))


def _shortened(sentence: str) -> str:
    return _LONG_WORD.sub(lambda word: f"{word.group()[:50]}…{word.group()[-50:]}", sentence)


def _shown(value: t.Any) -> t.Any:
    """Return a value as JSON, with control characters in strings escaped."""
    if isinstance(value, dict):
        return {_shown(key): _shown(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_shown(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return printable(value) if isinstance(value, str) else value


class PlacedFindings(Findings):
    """Findings noted with the keys of the file that a config was made from.

    ``places`` maps key paths, and words of sentences, to the file's own; the longest path that fits counts.
    """

    def __init__(self, findings: Findings, places: t.Mapping[str, str]) -> None:
        """Note everything in ``findings``."""
        super().__init__(findings.faults, findings.warnings, findings.notes)
        self._findings, self._places = findings, places

    def fault(self, key: str, value: t.Any, message: str, remedy: str) -> None:
        """Record an error that stops the run."""
        self._findings.fault(self._place_of(key), value, self._said(message), self._said(remedy))

    def warn(self, key: str, value: t.Any, message: str, remedy: str) -> None:
        """Record what the user should know, without stopping the run."""
        self._findings.warn(self._place_of(key), value, self._said(message), self._said(remedy))

    def has_fault(self, key: str) -> bool:
        """Return whether an error of a key is recorded, which may be a key of the config that was made."""
        return self._findings.has_fault(self._place_of(key))

    def _place_of(self, key: str) -> str:
        fitting = (path for path in self._places if key.startswith(path) and key[len(path) :][:1] in ("", ".", "["))
        longest = max(fitting, key=len, default="")
        return self._places[longest] + key[len(longest) :] if longest else key

    @functools.cached_property
    def _names(self) -> re.Pattern[str]:
        ordered = sorted(self._places, key=len, reverse=True)
        return re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, ordered))})(?![\w=])")

    def _said(self, sentence: str) -> str:
        return self._names.sub(lambda found: self._places[found[1]], sentence) if self._places else sentence
