# SPDX-License-Identifier: GPL-3.0-or-later
"""A comparison as a page, as JSON, and as lines for a terminal."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping
from pathlib import Path

from ..plan.config.words import counted
from ..run.whole_file import write_whole
from .charts import scaling_chart
from .files import json_text, says
from .history_environment import change_text
from .pages import page_of

PAGE, JSON = "compare.html", "compare.json"
COMPARISONS = "comparisons"


def folder_of(output_dir: str | Path, names: list[str]) -> Path:
    """Return the folder of a comparison below the folder of runs."""
    parts = (re.sub(r"[^A-Za-z0-9_.-]+", "_", Path(name).name) for name in names)
    return Path(output_dir) / COMPARISONS / "--".join(parts)


def write_comparison(folder: Path, comparison: Mapping[str, t.Any]) -> bool:
    """Write ``compare.html`` and ``compare.json`` into a folder, and return whether they are new."""
    text = json_text(comparison)
    if says(folder / JSON, text):
        return False
    folder.mkdir(parents=True, exist_ok=True)
    scaling = comparison.get("scaling") or {}
    marked = comparison["after"]["nnodes"] if scaling else None
    charts = {kind: scaling_chart(points, marked) for kind, points in scaling.items()}
    write_whole(folder / PAGE, page_of("compare.html.j2", charts, compared=comparison))
    write_whole(folder / JSON, text)
    return True


def comparison_lines(comparison: Mapping[str, t.Any]) -> list[str]:
    """Return a comparison as lines for a terminal."""
    lines = [" → ".join(comparison["names"]), *(f"  · {note}" for note in comparison["notes"])]
    if comparison["kind"] == "periods":
        for key in comparison["keys"]:
            lines += [f"{key['title']}: {key['before_runs']} → {key['after_runs']} runs"]
            lines += _metrics(key["comparison"])
        return lines
    for side in ("before", "after"):
        run = comparison[side]
        lines.append(f"  {side:<7} {run['run_id']}: {run['verdict']}{': ' + run['failure'] if run['failure'] else ''}")
    lines += _metrics(comparison["comparison"]) or ["  No metric was measured in both."]
    identity = [f"{row['name']}: {row['before']} → {row['after']}" for row in comparison["identity"]]
    environment = [change_text(change) for change in comparison["environment"]]
    lines += ["What was run differs:", *(f"  {line}" for line in identity)] if identity else []
    lines += ["The settings of the nodes differ:", *(f"  {line}" for line in environment)] if environment else []
    for kind, points in comparison["scaling"].items():
        efficiencies = (f"{counted(point['nnodes'], 'node')} {point['efficiency'] * 100:.1f} %" for point in points)
        lines.append(f"{kind.capitalize()} scaling, efficiency: {', '.join(efficiencies)}")
    return lines


def _metrics(comparison: Mapping[str, Mapping[str, t.Any]]) -> list[str]:
    """Return a line for each metric, and below them what was tested, once where it is the same for all."""
    width = max(map(len, comparison), default=0)
    tests = {change["test"] for change in comparison.values()}
    lines = []
    for metric, change in comparison.items():
        percent = "" if change["percent"] is None else f"{change['percent']:+.2f} %"
        test = f" ({change['test']})" if len(tests) > 1 else ""
        noise = "" if change["low"] is None else f" (noise {change['low']:,.6g} to {change['high']:,.6g})"
        judged = {True: ", better", False: ", worse", None: ""}[change["better"]]
        lines.append(
            f"  {metric:<{width}}  {change['before']:>12,.6g} → {change['after']:>12,.6g}  {percent:>9}  "
            f"{change['outcome']}{judged}{noise}{test}"
        )
    return [*lines, f"  Test: {tests.pop()}."] if len(tests) == 1 else lines
