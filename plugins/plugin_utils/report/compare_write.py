# SPDX-License-Identifier: GPL-3.0-or-later
"""A comparison as a page, JSON, and lines for a terminal; it begins with whether two runs measure the same."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..contracts import Reason
from ..run.whole_file import write_whole
from ..text.comparison import OF_SPEED, comparison_finding, outcome_in_words
from ..text.words import counted, listed
from .charts import scaling_chart
from .files import json_text, says
from .history_row import setting_of
from .pages import page_of
from .readable import NOTHING, in_a_sentence, measured, percent, titled
from .regression import case_of, change_in_words, telling_metric

SIZES: t.Final = (
    *("gpu", "nnodes", "gpus_per_node", "precision"),
    *("global_batch_size", "micro_batch_size", "sequence_length"),
)


def incomparable(before: Mapping[str, t.Any], after: Mapping[str, t.Any]) -> Reason | None:
    """Return why the numbers of two runs cannot be compared, None if they can."""
    rehearsals = [run["run_id"] for run in (before, after) if run["rehearsal"]]
    if len(rehearsals) == 1:
        of = {"model": after["model"], "gpu": after["gpu"]}
        return comparison_finding("not_comparable", "rehearsal", run_id=rehearsals[0], **of)
    if before["model"] != after["model"]:
        return comparison_finding("not_comparable", "models", models=[before["model"], after["model"]])
    return None


def caveats_of(before: Mapping[str, t.Any], after: Mapping[str, t.Any]) -> list[Reason]:
    """Return the caveats about the numbers of two comparable runs."""
    caveats = []
    if before["rehearsal"] and after["rehearsal"]:
        caveats.append(comparison_finding("rehearsals"))
    else:
        recorded = [run["run_id"] for run in (before, after) if run["record_only"] and not run["rehearsal"]]
        if recorded:
            caveats.append(comparison_finding("recorded_only", run_ids=recorded))
    pairs = {name: [before.get(name), after.get(name)] for name in SIZES}
    different = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    if different and not before["rehearsal"] and not after["rehearsal"]:
        caveats.append(comparison_finding("sizes_differ", sizes=different))
    if before["started_at"] and after["started_at"] and after["started_at"] < before["started_at"]:
        caveats.append(comparison_finding("older", run_id=after["run_id"]))
    return caveats


def verdict_of(run: Mapping[str, t.Any]) -> str:
    """Return the verdict of a run, and the kind of run unless thresholds judged it."""
    kind = " (rehearsal)" if run.get("rehearsal") else " (recorded only)" if run.get("record_only") else ""
    return f"{run['verdict']}{kind}"


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
    write_whole(
        folder / PAGE,
        page_of("compare.html.j2", charts, compared=comparison, opening=opening, first_sentence=first_sentence),
    )
    write_whole(folder / JSON, text)
    return True


def first_sentence(names: Sequence[str], changes: Mapping[str, Mapping[str, t.Any]]) -> str:
    """Return which of two runs is slower, by how much, and whether the difference is real."""
    metric = telling_metric(changes)
    if metric is None:
        return "No metric was measured in both."
    change, (before, after) = changes[metric], names
    text = change_in_words(metric, change, before)
    begins = "is" if case_of(metric, change) in OF_SPEED else "has"
    return f"{after} {begins} {text}. {outcome_in_words(change['outcome'], change['test'])}"


def opening(comparison: Mapping[str, t.Any]) -> list[str]:
    """Return the sentences above the numbers of two runs: why they cannot be compared, or which is slower."""
    if comparison["incomparable"]:
        return [comparison["incomparable"]["message"]]
    caveats = [one["message"] for one in comparison["caveats"]]
    return [*caveats, first_sentence(_run_ids(comparison), comparison["comparison"])]


def comparison_lines(comparison: Mapping[str, t.Any]) -> list[str]:
    """Return a comparison as lines for a terminal."""
    lines = [" → ".join(comparison["names"]), *(f"  · {note}" for note in comparison["notes"])]
    if comparison["kind"] == "periods":
        for key in comparison["keys"]:
            lines += [f"{key['title']}: {key['before_runs']} → {key['after_runs']} runs"]
            lines += [f"  {first_sentence(comparison['names'], key['comparison'])}", *_metrics(key["comparison"])]
        return lines
    lines[1:1] = opening(comparison)
    for side in ("before", "after"):
        run = comparison[side]
        lines.append(f"  {side:<7} {run['run_id']}: {verdict_of(run)}{': ' + run['failure'] if run['failure'] else ''}")
    lines += _metrics(comparison["comparison"])
    identity = [f"{row['name']}: {row['before']} → {row['after']}" for row in comparison["identity"]]
    environment = [setting_of(change)["message"] for change in comparison["environment"]]
    lines += ["What was run differs:", *(f"  {line}" for line in identity)] if identity else []
    lines += ["The settings of the nodes differ:", *(f"  {line}" for line in environment)] if environment else []
    for kind, points in comparison["scaling"].items():
        efficiencies = (f"{counted(point['nnodes'], 'node')} {point['efficiency'] * 100:.1f} %" for point in points)
        lines.append(f"{kind.capitalize()} scaling, efficiency: {', '.join(efficiencies)}")
    return lines


def _run_ids(comparison: Mapping[str, t.Any]) -> list[str]:
    return [comparison[side]["run_id"] for side in ("before", "after")]


def _metrics(comparison: Mapping[str, Mapping[str, t.Any]]) -> list[str]:
    """Return a line for each metric, and below them each test once."""
    labels = {metric: titled(metric) for metric in comparison}
    width = max(map(len, labels.values()), default=0)
    tests: dict[str, list[str]] = {}
    lines = []
    for metric, change in comparison.items():
        by = "" if change["percent"] is None else percent(change["percent"], signed=True)
        tests.setdefault(change["test"], []).append(in_a_sentence(labels[metric]))
        before, after, low, high = (
            measured(change[name], metric) if change[name] is not None else NOTHING
            for name in ("before", "after", "low", "high")
        )
        noise = "" if change["low"] is None else f" (noise {low} to {high})"
        judged = {True: ", better", False: ", worse", None: ""}[change["better"]]
        lines.append(
            f"  {labels[metric]:<{width}}  {before:>9} → {after:>9}  {by:>8}  {change['outcome']}{judged}{noise}"
        )
    several = len(tests) > 1
    return lines + [f"  Test{f' of {listed(of)}' if several else ''}: {test}." for test, of in tests.items()]
