# SPDX-License-Identifier: GPL-3.0-or-later
"""The cells in the sweep blocks of a CVS config.

CVS gives each cell a name: ``"sweep": {"combinations": {…}, "runs": […]}`` in one form, ``"sweeps": {…} or […], "runs":
[…]`` in the other.
"""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping

from ....text.words import key_path, listed, nearest, shown
from ...config.findings import Findings
from ...job.sweep_cell import MOST_CELLS, Cell, cell_names

BLOCKS = ("sweep", "sweeps", "runs")


def cells_of(
    data: Mapping[str, t.Any], values_of: Callable[[dict[str, t.Any]], dict[str, t.Any]], findings: Findings
) -> list[Cell] | None:
    """Return the cells of a config's sweep blocks and report their errors; None if it has no sweep block.

    ``values_of`` maps the values of a cell to keys of a training config.
    """
    blocks = {name: data[name] for name in BLOCKS if name in data}
    return _of_blocks(blocks, values_of, findings) if "sweep" in blocks or "sweeps" in blocks else None


def without_blocks(data: dict[str, t.Any], findings: Findings) -> dict[str, t.Any]:
    """Return a config without its sweep blocks, and warn of each: a single run does not use them."""
    for name in BLOCKS:
        if name in data:
            findings.warn(
                name,
                None,
                f"{name} has no effect on a single run.",
                "Use playbooks/sweep.yml to run each of its cells as a separate run.",
            )
    return {name: value for name, value in data.items() if name not in BLOCKS}


def _of_blocks(
    blocks: Mapping[str, t.Any], values_of: Callable[[dict[str, t.Any]], dict[str, t.Any]], findings: Findings
) -> list[Cell]:
    if "sweep" in blocks:
        path, offered, runs_path, runs = _of_combinations(blocks["sweep"], findings)
    else:
        path, offered, runs_path, runs = "sweeps", blocks["sweeps"], "runs", blocks.get("runs")
    if not isinstance(offered, dict | list) or not offered:
        found = "It has no cells" if offered in ({}, []) else f"It is {shown(offered)}, not an object of cells"
        findings.fault(path, offered, f"{found}.", "Give cells with their values.")
        return []
    if isinstance(offered, list):
        offered = _by_name(offered, path, findings)
    wanted = list(offered) if runs is None else runs
    if not isinstance(wanted, list) or runs == []:
        found = "It lists no cells" if runs == [] else f"It is {shown(runs)}, not a list of cells"
        findings.fault(runs_path, runs, f"{found}.", f"Name some of {listed(offered)}.")
        return []
    if len(wanted) > MOST_CELLS:
        message = f"It has {len(wanted)} cells; a sweep may have at most {MOST_CELLS}."
        findings.fault(path if runs is None else runs_path, None, message, "Name fewer.")
        return []
    chosen: dict[str, dict[str, t.Any]] = {}
    for place, name in enumerate(wanted):
        if not isinstance(name, str) or name not in offered:
            near = nearest(str(name), offered)
            remedy = f"Did you mean {near}?" if near else f"It has {listed(offered)}."
            findings.fault(key_path(runs_path, place), name, f"{path} has no cell {shown(name)}.", remedy)
        elif isinstance(offered[name], dict):
            chosen[name] = values_of({key: value for key, value in offered[name].items() if key != "name"})
        else:
            _fault_no_cell(key_path(path, name), offered[name], findings)
    names = cell_names(chosen, chosen)
    return [Cell(name, values, given) for name, (given, values) in zip(names, chosen.items(), strict=True)]


def _by_name(entries: list[t.Any], path: str, findings: Findings) -> dict[str, t.Any]:
    """Return the cells of a list by name, and report invalid cells and duplicate names."""
    cells: dict[str, t.Any] = {}
    for place, entry in enumerate(entries):
        where = key_path(path, place)
        name = entry.get("name", f"cell{place}") if isinstance(entry, dict) else None
        if name is None:
            _fault_no_cell(where, entry, findings)
        elif not isinstance(name, str) or name in cells:
            reason = f"Another cell is also named {name}" if isinstance(name, str) else "It is not text"
            findings.fault(key_path(where, "name"), name, f"{reason}.", "Give each cell a unique name.")
        else:
            cells[name] = entry
    return cells


def _fault_no_cell(path: str, value: t.Any, findings: Findings) -> None:
    findings.fault(path, value, f"It is {shown(value)}, not an object of values.", "Give the values of a cell.")


def _of_combinations(sweep: t.Any, findings: Findings) -> tuple[str, t.Any, str, t.Any]:
    if not isinstance(sweep, dict):
        findings.fault("sweep", sweep, f"It is {shown(sweep)}, not an object.", "Give combinations and runs.")
        return "sweep.combinations", {"": {}}, "sweep.runs", []
    return "sweep.combinations", sweep.get("combinations"), "sweep.runs", sweep.get("runs")
