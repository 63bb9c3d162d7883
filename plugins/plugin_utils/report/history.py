# SPDX-License-Identifier: GPL-3.0-or-later
"""How a run stands to the earlier ones of its key: same framework, model, GPU, nodes, image, precision and batch."""

from __future__ import annotations

import itertools
import json
import typing as t
from collections.abc import Mapping
from dataclasses import asdict

from ...module_utils.logs.record import METRICS
from .charts import runs_chart
from .history_change import against_earlier, count_tests
from .history_environment import changes
from .history_row import MEASURED, comparable
from .history_store import latest_rows, notes_on
from .readable import titled

if t.TYPE_CHECKING:
    from pathlib import Path

    from markupsafe import Markup

    from .history_row import Row

# So many runs are looked at, the last ones first, and so many of them that passed make the noise.
LOOKED_AT = 50
COMPARED = 20
# What can be better or worse.
JUDGED = tuple(metric for metric in MEASURED if metric not in METRICS or METRICS[metric].better != "none")
# Their first runs are shown as well, so that one sees what is missing.
_ALWAYS = ("step_time_ms", "tokens_per_sec_per_gpu")
_SHOWN = (
    *("run_id", "started_at", "verdict", "failure"),
    *(f"{metric}{bound}" for metric in MEASURED for bound in ("", "_low", "_high")),
)


def history_of(row: Row, folder: str | Path) -> dict[str, t.Any]:
    """Return how a run stands to the runs of its key in a history that began before it; all of it JSON without NaN.

    ``key``; ``runs``, this one and up to 20 earlier ones in the order of their start, each with run_id, started_at,
    verdict, failure and its metrics; ``comparison``, by metric the fields of `Change` against the last 20 runs that
    passed; ``last_good``, the last run that passed (None without one), and ``environment``, what has changed since then
    (`history_environment.changes`). ``not_looked_at`` says that there may be older runs, ``notes`` which files of the
    history were left out.
    """
    left_out: list[Path] = []
    found = latest_rows(folder, row["framework"], row["key"], row["started_at"], row["run_id"], left_out)
    earlier = list(itertools.islice(found, LOOKED_AT))
    good = [other for other in earlier if other["verdict"] == "PASS"][:COMPARED]
    values = {
        metric: [other[metric] for other in good if other[metric] is not None and comparable(metric, row, other)]
        for metric in JUDGED
    }
    shown = [metric for metric in JUDGED if row[metric] is not None and (values[metric] or metric in _ALWAYS)]
    tests = count_tests(values[metric] for metric in shown)
    comparison = {metric: asdict(against_earlier(metric, row[metric], values[metric], tests=tests)) for metric in shown}
    return {
        "key": row["key"],
        "runs": [{name: other.get(name) for name in _SHOWN} for other in [*reversed(earlier[:COMPARED]), row]],
        "comparison": comparison,
        "last_good": good[0]["run_id"] if good else None,
        "environment": changes(json.loads(good[0]["environment"]), json.loads(row["environment"])) if good else [],
        "not_looked_at": len(earlier) == LOOKED_AT,
        "notes": notes_on(left_out),
    }


def charts_of(history: Mapping[str, t.Any]) -> dict[str, Markup]:
    """Return the charts of the section on the page, by metric: throughput, or step time where there is none."""
    if len(history["runs"]) < 2:
        return {}
    for metric in reversed(_ALWAYS):
        change = history["comparison"].get(metric)
        noise = (change["low"], change["high"]) if change and change["low"] is not None else None
        drawn = runs_chart(history["runs"], metric, titled(metric), noise)
        if drawn is not None:
            return {metric: drawn}
    return {}
