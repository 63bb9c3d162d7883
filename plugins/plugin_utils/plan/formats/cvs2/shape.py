# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the files for one trainer have what all later formats of CVS have."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ....text.words import key_path
from ...config.findings import Findings, PlacedFindings
from ...job.options import ConfigOptions
from ...job.sweep_cell import Cell
from ..cvs1.dialect import CvsFile, Dialect
from ..cvs1.megatron.dialect import PRIMUS
from ..cvs1.sweep_blocks import cells_of
from .file import LaterFile
from .places import value_at

First = tuple[CvsFile, Mapping[str, str]]


def _nothing(_name: str, _data: t.Any) -> dict[str, t.Any]:
    return {}


@dataclass(frozen=True)
class Shape:
    """The files for one trainer.

    ``dialect`` is theirs in the first format. ``cells`` and ``runs`` are the paths of a sweep's cells and of the list
    of those that run; a cell's values are under ``nested``, if that is set, and go into the section ``cells_into``;
    ``of_name`` returns those in a cell's name, given the file. ``first_format`` returns a config of the first format,
    on so many nodes, and the places of its keys, or None. ``section_of`` returns the section of a key that overrides
    name without a path, where it is not ``cells_into``.
    """

    dialect: Dialect
    cells: str
    runs: str
    cells_into: str
    first_format: Callable[[LaterFile, ConfigOptions, int, Findings], First | None]
    section_of: Callable[[str], str | None]
    nested: str = ""
    of_name: Callable[[str, t.Any], dict[str, t.Any]] = _nothing

    def cells_in(self, data: t.Any, findings: Findings) -> list[Cell] | None:
        """Return the cells that a file says to run; None if it has no sweep."""
        # An empty list means all of them.
        offered, runs = value_at(data, self.cells), value_at(data, self.runs) or None
        if offered is None and runs is None:
            return None
        if isinstance(offered, dict):
            offered = {name: self._with_name(name, cell, data) for name, cell in offered.items()}
        blocks = {"sweeps": offered, **({} if runs is None else {"runs": runs})}
        placed = PlacedFindings(findings, {"sweeps": self.cells, "runs": self.runs})
        return cells_of(blocks, self._values_of, placed)

    def first_run(self, data: t.Any) -> tuple[str, dict[str, t.Any], dict[str, str]]:
        """Return name, values and their paths of the first cell that runs, or of the first one; or nothing."""
        offered, runs = value_at(data, self.cells), value_at(data, self.runs)
        parts = enumerate(offered) if isinstance(offered, list) else (offered if _is_object(offered) else {}).items()
        cells = {_name_of(place, cell): (place, cell) for place, cell in parts if _is_object(cell)}
        wanted = [name for name in runs if isinstance(name, str)] if isinstance(runs, list) else []
        for name in [*wanted, *cells]:
            if name in cells:
                place, cell = cells[name]
                path = key_path(self.cells, place, *([self.nested] if self.nested else []))
                own = self._values_of({key: value for key, value in cell.items() if key != "name"})
                of_name = self.of_name(name, data)
                paths = {**dict.fromkeys(of_name, path), **{key: key_path(path, key) for key in own}}
                return name, {**of_name, **own}, paths
        return "", {}, {}

    def _with_name(self, name: str, cell: t.Any, data: t.Any) -> t.Any:
        return {**self.of_name(name, data), **cell} if _is_object(cell) else cell

    def _values_of(self, cell: dict[str, t.Any]) -> dict[str, t.Any]:
        inner = cell.get(self.nested, {}) if self.nested else cell
        return inner if _is_object(inner) else {}


def with_primus(shape: Shape) -> Shape:
    """Return the shape of files for Megatron-LM as that of the same for Primus."""
    return replace(shape, dialect=PRIMUS)


def _name_of(place: t.Any, cell: dict[str, t.Any]) -> str:
    """Return the name of a cell: its key, or in a list what it says."""
    return str(cell.get("name", place)) if isinstance(place, int) else str(place)


def _is_object(value: t.Any) -> bool:
    return isinstance(value, dict)
