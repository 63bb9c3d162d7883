# SPDX-License-Identifier: GPL-3.0-or-later
"""The cells of a sweep: from a matrix over training config values, or from the config itself.

A matrix maps keys of the config (as in ``training_overrides``) to lists of values; ``exclude`` lists cells, or parts of
cells, to leave out.
"""

from __future__ import annotations

import itertools
import json
import math
import typing as t
from collections.abc import Mapping

from ..text.words import key_path, listed, nearest, shown
from .config.findings import Findings
from .formats.face import ConfigT, Format
from .job.sweep_cell import MOST_CELLS, Cell, cell_names

MATRIX = "training_matrix"


def cells_of(matrix: t.Any, format_: Format[ConfigT], config: ConfigT, findings: Findings) -> list[Cell]:
    """Return the cells of a matrix, or, without one, the config's cells, and report errors."""
    if matrix:
        return _of_matrix(matrix, findings)
    described = format_.sweep_cells(config, findings)
    if described is not None:
        return described
    findings.fault(
        MATRIX,
        None,
        "There is nothing to sweep over: no matrix is set, and the config has no sweep block.",
        'Give keys of the config with lists of values: -e \'{"training_matrix": {"micro_batch_size": [1, 2, 4]}}\'.',
    )
    return []


def _of_matrix(matrix: t.Any, findings: Findings) -> list[Cell]:
    if not isinstance(matrix, dict):
        findings.fault(
            MATRIX, matrix, f"It is {shown(matrix)}, not an object.", 'Give one: {"micro_batch_size": [1, 2, 4]}.'
        )
        return []
    axes = {key: values for key, values in matrix.items() if key != "exclude"}
    for key, values in axes.items():
        _check_axis(key, values, findings)
    if not axes:
        findings.fault(MATRIX, None, "It has no key to sweep over.", 'Give one: {"micro_batch_size": [1, 2, 4]}.')
    excluded = _excluded(matrix.get("exclude", []), axes, findings)
    count = math.prod(len(values) for values in axes.values() if isinstance(values, list))
    if count > MOST_CELLS:
        message = f"It has {shown(count)} cells; a sweep may have at most {MOST_CELLS}."
        findings.fault(MATRIX, None, message, "Use fewer keys or values; excluded cells count as well.")
    if findings.faults:
        return []
    every = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    kept = [values for values in every if not any(part.items() <= _plain(values).items() for part in excluded)]
    if not kept:
        findings.fault(f"{MATRIX}.exclude", None, "It excludes every cell.", "Exclude less.")
    return _named(kept)


def _check_axis(key: str, values: t.Any, findings: Findings) -> None:
    path = key_path(MATRIX, key)
    if not isinstance(values, list) or not values:
        findings.fault(path, values, f"It is {shown(values)}, not a list of values.", f'Write "{key}": [1, 2].')
    elif len({_text(value) for value in values}) < len(values):
        findings.fault(path, values, "A value is listed more than once.", "Keep one of them.")


def _excluded(parts: t.Any, axes: Mapping[str, t.Any], findings: Findings) -> list[dict[str, str]]:
    """Return the cells to leave out, with their values as text; report a part that fits no cell."""
    path = f"{MATRIX}.exclude"
    if not isinstance(parts, list):
        findings.fault(path, parts, f"It is {shown(parts)}, not a list of cells.", "Write a list of objects.")
        return []
    for place, part in enumerate(parts):
        where = key_path(path, place)
        if not isinstance(part, dict) or not part:
            findings.fault(where, part, f"It is {shown(part)}, not a part of a cell.", 'Write {"key": value, …}.')
            continue
        for key, value in part.items():
            if key not in axes:
                near = nearest(key, axes)
                remedy = f"Did you mean {near}?" if near else f"The matrix has {listed(axes)}."
                findings.fault(key_path(where, key), value, f"{shown(key)} is not a key of the matrix.", remedy)
            elif isinstance(axes[key], list) and _text(value) not in map(_text, axes[key]):
                offered = listed(map(_text, axes[key]))
                findings.fault(
                    key_path(where, key), value, "The matrix does not have this value.", f"It has {offered}."
                )
    return [_plain(part) for part in parts if isinstance(part, dict)]


def _plain(values: Mapping[str, t.Any]) -> dict[str, str]:
    return {key: _text(value) for key, value in values.items()}


def _text(value: t.Any) -> str:
    """Return a value as text, so that 8 and "8" are the same."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _named(cells: list[dict[str, t.Any]]) -> list[Cell]:
    """Return the cells with names made from their values, independent of the other cells."""
    names = ["-".join(f"{key.rpartition('.')[2]}_{_text(value)}" for key, value in cell.items()) for cell in cells]
    return [Cell(name, cell) for name, cell in zip(cell_names(names, cells), cells, strict=True)]
