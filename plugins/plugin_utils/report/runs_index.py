# SPDX-License-Identifier: GPL-3.0-or-later
"""``index.html`` in a folder of runs, and a page for several runs, with the reasons of those that did not pass."""

from __future__ import annotations

import collections
import contextlib
import csv
import fcntl
import math
import os
import statistics
import typing as t
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from ..contracts import Summary
from ..metrics import IN_SHORT, SPEEDS
from ..run.board import PLAN_NAME
from ..run.whole_file import write_whole
from .charts import bars_chart, deviations_from_median, polyline
from .compare_write import COMPARISONS
from .compare_write import PAGE as COMPARE_PAGE
from .files import INDEX, ISOLATIONS, NODES_PAGE, PAGE, SUMMARY_ROW, json_text, says
from .pages import page_of
from .readable import is_nothing, unit_in_words
from .side_by_side import change_of, last_step, value_of
from .sweep import PAGE as SWEEP_PAGE
from .sweep import reason_of

RUNS_PAGE, RUNS_JSON = "comparison.html", "comparison.json"


def write_runs_page(folder: Path, run_dirs: Sequence[str], summaries: Sequence[Summary]) -> bool:
    """Write ``comparison.html`` and ``comparison.json`` into a folder, and return whether they are new.

    The runs are in folders of their own, and their changes are relative to the first run. Each run in the JSON has
    ``name``, ``report`` (relative to the folder), ``verdict``, ``reason`` (None for a PASS), ``framework``, ``model``,
    ``gpu``, ``nodes`` (their number), ``last_step``, ``metrics``, ``changes`` (percent) and ``mfu``. Raises OSError.
    """
    runs = [
        _run_of_page(summary, summaries[0], os.path.relpath(Path(run_dir).absolute() / PAGE, folder.absolute()))
        for run_dir, summary in zip(run_dirs, summaries, strict=True)
    ]
    text = json_text(runs)
    written, page = folder / RUNS_JSON, folder / RUNS_PAGE
    if page.exists() and says(written, text):
        return False
    metrics = [metric for metric in IN_SHORT if any(run["metrics"][metric] is not None for run in runs)]
    drawn = next((metric for metric in SPEEDS if metric in metrics), None)
    folder.mkdir(parents=True, exist_ok=True)
    bars = [
        (run["name"], run["verdict"], value) for run in runs if drawn and (value := run["metrics"][drawn]) is not None
    ]
    rendered = page_of(
        "runs.html.j2",
        {"runs": bars_chart(bars, drawn)} if drawn else {},
        runs=runs,
        metrics=metrics,
        drawn=drawn,
        counts=collections.Counter(run["verdict"] for run in runs),
    )
    write_whole(page, rendered)
    write_whole(written, text)
    return True


def _run_of_page(summary: Summary, first: Summary, report: str) -> dict[str, t.Any]:
    metrics = {metric: value_of(summary, metric) for metric in IN_SHORT}
    return {
        "name": summary["run_id"],
        "report": report,
        "verdict": summary["verdict"],
        "reason": reason_of(summary),
        **{name: summary[name] for name in ("framework", "model", "gpu")},
        "nodes": len(summary["nodes"]),
        "last_step": last_step(summary),
        "metrics": metrics,
        "changes": {metric: change for metric in IN_SHORT if (change := change_of(summary, first, metric)) is not None},
        "mfu": summary.get("mfu"),
    }


NOT_JUDGED = "not judged"
# This marks our page; an index.html without it is somebody else's, and is never replaced.
_MARK = '<meta name="generator" content="trainops.cluster">'
# A run is compared with so many earlier passed runs of its kind.
_COMPARED = 20
# The edge of the trends lies between these deviations from the median.
_LEAST_OFF, _MOST_OFF = 0.05, 0.25
# The metric of a run is the first of these that it has. Runs with the same values here measure the same.
_KIND = (
    *("framework", "mode", "model", "gpu", "rehearsal", "nodes", "gpus_per_node", "precision", "global_batch_size"),
    *("micro_batch_size", "sequence_length", "tensor_parallelism", "pipeline_parallelism", "image"),
)

# Runs judged before headlines existed show their first failure instead.
_TOLD = ("started_at", "headline", "first_failure_node", "first_failure_class")

Row = dict[str, t.Any]


