# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of an isolation with its page, and its lines for a terminal."""

from __future__ import annotations

import itertools
import statistics
import typing as t
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from ..contracts import Reason
from ..isolate.answers import Telemetry
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
from ..isolate.scale import GroupFound
from ..run.whole_file import write_new, write_whole
from ..text.folding import told
from ..text.isolation import ISOLATION
from ..text.nodes import folded
from ..text.slowness import probe_in_words, signed
from ..text.words import counted
from .files import json_text
from .pages import page_of
from .readable import NOTHING

# From white (usual) to red, all light enough for dark text; and the excess from which each colour begins.
_SHADES = {0.0: "#eef2f6", 0.01: "#fdf0d9", 0.02: "#fbdcae", 0.05: "#f8bf86", 0.1: "#f39b6d", 0.2: "#ec7a66"}
_BROKEN = "#c9a7e8"
_TILE = Markup('<td style="background:{}" title="{}">{}</td>')
# Nobody reads a tile for each pair of more nodes.
MOST_NODES = 64

Excess = float | None


def probes_map(probes: Mapping[str, Mapping[str, Excess]], worst_first: Sequence[str]) -> Markup:
    """Return tiles with a row for each node, or part of a node, and a column for each probe."""
    names = list(dict.fromkeys([*worst_first, *(node for found in probes.values() for node in found)]))
    rows = {
        name: {probe_in_words(probe): found[name] for probe, found in probes.items() if name in found} for name in names
    }
    return _map([probe_in_words(probe) for probe in probes], {name: row for name, row in rows.items() if row}, "Node")


def links_map(links: Sequence[tuple[str, str, Excess]]) -> Markup | None:
    """Return tiles of the tested pairs, with a row for each node that sends, and a column for each that receives.

    What goes both ways at once is in both tiles. None for too many nodes.
    """
    names = list(dict.fromkeys(name for one, other, _excess in links for name in (one, other)))
    if len(names) > MOST_NODES:
        return None
    rows: dict[str, dict[str, Excess]] = {name: {} for name in names}
    for one, other, excess in links:
        rows[one][other] = excess
    for one, other, excess in links:
        rows[other].setdefault(one, excess)
    return _map(names, rows, "")


def groups_map(groups: Sequence[GroupFound], worst_first: Sequence[str]) -> Markup | None:
    """Return tiles of the nodes' groups, with a row for each node and a column for each split; None for too many.

    Column headings give the number and size of a split's groups.
    """
    rows: dict[str, dict[str, Excess]] = {}
    sizes: dict[int, list[int]] = {}
    for one in groups:
        sizes.setdefault(one["split"], []).append(len(one["nodes"]))
    columns = {split: f"{split}: {len(of)} × {max(of)}" for split, of in sizes.items()}
    for one in groups:
        for node in one["nodes"]:
            rows.setdefault(node, {})[columns[one["split"]]] = one["slower_by"]
    names = dict.fromkeys([*(name for name in worst_first if name in rows), *rows])
    return (
        _map(list(columns.values()), {name: rows[name] for name in names}, "Node") if len(rows) <= MOST_NODES else None
    )


def _map(columns: Sequence[str], rows: Mapping[str, Mapping[str, Excess]], corner: str) -> Markup:
    head = Markup().join(Markup('<th scope="col">{}</th>').format(column) for column in columns)
    body = Markup().join(
        Markup('<tr><th scope="row">{}</th>{}</tr>').format(
            name, Markup().join(_tile(name, column, row) for column in columns)
        )
        for name, row in rows.items()
    )
    return Markup(
        '<div class="scroll"><table class="tiles"><thead><tr><th scope="col">{}</th>{}</tr></thead>'
        "<tbody>{}</tbody></table></div>"
    ).format(corner, head, body)


def _tile(name: str, column: str, row: Mapping[str, Excess]) -> Markup:
    if column not in row:
        return Markup('<td class="none">{}</td>').format(NOTHING)
    excess = row[column]
    title = f"{name}, {column}"
    if excess is None:
        return _TILE.format(_BROKEN, title, "broken")
    colour = [shade for least, shade in _SHADES.items() if excess >= least or least == 0][-1]
    return _TILE.format(colour, title, signed(excess))


COLUMNS = ("Node", "Part", "Clock (MHz)", "Power (W)", "Temperature (°C)", "ECC errors", "PCIe", "Held down by")
_MOST_ROWS = 64


def telemetry_rows(telemetry: Mapping[str, Sequence[Telemetry]], suspects: Iterable[str]) -> list[list[str]]:
    """Return a row of cells for each accelerator of the suspects, and the median of all nodes as the first row.

    No rows if no node has accelerators.
    """
    everything = [one for of_node in telemetry.values() for one in of_node]
    if not everything:
        return []
    rows = [["all nodes", "median", *_cells({name: _median(everything, name) for name in _NUMBERS})]]
    rows += [
        [node, one["part"], *_cells(t.cast("Mapping[str, t.Any]", one))]
        for node in dict.fromkeys(suspects)
        for one in telemetry.get(node, ())
    ]
    return rows[:_MOST_ROWS]


