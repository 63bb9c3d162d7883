# SPDX-License-Identifier: GPL-3.0-or-later
"""The plans of all cells of a sweep, and their errors, each reported once."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Callable, Mapping, Sequence

from ..contracts import Finding, Plan, PlannedCell
from ..text.words import counted, key_path, listed, printable, shown
from .choice import way_for
from .config.budget import too_long
from .config.findings import Findings
from .job.ranks import Node
from .plan import make_plan, typed_options
from .plan_text import findings_text
from .sweep import MATRIX, cells_of
from .threshold_files import ThresholdsFile

_SHOWN_CELLS = 5


class CellsFinding(Finding):
    """A finding with the names of its cells; no names if it is about the sweep itself."""

    cells: list[str]


class SweepPlan(t.TypedDict):
    """The cells of a sweep, and the findings of all of them."""

    cells: list[PlannedCell]
    faults: list[CellsFinding]
    warnings: list[CellsFinding]


def plan_sweep(
    text: str,
    source: str,
    options: Mapping[str, t.Any],
    matrix: t.Any,
    nodes: Sequence[Node],
    run_id_of: Callable[[str], str],
    unreadable: str | None = None,
    thresholds: ThresholdsFile | None = None,
    make: Callable[..., Plan] = make_plan,
) -> SweepPlan:
    """Return the cells of a sweep with their plans, and the findings of all of them.

    ``make`` plans the run of a cell: `make_plan`, or another function with its arguments, which come first here.
    ``matrix`` is as for `sweep.cells_of`, ``run_id_of`` returns the run_id of a cell, given the cell's name. The answer
    has ``cells``, each with ``name``, ``values`` and ``plan``, and ``faults`` and ``warnings``: findings with
    ``cells``, the names of the cells that have them.
    """
    findings = Findings()
    unreadable = unreadable or too_long(text)
    settings = typed_options(options, Findings())
    way = None if unreadable else way_for(settings, text, source, Findings())
    blocks = way.format.sweep_blocks if way else ()
    data = way.format.read(text, source, way.trainer.name, Findings()) if way else None
    cells = cells_of(matrix, way.format, data, findings) if way and data is not None else []
    given = settings.training_overrides or options.get("training_overrides") or {}
    planned: list[PlannedCell] = []
    for cell in cells:
        overrides = {**given, **cell.values} if isinstance(given, dict) else given
        own = {**options, "training_overrides": overrides, "training_run_id": run_id_of(cell.name)}
        file = thresholds._replace(cell=cell.name_in_config) if thresholds else None
        plan = make(text, source, own, nodes, unreadable=unreadable, thresholds=file)
        planned.append({"name": cell.name, "values": cell.values, "plan": plan})
    if matrix:
        _refuse_values_without_effect(planned, findings)
    if data is None:
        # Without cells there is no plan that reports why the file cannot be read.
        faults = make(text, source, options, nodes, unreadable=unreadable)["faults"]
    else:
        faults = findings.as_dict()["faults"]
    of_sweep: list[CellsFinding] = [{**fault, "cells": []} for fault in faults]
    return {
        "cells": planned,
        "faults": [*of_sweep, *_together(planned, "faults")],
        "warnings": [warning for warning in _together(planned, "warnings") if warning["key"] not in blocks],
    }


def _refuse_values_without_effect(cells: Sequence[PlannedCell], findings: Findings) -> None:
    """Report each value of a matrix that leads to the same plan as another one, whatever the other keys' values are."""
    plans = {_key_of(cell["values"]): _essence_of(cell["plan"]) for cell in cells if not cell["plan"]["faults"]}
    for key in dict.fromkeys(key for cell in cells for key in cell["values"]):
        values = list({json.dumps(cell["values"][key], sort_keys=True): cell["values"][key] for cell in cells}.values())
        for place, value in enumerate(values):
            same = (other for other in values[:place] if _is_same(key, value, other, cells, plans))
            if (other := next(same, None)) is not None:
                message = f"It makes the same plan as {shown(other)}."
                remedy = "Keep one of the two, or sweep over another key."
                findings.fault(key_path(MATRIX, key), value, message, remedy)


def _is_same(key: str, value: t.Any, other: t.Any, cells: Sequence[PlannedCell], plans: Mapping[str, str]) -> bool:
    """Return whether two values of a key make the same plans with all values of the other keys."""
    found = [
        (plans.get(_key_of(cell["values"])), plans.get(_key_of({**cell["values"], key: other})))
        for cell in cells
        if _key_of(cell["values"]) == _key_of({**cell["values"], key: value})
    ]
    both = [pair for pair in found if None not in pair]
    return bool(both) and all(one == two for one, two in both)


def _key_of(values: Mapping[str, t.Any]) -> str:
    return json.dumps(values, sort_keys=True)


def _essence_of(plan: Plan) -> str:
    """Return the part of a plan that nodes run, without the run's name and the values that led to it."""
    named = ("run_id", "overrides", "warnings")
    kept = {name: value for name, value in plan.items() if name not in named} | {"nodes": plan["nodes"][:1]}
    return json.dumps(kept, sort_keys=True).replace(plan["run_id"], "")


def _together(cells: Sequence[PlannedCell], kind: t.Literal["faults", "warnings"]) -> list[CellsFinding]:
    """Return the findings of all cells, each once with the names of its cells."""
    found: dict[str, CellsFinding] = {}
    for cell in cells:
        for finding in cell["plan"][kind]:
            known = found.setdefault(json.dumps(finding, sort_keys=True), {**finding, "cells": []})
            known["cells"].append(cell["name"])
    return list(found.values())


def sweep_text(sweep_id: str, sweep: SweepPlan, next_of: Mapping[str, str]) -> str:
    """Return a planned sweep as lines of text, or its faults. ``next_of`` maps each cell to its next action."""
    blocks = []
    if sweep["faults"]:
        blocks.append(_findings("error", sweep["faults"], len(sweep["cells"])))
    else:
        width = max(len(cell["name"]) for cell in sweep["cells"])
        first = sweep["cells"][0]["plan"]
        what = "cells" if not first["rehearsal"] else "cells, each a rehearsal,"
        lines = [f"sweep {sweep_id}: {len(sweep['cells'])} {what} of {first['config_file']}"]
        lines += [f"  {cell['name']:<{width}}  {next_of[cell['name']]}" for cell in sweep["cells"]]
        blocks.append("\n".join(lines))
    if sweep["warnings"]:
        blocks.append(_findings("warning", sweep["warnings"], len(sweep["cells"])))
    return printable("\n\n".join(blocks), keep="\n")


def _findings(what: str, findings: Sequence[CellsFinding], count: int) -> str:
    title = f"{counted(len(findings), what)} in the sweep:"
    named: list[CellsFinding] = [
        {**finding, "message": _where(finding["cells"], count) + finding["message"]} for finding in findings
    ]
    return findings_text(title, named)


def _where(cells: Sequence[str], count: int) -> str:
    if not cells:
        return ""
    if len(cells) == count > 1:
        return "In every cell: "
    return f"In {listed(cells, _SHOWN_CELLS)}: "
