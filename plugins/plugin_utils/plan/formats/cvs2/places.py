# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the keys of CVS's first format stand in a later one: values move there, and faults back."""

from __future__ import annotations

import functools
import re
import typing as t
from collections.abc import Mapping

from ...config.findings import Findings

Places = t.Mapping[str, str]


def value_at(data: t.Any, path: str) -> t.Any:
    """Return the value at a path with dots, or None if it, or a section on the way, is not there."""
    for name in path.split("."):
        data = data.get(name) if isinstance(data, dict) else None
    return data


def put(data: dict[str, t.Any], path: str, value: t.Any) -> None:
    """Set a value at a path with dots; sections on the way are created."""
    *sections, name = path.split(".")
    for section in sections:
        data = data.setdefault(section, {})
    data[name] = value


class PlacedFindings(Findings):
    """Findings about a config in the first format, noted with the keys of the file that it was made from.

    ``places`` maps key paths, and words of sentences, to those of the file; the longest path that fits counts.
    """

    def __init__(self, findings: Findings, places: Places) -> None:
        """Note everything in ``findings``."""
        super().__init__(findings.faults, findings.warnings, findings.notes)
        self._places = places

    def fault(self, key: str, value: t.Any, message: str, remedy: str) -> None:
        """Record an error that stops the run."""
        super().fault(self._place_of(key), value, self._said(message), self._said(remedy))

    def warn(self, key: str, value: t.Any, message: str, remedy: str) -> None:
        """Record what the user should know, without stopping the run."""
        super().warn(self._place_of(key), value, self._said(message), self._said(remedy))

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


def words_of(moves: Mapping[str, str]) -> dict[str, str]:
    """Return the places of moved keys, given as new path by old one, and of their names alone where these differ."""
    words = {old.rpartition(".")[2]: new.rpartition(".")[2] for old, new in moves.items()}
    return {old: new for old, new in words.items() if old != new} | dict(moves)
