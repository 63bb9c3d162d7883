# SPDX-License-Identifier: GPL-3.0-or-later
"""The cells of the sweep blocks of a CVS config.

CVS names its cells: ``"sweep": {"combinations": {…}, "runs": […]}`` in one form, ``"sweeps": {…} or […], "runs": […]``
in the other.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Callable, Mapping

from ..config.findings import Findings
from ..config.words import key_path, listed, nearest, shown
from ..job.sweep_cell import LONGEST_NAME, MOST_CELLS, Cell

BLOCKS = ("sweep", "sweeps", "runs")


def cells_of(
    data: Mapping[str, t.Any], values_of: Callable[[dict[str, t.Any]], dict[str, t.Any]], findings: Findings
) -> list[Cell] | None:
    """Return the cells of a config's sweep blocks, and note what is wrong with these; None where it has none.

    ``values_of`` turns the values of a cell, as they stand there, into those by the keys of a training config.
    """
    blocks = {name: data[name] for name in BLOCKS if name in data}
    return _of_blocks(blocks, values_of, findings) if "sweep" in blocks or "sweeps" in blocks else None


def without_blocks(data: dict[str, t.Any], findings: Findings) -> dict[str, t.Any]:
    """Return a config without its sweep blocks, and a warning for each: a single run has no use for them."""
    for name in BLOCKS:
        if name in data:
            findings.warn(
                name,
                None,
                f"{name} has no effect on a single run.",
                "playbooks/sweep.yml runs the cells of it, each as a run of its own.",
            )
    return {name: value for name, value in data.items() if name not in BLOCKS}


def _of_blocks(
    blocks: Mapping[str, t.Any], values_of: Callable[[dict[str, t.Any]], dict[str, t.Any]], findings: Findings
) -> list[Cell]:
    if "sweep" in blocks:
        path, offered, runs_path, runs = _of_combinations(blocks["sweep"], findings)
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
    if len(wanted) > MOST_CELLS:
        message = f"It has {len(wanted)} cells, and a sweep may have {MOST_CELLS}."
        findings.fault(path if runs is None else runs_path, None, message, "Name fewer.")
        return []
    for place, name in enumerate(wanted):
        if name not in offered or not isinstance(offered[name], dict):
            near = nearest(str(name), offered)
            remedy = f"Did you mean {near}?" if near else f"It has {listed(offered)}."
            findings.fault(key_path(runs_path, place), name, f"{path} has no cell {shown(name)}.", remedy)
    chosen = [(name, offered[name]) for name in dict.fromkeys(wanted) if isinstance(offered.get(name), dict)]
    return [
        Cell(_cell_name(name), values_of({key: value for key, value in values.items() if key != "name"}))
        for name, values in chosen
    ]


def _of_combinations(sweep: t.Any, findings: Findings) -> tuple[str, t.Any, str, t.Any]:
    if not isinstance(sweep, dict):
        findings.fault("sweep", sweep, f"It is {shown(sweep)}, not an object.", "Give combinations and runs.")
        return "sweep.combinations", {"": {}}, "sweep.runs", []
    return "sweep.combinations", sweep.get("combinations"), "sweep.runs", sweep.get("runs")


def _cell_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", str(name)).strip("_.-")[:LONGEST_NAME]
