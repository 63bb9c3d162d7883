# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of an isolation, and its lines for a terminal."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from pathlib import Path

from ..isolate.isolation import Isolation
from ..isolate.outcome import (
    failing_nodes,
    finding_of,
    findings_of,
    gpus_are_untested,
    headline_of,
    passing_nodes,
    title_of_isolation,
    verdict_of,
)
from ..isolate.planned import PlannedTests, planned_in_words
from ..run.whole_file import write_new, write_whole
from ..text.nodes import folded
from ..text.words import counted
from .files import json_text
from .isolation_charts import groups_map, links_map, probes_map
from .isolation_telemetry import COLUMNS, telemetry_rows
from .pages import page_of

PLAN, JSON, PAGE = "plan.json", "isolation.json", "report.html"
PASSING, FAILING, EXCLUDE = "passing_nodes.txt", "failing_nodes.txt", "slurm_exclude.txt"


def write_plan(folder: Path, name: str, plan: Mapping[str, t.Any]) -> None:
    """Write what will be done into a new folder; FileExistsError where there is an isolation in it already."""
    folder.mkdir(parents=True, exist_ok=True)
    write_new(folder / PLAN, json_text({"isolation_id": name, **plan}))


def write_isolation(folder: Path, name: str, isolation: Isolation, tests: PlannedTests, *, rehearsal: bool) -> Path:
    """Write the files of an isolation into its folder, and return its page.

    ``isolation.json`` has all that is known; ``passing_nodes.txt`` and ``failing_nodes.txt`` are lists with a name a
    line, and ``slurm_exclude.txt`` is what ``--exclude`` of Slurm takes, empty where there is nobody to exclude.
    """
    verdict = verdict_of(isolation)
    failing = failing_nodes(isolation)
    write_whole(folder / PAGE, _page(name, isolation, tests, rehearsal))
    write_whole(folder / PASSING, "".join(f"{node}\n" for node in passing_nodes(isolation)))
    write_whole(folder / FAILING, "".join(f"{node}\n" for node in failing))
    write_whole(folder / EXCLUDE, f"{folded(failing)}\n" if failing else "")
    told = {"headline": headline_of(isolation), "findings": findings_of(isolation)}
    of_all = {"isolation_id": name, "verdict": verdict, "rehearsal": rehearsal, **told, **isolation, "tests": tests}
    write_whole(folder / JSON, json_text(of_all))
    return folder / PAGE


def isolation_lines(isolation: Isolation) -> list[str]:
    """Return what was found as lines for a terminal."""
    suspects = isolation["suspects"]
    head = [f"{finding_of(one)['message']}\n  {one['evidence']}" for one in suspects]
    head = head or [f"{title_of_isolation(isolation)}."]
    untested = ["  GPUs were not tested"] if suspects and gpus_are_untested(isolation) else []
    return [*head, *untested, *(f"  {one['message']}" for one in findings_of(isolation)[len(suspects) :])]


def _page(name: str, isolation: Isolation, tests: PlannedTests, rehearsal: bool) -> str:
    of_nodes = [one for one in isolation["suspects"] if one["other"] is None]
    worst_first = [name for one in of_nodes for name in (one["node"], f"{one['node']} {one['part']}")]
    charts = {"probes": probes_map(isolation["probes"], worst_first)}
    maps = {probe: links_map(found) for probe, found in isolation["links"].items()}
    charts |= {probe: drawn for probe, drawn in maps.items() if drawn is not None}
    of_groups = {f"groups {probe}": groups_map(found, worst_first) for probe, found in isolation["groups"].items()}
    charts |= {name: drawn for name, drawn in of_groups.items() if drawn is not None}
    said: dict[str, list[str]] = {}
    for finding in findings_of(isolation):
        said.setdefault(finding["code"], []).append(finding["message"])
    nodes = counted(len(isolation["nodes"]), "node")
    return page_of(
        "isolation.html.j2",
        charts,
        name=name,
        rehearsal=rehearsal,
        suspects=isolation["suspects"],
        good=verdict_of(isolation) == "good",
        said=said,
        nodes=isolation["nodes"],
        sizes=isolation["sizes"],
        links=[probe for probe, drawn in maps.items() if drawn is not None],
        planned=planned_in_words(tests),
        telemetry=telemetry_rows(isolation.get("telemetry", {}), [one["node"] for one in isolation["suspects"]]),
        telemetry_columns=COLUMNS,
        node_minutes=isolation["node_minutes"],
        headline={
            "badge": verdict_of(isolation).upper().replace("_", " "),
            "title": title_of_isolation(isolation),
            "subtitle": f"Isolation {name} · {nodes}",
        },
    )
