# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cells of a sweep: of a matrix over values of a training config, or of the sweep blocks of a CVS config.

A matrix maps keys of the config (as ``training_overrides`` takes them) to lists of values; ``exclude`` lists cells, or
parts of cells, that are left out. CVS files name their cells instead, ``"sweep": {"combinations": {…}, "runs": […]}``
for Megatron-LM and ``"sweeps": {…} or […], "runs": […]`` for MaxText, whose values are read as they are.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import typing as t
from dataclasses import dataclass

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._words import key_path, listed, nearest, shown

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._faults import Findings

MATRIX = "training_matrix"
BLOCKS = ("sweep", "sweeps", "runs")

# The name of a cell becomes a part of folder and container names.
_LONGEST = 60
# What Megatron's combinations call otherwise than its model_params.
_OF_COMBINATION = {"global_batch_size": "batch_size"}
_PRECISIONS = {"FP8": "TE_FP8", "BF16": "TE_BF16", "FP16": "TE_FP16"}


@dataclass(frozen=True)
class Cell:
    """One run of a sweep: its name, and the values by the keys of the config that they take the place of."""

    name: str
    values: dict[str, t.Any]


def cells_of(matrix: t.Any, data: t.Any, findings: Findings) -> list[Cell]:
    """Return the cells of a matrix, or without one those of the config's own sweep blocks, and note what is wrong.

    ``data`` is the config as plain data, or what else its framework reads.
    """
    blocks = {name: data[name] for name in BLOCKS if name in data} if isinstance(data, dict) else {}
    if matrix:
        return _of_matrix(matrix, findings)
    if "sweep" in blocks or "sweeps" in blocks:
        return _of_blocks(blocks, findings)
    findings.fault(
        MATRIX,
        None,
        "There is nothing to sweep over: no matrix is given, and the config has no sweep block.",
        'Give keys of the config with lists of values: -e \'{"training_matrix": {"micro_batch_size": [1, 2, 4]}}\'.',
    )
    return []


def without_blocks(data: t.Any, findings: Findings) -> t.Any:
    """Return a config without its sweep blocks, and a warning for each: a single run has no use for them."""
    if not isinstance(data, dict):
        return data
    for name in BLOCKS:
        if name in data:
            findings.warn(
                name,
                None,
                f"{name} has no effect on a single run.",
                "playbooks/sweep.yml runs the cells of it, each as a run of its own.",
            )
    return {name: value for name, value in data.items() if name not in BLOCKS}


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
        findings.fault(MATRIX, None, "It names no key to sweep over.", 'Give one: {"micro_batch_size": [1, 2, 4]}.')
    excluded = _excluded(matrix.get("exclude", []), axes, findings)
    if findings.faults:
        return []
    every = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    kept = [values for values in every if not any(part.items() <= _plain(values).items() for part in excluded)]
    if not kept:
        findings.fault(f"{MATRIX}.exclude", None, "It leaves out every cell.", "Exclude less.")
    return _named(kept)


def _check_axis(key: str, values: t.Any, findings: Findings) -> None:
    path = key_path(MATRIX, key)
    if not isinstance(values, list) or not values:
        findings.fault(path, values, f"It is {shown(values)}, not a list of values.", f'Write "{key}": [1, 2].')
    elif len({_text(value) for value in values}) < len(values):
        findings.fault(path, values, "A value stands there more than once.", "Keep one of them.")


def _excluded(parts: t.Any, axes: Mapping[str, t.Any], findings: Findings) -> list[dict[str, str]]:
    """Return the cells to leave out with their values as texts; a part that fits no cell is a fault."""
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
                findings.fault(key_path(where, key), value, f"{shown(key)} is no key of the matrix.", remedy)
            elif isinstance(axes[key], list) and _text(value) not in map(_text, axes[key]):
                offered = listed(map(_text, axes[key]))
                findings.fault(
                    key_path(where, key), value, "The matrix does not have this value.", f"It has {offered}."
                )
    return [_plain(part) for part in parts if isinstance(part, dict)]