_NUMBERS = (
    *("clock", "clock_limit", "power", "power_limit", "temperature", "ecc_corrected", "ecc_uncorrected"),
    *("pcie_speed", "pcie_speed_limit", "pcie_width", "pcie_width_limit"),
)


def _median(of: Sequence[Telemetry], name: str) -> float | None:
    known = [value for one in of if (value := t.cast("Mapping[str, t.Any]", one)[name]) is not None]
    return statistics.median(known) if known else None


def _cells(one: Mapping[str, t.Any]) -> list[str]:
    errors = [
        f"{_number(one[f'ecc_{kind}'])} {kind}"
        for kind in ("corrected", "uncorrected")
        if one[f"ecc_{kind}"] is not None
    ]
    return [
        f"{_number(one['clock'])} of {_number(one['clock_limit'])}",
        f"{_number(one['power'])} of {_number(one['power_limit'])}",
        _number(one["temperature"]),
        ", ".join(errors) or NOTHING,
        _link(one),
        ", ".join(one.get("held_down_by") or []) or NOTHING,
    ]


def _link(one: Mapping[str, t.Any]) -> str:
    """Return a link, and any other possible causes."""
    now, limit = (
        f"{_number(one[f'pcie_speed{which}'])} GT/s × {_number(one[f'pcie_width{which}'])}" for which in ("", "_limit")
    )
    return now if now == limit else f"{now} of {limit}"


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.0f}"


PLAN, JSON, PAGE = "plan.json", "isolation.json", "report.html"
PASSING, FAILING, EXCLUDE = "passing_nodes.txt", "failing_nodes.txt", "slurm_exclude.txt"


def write_plan(folder: Path, name: str, plan: Mapping[str, t.Any]) -> None:
    """Write the planned steps into a new folder; FileExistsError if it already contains an isolation."""
    folder.mkdir(parents=True, exist_ok=True)
    write_new(folder / PLAN, json_text({"isolation_id": name, **plan}))


def write_isolation(
    folder: Path,
    name: str,
    isolation: Isolation,
    tests: PlannedTests,
    steps: Sequence[Reason] = (),
    *,
    rehearsal: bool,
) -> Path:
    """Write the files of an isolation, with the next steps, into its folder, and return its page.

    ``isolation.json`` contains everything; ``passing_nodes.txt`` and ``failing_nodes.txt`` are lists with one name per
    line, and ``slurm_exclude.txt`` is for Slurm's ``--exclude``, empty without nodes to exclude.
    """
    verdict = verdict_of(isolation)
    failing = failing_nodes(isolation)
    write_whole(folder / PAGE, _page(name, isolation, tests, steps, rehearsal))
    write_whole(folder / PASSING, "".join(f"{node}\n" for node in passing_nodes(isolation)))
    write_whole(folder / FAILING, "".join(f"{node}\n" for node in failing))
    write_whole(folder / EXCLUDE, f"{folded(failing)}\n" if failing else "")
    told = {"headline": headline_of(isolation), "findings": [*findings_of(isolation), *steps]}
    of_all = {"isolation_id": name, "verdict": verdict, "rehearsal": rehearsal, **told, **isolation, "tests": tests}
    write_whole(folder / JSON, json_text(of_all))
    return folder / PAGE


def isolation_lines(isolation: Isolation, steps: Sequence[Reason] = ()) -> list[str]:
    """Return the result as lines for a terminal, with the next steps after the suspects."""
    suspects = isolation["suspects"]
    together = isolation.get("together", []) if suspects else []
    of_places = {node for one in together for node in one["nodes"]}
    all_found = findings_of(isolation)
    rest = all_found[len(suspects) + len(together) :]
    # Nobody reads sixteen names of a rack.
    head = [one["message"] for one in all_found[len(suspects) :][: len(together)]]
    head += [f"{finding_of(one)['message']}\n  {one['evidence']}" for one in suspects if one["node"] not in of_places]
    head = head or [f"{title_of_isolation(isolation)}."]
    untested = ["  GPUs were not tested"] if suspects and gpus_are_untested(isolation) else []
    groups = itertools.groupby(rest, lambda one: one["code"])
    folded_findings = [one.message for _code, group in groups for one in told(ISOLATION, group)]
    return [*head, *untested, *(f"  {text}" for text in (*(step["message"] for step in steps), *folded_findings))]


def _page(name: str, isolation: Isolation, tests: PlannedTests, steps: Sequence[Reason], rehearsal: bool) -> str:
    of_nodes = [one for one in isolation["suspects"] if one["other"] is None]
    worst_first = [name for one in of_nodes for name in (one["node"], f"{one['node']} {one['part']}")]
    charts = {"probes": probes_map(isolation["probes"], worst_first)}
    maps = {probe: links_map(found) for probe, found in isolation["links"].items()}
    charts |= {probe: drawn for probe, drawn in maps.items() if drawn is not None}
    of_groups = {f"groups {probe}": groups_map(found, worst_first) for probe, found in isolation["groups"].items()}
    charts |= {name: drawn for name, drawn in of_groups.items() if drawn is not None}
    said: dict[str, list[str]] = {}
    for finding in (*findings_of(isolation), *steps):
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
