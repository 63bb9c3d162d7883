# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of an isolation, and its lines for a terminal."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from pathlib import Path

from ..isolate.isolation import Isolation
from ..isolate.outcome import (
    at_scale_in_words,
    failed_everywhere,
    failing_nodes,
    gpus_are_untested,
    in_words,
    is_coarse,
    passing_nodes,
    proof_in_words,
    sizes_in_words,
    suspicion_in_words,
    unmeasured_in_words,
    unproved_in_words,
)
from ..isolate.planned import PlannedTests, planned_in_words
from ..isolate.readings import OF_SCALE
from ..isolate.references import peaks_in_words
from ..run.whole_file import write_new, write_whole
from ..text.nodes import folded
from ..text.words import all_of, counted
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
    verdict = _verdict(isolation)
    failing = failing_nodes(isolation)
    write_whole(folder / PAGE, _page(name, isolation, tests, rehearsal))
    write_whole(folder / PASSING, "".join(f"{node}\n" for node in passing_nodes(isolation)))
    write_whole(folder / FAILING, "".join(f"{node}\n" for node in failing))
    write_whole(folder / EXCLUDE, f"{folded(failing)}\n" if failing else "")
    of_all = {"isolation_id": name, "verdict": verdict, "rehearsal": rehearsal, **isolation, "tests": tests}
    write_whole(folder / JSON, json_text(of_all))
    return folder / PAGE


def isolation_lines(isolation: Isolation) -> list[str]:
    """Return what was found as lines for a terminal."""
    suspects = isolation["suspects"]
    head = [f"{in_words(one)}\n  {one['evidence']}" for one in suspects] or [f"{_title(isolation)}."]
    lines = ["  GPUs were not tested"] if suspects and gpus_are_untested(isolation) else []
    lines += [f"  {line}" for line in _unmeasured(isolation)]
    lines += [f"  {unproved_in_words(one)}" for one in isolation["unproved"]]
    lines += [f"  {suspicion_in_words(one)}" for one in isolation["suspicion"]]
    lines += [f"  {node} was not tested: {isolation['nodes'][node]['reason']}" for node in _untested(isolation)]
    # Slow nodes make larger groups slower, too.
    sizes = [] if suspects else _sizes(isolation)
    lines += [f"  {line}" for line in (*_at_scale(isolation), *sizes)]
    lines += [f"  {line}" for line in _peaks(isolation)]
    return [*head, *lines, f"  {proof_in_words(isolation)}"]


def _unmeasured(isolation: Isolation) -> list[str]:
    return [unmeasured_in_words(*one) for one in isolation.get("unmeasured", {}).items()]


def _peaks(isolation: Isolation) -> list[str]:
    return peaks_in_words(isolation.get("gpus", {}), isolation["seconds"])


def _at_scale(isolation: Isolation) -> list[str]:
    return [at_scale_in_words(one) for one in isolation["at_scale"]]


def _sizes(isolation: Isolation) -> list[str]:
    """Return what groups of each size take in words, for what takes as long in groups of any size."""
    sizes = isolation["sizes"].items()
    return [sizes_in_words(probe, found) for probe, found in sizes if probe in OF_SCALE and len(found) > 1]


def _title(isolation: Isolation) -> str:
    return f"{_finding(isolation)}{'; GPUs were not tested' if gpus_are_untested(isolation) else ''}"


def _finding(isolation: Isolation) -> str:
    suspects, untested = isolation["suspects"], _untested(isolation)
    if suspects:
        more = len({(one["node"], one["other"]) for one in suspects}) - 1
        return f"{in_words(suspects[0])}{f', and {more} more' if more else ''}"
    good = len(passing_nodes(isolation))
    if not good:
        return "No node was tested"
    if untested:
        return f"{counted(good, 'node')} good, {len(untested)} not tested"
    if doubt := _doubt(isolation):
        return doubt
    return f"{all_of(good, 'node')}{' and their links' if isolation['links'] else ''} are good"


def _doubt(isolation: Isolation) -> str:
    """Return why not all is good although nobody is accused, empty if it is."""
    if isolation["at_scale"]:
        return f"No node is slow, but {_lower(_at_scale(isolation)[0])}"
    if unmeasured := isolation.get("unmeasured"):
        return f"Nothing is proved to be slow, but {', '.join(map(failed_everywhere, unmeasured))}"
    if isolation["unproved"]:
        return f"Nothing is proved to be slow, but {unproved_in_words(isolation['unproved'][0])}"
    if is_coarse(isolation):
        return "Nothing is proved to be slow, but some differences are too uncertain to call all nodes good"
    return ""


def _verdict(isolation: Isolation) -> str:
    if isolation["suspects"]:
        return "suspects"
    if _untested(isolation):
        return "incomplete"
    if isolation["at_scale"]:
        return "slow_at_scale"
    return "unproved" if _doubt(isolation) else "good"


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _untested(isolation: Isolation) -> list[str]:
    return [node for node, one in isolation["nodes"].items() if one["verdict"] == "untested"]


def _page(name: str, isolation: Isolation, tests: PlannedTests, rehearsal: bool) -> str:
    of_nodes = [one for one in isolation["suspects"] if one["other"] is None]
    worst_first = [name for one in of_nodes for name in (one["node"], f"{one['node']} {one['part']}")]
    charts = {"probes": probes_map(isolation["probes"], worst_first)}
    maps = {probe: links_map(found) for probe, found in isolation["links"].items()}
    charts |= {probe: drawn for probe, drawn in maps.items() if drawn is not None}
    of_groups = {f"groups {probe}": groups_map(found, worst_first) for probe, found in isolation["groups"].items()}
    charts |= {name: drawn for name, drawn in of_groups.items() if drawn is not None}
    untested = _untested(isolation)
    nodes = counted(len(isolation["nodes"]), "node")
    return page_of(
        "isolation.html.j2",
        charts,
        name=name,
        rehearsal=rehearsal,
        suspects=isolation["suspects"],
        good=_verdict(isolation) == "good",
        proof=proof_in_words(isolation),
        unmeasured=_unmeasured(isolation),
        peaks=_peaks(isolation),
        unproved=[unproved_in_words(one) for one in isolation["unproved"]],
        suspicion=[suspicion_in_words(one) for one in isolation["suspicion"]],
        untested=untested,
        nodes=isolation["nodes"],
        at_scale=_at_scale(isolation),
        sizes=isolation["sizes"],
        links=[probe for probe, drawn in maps.items() if drawn is not None],
        planned=planned_in_words(tests),
        telemetry=telemetry_rows(isolation.get("telemetry", {}), [one["node"] for one in isolation["suspects"]]),
        telemetry_columns=COLUMNS,
        node_minutes=isolation["node_minutes"],
        headline={
            "badge": _verdict(isolation).upper().replace("_", " "),
            "title": _title(isolation),
            "subtitle": f"Isolation {name} · {nodes}",
        },
    )