def _plain(values: Mapping[str, t.Any]) -> dict[str, str]:
    return {key: _text(value) for key, value in values.items()}


def _text(value: t.Any) -> str:
    """Return a value as the config's texts have it, so that 8 and "8" are the same."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _named(cells: list[dict[str, t.Any]]) -> list[Cell]:
    """Return the cells with names made of their values, which stay the same whatever other cells there are."""
    names = ["-".join(f"{key.rpartition('.')[2]}_{_text(value)}" for key, value in cell.items()) for cell in cells]
    plain = [re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_.-") for name in names]
    return [
        Cell(name if len(name) <= _LONGEST and plain.count(name) == 1 else _shortened(name, cell), cell)
        for name, cell in zip(plain, cells, strict=True)
    ]


def _shortened(name: str, cell: Mapping[str, t.Any]) -> str:
    digest = hashlib.sha256(json.dumps(cell, sort_keys=True).encode()).hexdigest()[:8]
    return f"{name[: _LONGEST - 9].strip('_.-')}-{digest}"


def _of_blocks(blocks: Mapping[str, t.Any], findings: Findings) -> list[Cell]:
    if "sweep" in blocks:
        path, offered, runs_path, runs = _of_megatron(blocks["sweep"], findings)
    else:
        path, offered, runs_path, runs = "sweeps", blocks["sweeps"], "runs", blocks.get("runs")
    if isinstance(offered, list):
        cells = (entry for entry in offered if isinstance(entry, dict))
        offered = {entry.get("name", f"cell{place}"): entry for place, entry in enumerate(cells)}
    if not isinstance(offered, dict) or not offered:
        findings.fault(
            path, offered, f"It is {shown(offered)}, not an object of cells.", "Name cells and their values."
        )
        return []
    wanted = list(offered) if runs is None else runs
    if not isinstance(wanted, list):
        findings.fault(
            runs_path, runs, f"It is {shown(runs)}, not a list of cells.", f"Name some of {listed(offered)}."
        )
        return []
    for place, name in enumerate(wanted):
        if name not in offered or not isinstance(offered[name], dict):
            near = nearest(str(name), offered)
            remedy = f"Did you mean {near}?" if near else f"It has {listed(offered)}."
            findings.fault(key_path(runs_path, place), name, f"{path} has no cell {shown(name)}.", remedy)
    chosen = [(name, offered[name]) for name in dict.fromkeys(wanted) if isinstance(offered.get(name), dict)]
    return [Cell(_cell_name(name), _values(values, combination="sweep" in blocks)) for name, values in chosen]


def _of_megatron(sweep: t.Any, findings: Findings) -> tuple[str, t.Any, str, t.Any]:
    if not isinstance(sweep, dict):
        findings.fault("sweep", sweep, f"It is {shown(sweep)}, not an object.", "Give combinations and runs.")
        return "sweep.combinations", {"": {}}, "sweep.runs", []
    return "sweep.combinations", sweep.get("combinations"), "sweep.runs", sweep.get("runs")


def _cell_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", str(name)).strip("_.-")[:_LONGEST]


def _values(values: Mapping[str, t.Any], *, combination: bool) -> dict[str, t.Any]:
    """Return the values of a CVS cell by the keys of our configs.

    A cell of MaxText may keep its values one level further down, under ``maxtext_overrides``.
    """
    inner = values.get("maxtext_overrides")
    given = {**values, **(inner if isinstance(inner, dict) else {})}
    named = {key: value for key, value in given.items() if key not in ("name", "maxtext_overrides")}
    if not combination:
        return named
    precision = named.get("precision")
    if isinstance(precision, str):
        named["precision"] = _PRECISIONS.get(precision.upper(), precision)
    return {_OF_COMBINATION.get(key, key): value for key, value in named.items()}
