# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs side by side, and a sweep, as lines for a terminal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ...module_utils.logs.record import ALL_METRICS
from ..contracts import Summary, SweepFile
from ..metrics import IN_SHORT
from ..run.sweep import read_sweep
from ..text.words import all_of, counted
from .readable import NOTHING, in_a_sentence, is_nothing, measured, percent, titled, unit_in_words, with_unit

# The metric that ranks the cells.
RANKED_BY = "tokens_per_sec_per_gpu"
NOT_RUN = "NOT RUN"


def sweep_lines(page: str) -> list[str]:
    """Return a sweep, given by its page, as lines for a terminal: verdicts, cells, the best cell, and the page."""
    sweep = read_sweep(Path(page).parent)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in sweep["counts"].items())
    lines = [f"{'REHEARSAL ' if sweep.get('rehearsal') else ''}sweep {sweep['sweep_id']}: {counts}"]
    width = max(len(cell["name"]) for cell in sweep["cells"])
    for cell in sweep["cells"]:
        value = cell["metrics"][RANKED_BY]
        speed = with_unit(value, RANKED_BY) if value is not None else ""
        mark = "  best" if cell["name"] == sweep["best"] else ""
        lines.append(f"  {cell['verdict']:<12}  {cell['name']:<{width}}  {speed}{mark}".rstrip())
        if cell["reason"]:
            lines.append(f"                {cell['reason']}")
    if "best" in sweep and sweep["best"] is None:
        lines.append(f"{found_in_words(sweep)}.")
    if NOT_RUN in sweep["counts"]:
        lines.append(f"Continue with the same command and -e training_sweep_id={sweep['sweep_id']}")
    return [*lines, f"Report: {page}"]


def found_in_words(sweep: SweepFile) -> str:
    """Return the result of a judged sweep without a full stop: its best cell, or the failures of its cells."""
    cells = sweep["cells"]
    for cell in cells:
        if cell["name"] == sweep["best"]:
            return f"Best: {cell['name']} with {with_unit(cell['metrics'][RANKED_BY], RANKED_BY)}"
    ran = [cell for cell in cells if cell["verdict"] != NOT_RUN]
    if not ran:
        return "No cell has run yet"
    passed = sum(cell["verdict"] == "PASS" for cell in ran)
    if passed:
        why = "a rehearsal says nothing about speed" if sweep.get("rehearsal") else "no speed was measured"
        return f"{_of_all(passed, len(cells))} passed; {why}".capitalize()
    missed = Counter(name for cell in ran for name in cell["missed"])
    told = (f"{name} in {_of_all(count, len(ran))}" for name, count in missed.items())
    return f"No cell has passed: {', '.join(told)}" if missed else "No cell has passed"


def _of_all(count: int, total: int) -> str:
    return in_a_sentence(all_of(total, "cell")) if count == total else f"{count} of {counted(total, 'cell')}"


def side_by_side(summaries: Sequence[Summary]) -> list[str]:
    """Return a table of runs, a line each: verdict, nodes, last step, and the worst node's value of each metric.

    After a value comes its difference from the first run's (`change_of`).
    """
    metrics = [metric for metric in IN_SHORT if any(value_of(summary, metric) is not None for summary in summaries)]
    rows = [["run", "verdict", "nodes", "last step", *(_heading(metric) for metric in metrics)]]
    for summary in summaries:
        last = last_step(summary)
        cells = [
            summary["run_id"],
            summary["verdict"],
            str(len(summary["nodes"])),
            str(NOTHING if last is None else last),
        ]
        rows.append(cells + [_cell(summary, summaries[0], metric) for metric in metrics])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    # Words are left-aligned, numbers right-aligned.
    styles = [f"{'<' if column < 2 else '>'}{width}" for column, width in enumerate(widths)]
    return ["  ".join(map(format, row, styles)).rstrip() for row in rows]


def last_step(summary: Summary) -> int | None:
    """Return the last step that any node of a run reached, None without steps."""
    return max((node["last_step"] for node in summary["nodes"] if node["last_step"] is not None), default=None)


def value_of(summary: Summary, metric: str) -> float | None:
    """Return a run's value of a metric, None without a finite one, or without one that was measured."""
    found = summary["metrics"].get(metric)
    value = found and found["value"]
    return value if value is not None and math.isfinite(value) and not is_nothing(value, metric) else None


def change_of(summary: Summary, first: Summary, metric: str) -> float | None:
    """Return the difference between a run's value and the first run's, in percent.

    None for the first run itself, if a value is missing, if the first run's value is 0, and for a loss of another step.
    """
    value, reference = value_of(summary, metric), value_of(first, metric)
    if summary is first or value is None or not reference:
        return None
    steps = {run["metrics"][metric].get("last_step") for run in (summary, first)}
    if ALL_METRICS[metric].statistic == "last" and (len(steps) > 1 or None in steps):
        return None
    change = (value - reference) / abs(reference) * 100
    return change if math.isfinite(change) else None


def _heading(metric: str) -> str:
    """Return a metric's unit if it identifies the metric, like ``tokens/s per GPU``, else the metric's name."""
    return unit_in_words(metric) if metric.endswith("_per_gpu") else in_a_sentence(titled(metric))


def _cell(summary: Summary, first: Summary, metric: str) -> str:
    value, change = value_of(summary, metric), change_of(summary, first, metric)
    if value is None:
        return NOTHING
    text = measured(value, metric)
    return text if change is None else f"{text} ({percent(change, signed=True)})"
