# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings about a config that was made from another one, noted with the keys of that."""

from __future__ import annotations

import functools
import re
import typing as t

from .findings import Findings


class PlacedFindings(Findings):
    """Findings noted with the keys of the file that a config was made from.

    ``places`` maps key paths, and words of sentences, to those of the file; the longest path that fits counts.
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
