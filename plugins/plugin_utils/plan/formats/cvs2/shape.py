# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the files for one trainer have what all later formats of CVS have."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...config.findings import Findings
from ...config.words import key_path
from ...job.options import RunOptions
from ...job.sweep_cell import Cell
from ..cvs1.dialect import CvsFile, Dialect
from ..cvs1.sweep_blocks import cells_of
from .file import LaterFile
from .places import PlacedFindings, value_at

First = tuple[CvsFile, Mapping[str, str]]


@dataclass(frozen=True)
class Shape:
    """The files for one trainer.

    ``dialect`` is theirs in the first format. ``cells`` and ``runs`` are the paths of a sweep's cells and of the list
    of those that run; a cell's values are under ``nested``, if that is set, and go into the section ``cells_into``.
    ``first_format`` returns a config of the first format, on so many nodes, and the places of its keys, or None.
    ``section_of`` returns the section of a key that overrides name without a path, where it is not ``cells_into``.
    ``names_nodes`` tells whether a file says how many nodes it is for.
    """

    dialect: Dialect
    cells: str
    runs: str
    cells_into: str
    first_format: Callable[[LaterFile, RunOptions, int, Findings], First | None]
    section_of: Callable[[str], str | None]
    nested: str = ""
    names_nodes: bool = True

    def has_sweep(self, data: t.Any) -> bool:
        """Return whether a file has a sweep."""
        return value_at(data, self.cells) is not None or value_at(data, self.runs) is not None

    def cells_in(self, data: t.Any, findings: Findings) -> list[Cell] | None:
        """Return the cells that a file says to run; None if it has no sweep."""
        if not self.has_sweep(data):
            return None
        # An empty list in a separate key means all of them.
        runs = value_at(data, self.runs) or None
        blocks = {"sweeps": value_at(data, self.cells), **({} if runs is None else {"runs": runs})}
        placed = PlacedFindings(findings, {"sweeps": self.cells, "runs": self.runs})
        return cells_of(blocks, self._values_of, placed)

    def first_run(self, data: t.Any) -> tuple[str, str, dict[str, t.Any]]:
        """Return name, path and values of the first cell that runs, or of the first one; nothing if there is none."""
        offered, runs = value_at(data, self.cells), value_at(data, self.runs)
        cells: dict[str, tuple[str | int, t.Any]] = {}
        if isinstance(offered, list):
            cells = {
                str(cell.get("name", place)): (place, cell) for place, cell in enumerate(offered) if _is_object(cell)
            }
        else:
            objects = offered if isinstance(offered, dict) else {}
            cells = {name: (name, cell) for name, cell in objects.items()}
        wanted = [name for name in runs if isinstance(name, str)] if isinstance(runs, list) else []
        for name in [*wanted, *cells]:
            place, values = cells.get(name, ("", None))
            if _is_object(values):
                path = key_path(self.cells, place, *([self.nested] if self.nested else []))
                own = {key: value for key, value in values.items() if key != "name"}
                return str(name), path, self._values_of(own)
        return "", "", {}

    def _values_of(self, cell: dict[str, t.Any]) -> dict[str, t.Any]:
        inner = cell.get(self.nested, {}) if self.nested else cell
        return inner if _is_object(inner) else {}


def _is_object(value: t.Any) -> bool:
    return isinstance(value, dict)