def write_index(folder: Path) -> bool:
    """Write the index of a folder of runs, and return whether it changed.

    It only reads the one row of each run's ``summary.csv``. Raises OSError if the page cannot be written, and
    ValueError if there is an ``index.html`` that this function did not write.
    """
    path = folder / INDEX
    with _alone(folder):
        earlier = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        if earlier and _MARK not in earlier[:1000]:
            raise ValueError(f"{path} is not an index of runs; rename it so that the index can be written")
        runs = [_run(entry) for entry in os.scandir(folder) if os.path.exists(os.path.join(entry.path, PLAN_NAME))]
        rows = _with_trends(sorted(runs, key=lambda row: (row["started_at"] or row["planned_at"], row["run_id"])))
        page = page_of(
            "index.html.j2",
            {},
            runs=rows[::-1],
            counts=dict(sorted(collections.Counter(row["verdict"] for row in rows).items(), key=_passes_first)),
            worse=sum(row["regression"] is not None for row in rows),
            others=_other_pages(folder),
            units={metric: unit_in_words(metric) for metric in SPEEDS},
        )
        if page == earlier:
            return False
        write_whole(path, page)
    return True


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let one controller at a time read the runs and write their index, if the file system has locks."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _run(entry: os.DirEntry[str]) -> Row:
    found = _summary_row(Path(entry.path) / SUMMARY_ROW)
    measured = {metric: _number(found.get(f"{metric}_value")) for metric in SPEEDS}
    metric = next((metric for metric in SPEEDS if not is_nothing(measured[metric], metric)), None)
    planned = os.stat(os.path.join(entry.path, PLAN_NAME)).st_mtime
    return {
        **{name: found.get(name, "") for name in (*_KIND, *_TOLD)},
        "run_id": entry.name,
        # A run that never started has its place by this time.
        "planned_at": datetime.fromtimestamp(planned, tz=UTC).isoformat(timespec="seconds"),
        "verdict": found.get("verdict") or NOT_JUDGED,
        "page": quote(f"{entry.name}/{PAGE}") if os.path.exists(os.path.join(entry.path, PAGE)) else None,
        "metric": metric,
        "value": measured[metric] if metric else None,
        "mfu": _number(found.get("mfu")),
        # A change that the history of this kind of run proves.
        "regression": _number(found.get("regression_percent")),
        "regression_metric": found.get("regression_metric", ""),
    }


def _summary_row(path: Path) -> Mapping[str, str]:
    """Return the row of a run; empty if it was not judged, or the file is torn."""
    with contextlib.suppress(OSError, ValueError, csv.Error), open(path, encoding="utf-8", newline="") as stream:
        row = next(csv.DictReader(stream), {})
        return {name: value for name, value in row.items() if isinstance(name, str) and isinstance(value, str)}
    return {}


def _number(text: str | None) -> float | None:
    with contextlib.suppress(TypeError, ValueError):
        value = float(text)  # type: ignore[arg-type]
        return value if math.isfinite(value) else None
    return None


def _with_trends(rows: Sequence[Row]) -> list[Row]:
    """Give each run ``change``, in percent of the median of earlier passes of its kind, and the points of its trend."""
    passed: dict[tuple[t.Any, ...], collections.deque[float]] = {}
    for row in rows:
        if row["value"] is None:
            continue
        kind = (row["metric"], *(row[name] for name in _KIND))
        earlier = passed.setdefault(kind, collections.deque(maxlen=_COMPARED))
        if earlier:
            middle = statistics.median(earlier)
            row["change"] = (row["value"] / middle - 1) * 100 if middle else None
            row["against"] = len(earlier)
            if row["regression"] is not None and row["regression_metric"] == row["metric"]:
                # The history is more precise about runs of the same kind.
                row["change"] = row["regression"]
            row["values"] = [*earlier, row["value"]]
        if row["verdict"] == "PASS":
            earlier.append(row["value"])
    # All trends have the same scale, so that a noisy kind of run looks noisy, and an outlier does not flatten the
    # others.
    drawn = [row for row in rows if "values" in row]
    off = [abs(one) for row in drawn for one in deviations_from_median(row["values"])]
    edge = min(_MOST_OFF, max([_LEAST_OFF, *off]))
    for row in drawn:
        row["points"] = polyline(row["values"], edge)
    return list(rows)


def _passes_first(count: tuple[str, int]) -> tuple[bool, str]:
    return count[0] != "PASS", count[0]


def _other_pages(folder: Path) -> list[tuple[str, str]]:
    """Return the pages about several runs as name and link: comparisons, sweeps, isolations, and the nodes."""
    of_folder = (("runs side by side", folder / RUNS_PAGE), ("nodes, their rank and drift", folder / NODES_PAGE))
    pages = [(name, path) for name, path in of_folder if path.exists()]
    pages += [(f"isolation {path.parent.name}", path) for path in folder.glob(f"{ISOLATIONS}/*/{PAGE}")]
    pages += [(path.parent.name.replace("--", " → "), path) for path in folder.glob(f"{COMPARISONS}/*/{COMPARE_PAGE}")]
    pages += [(f"sweep {path.parent.name}", path) for path in folder.glob(f"*/{SWEEP_PAGE}")]
    return sorted((name, quote(str(path.relative_to(folder)))) for name, path in pages)
