# SPDX-License-Identifier: GPL-3.0-or-later
"""Two runs, or the runs of two periods, side by side: their measurements, and their other differences."""

from __future__ import annotations

import json
import os
import re
import typing as t
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path

import pandas as pd

from ..run.board import Board
from ..run.runs import known_runs
from ..run.sweep import summary_of
from ..text.words import counted
from .compare_write import caveats_of, folder_of, incomparable
from .files import PAGE
from .history import (
    COMPARED,
    JUDGED,
    MIN_RUNS,
    against_earlier,
    between_groups,
    count_telling_tests,
    count_tests,
    scaling_of,
)
from .history_row import changes, comparable, row_of
from .history_store import notes_on, read_history

if t.TYPE_CHECKING:
    from .history_row import Row

_MONTH = re.compile(r"\d{4}-\d{2}")
_DAYS = re.compile(r"(\d{4}-\d{2}-\d{2})\.\.(\d{4}-\d{2}-\d{2})")
# The columns read from the history; reading all columns of many runs would take twice as long.
_COLUMNS = (
    *("run_id", "started_at", "verdict", "key", "scaling_key", "framework", "model", "gpu", "precision"),
    *("nnodes", "gpus_per_node", "global_batch_size", "loss_step"),
    *JUDGED,
)
_SHOWN = (
    "run_id",
    "started_at",
    "verdict",
    "failure",
    "framework",
    "model",
    "gpu",
    "nnodes",
    "rehearsal",
    "record_only",
)


def comparison_of(names: list[str], output_dir: str | Path, history_dir: str | Path) -> dict[str, t.Any]:
    """Return two runs (folders, or names below ``output_dir``) or two periods of the history, side by side; JSON.

    A period is a month, ``2026-10``, or days, ``2026-10-01..2026-10-15``, in UTC. The answer has ``kind`` (``runs`` or
    ``periods``) and ``names``. For runs it has ``before`` and ``after``, ``identity`` and ``environment`` (the
    differences), ``comparison`` by metric, and ``scaling`` (`history.scaling_of` of the second run). The ``report`` of
    ``before`` and ``after`` is the page's path relative to the comparison's own folder, or None. For periods it has
    ``keys``, a ``comparison`` for each key with runs in both. ``notes`` lists the files of the history that were left
    out. Raises ValueError for names that are neither, with a list of those that exist.
    """
    if len(names) != 2:
        given = ", ".join(names) or "nothing"
        raise ValueError(
            f"training_compare is {given}; give two runs or two periods, separated by a comma, such as 2026-09,2026-10"
        )
    periods = [_period(name) for name in names]
    left_out: list[Path] = []
    history = read_history(history_dir, left_out, list(_COLUMNS))
    notes = {"notes": notes_on(left_out)}
    if periods[0] and periods[1]:
        return _periods(names, periods[0], periods[1], history) | notes
    folder = folder_of(output_dir, names)
    if periods[0] or periods[1]:
        raise ValueError(f"{names[0]} and {names[1]} are a run and a period; give two runs or two periods")
    found = [_row(name, Path(output_dir)) for name in names]
    compared_runs = _runs(names, [row for row, _run_dir in found], history)
    for side, (_row_of_run, run_dir) in zip(("before", "after"), found, strict=True):
        page = run_dir / PAGE
        compared_runs[side]["report"] = os.path.relpath(page.absolute(), folder.absolute()) if page.is_file() else None
    return compared_runs | notes


def _period(name: str) -> tuple[datetime, datetime] | None:
    """Return the start and the (exclusive) end of a period; None if the name is not a period."""
    days = _DAYS.fullmatch(name)
    try:
        if days:
            first, last = (datetime.fromisoformat(f"{day}T00:00Z") for day in days.groups())
            if last < first:
                raise ValueError("it ends before it begins")
            return first, last + timedelta(days=1)
        if _MONTH.fullmatch(name):
            first = datetime.fromisoformat(f"{name}-01T00:00Z")
            return first, (first + timedelta(days=31)).replace(day=1)
    except ValueError as error:
        raise ValueError(f"{name} is no period: {error}") from None
    return None


def _row(name: str, output_dir: Path) -> tuple[Row, Path]:
    """Return the row that the history has, or would have, for a judged run, and the run's folder."""
    run_dir = next((path for path in (output_dir / name, Path(name)) if (path / "plan.json").exists()), None)
    if run_dir is None:
        latest = ", ".join(known_runs(output_dir)[-5:]) or "none"
        raise ValueError(
            f"{name} is neither a run below {output_dir} nor the folder of one, nor a period such as 2026-10; the "
            f"latest runs there: {latest}"
        )
    board = Board(run_dir)
    plan, summary = board.plan(), summary_of(run_dir)
    if summary is None:
        raise ValueError(f"{name} was not judged yet: {run_dir} has no summary.json")
    row = row_of(summary, plan, [board.status(node["node"]) for node in plan["nodes"]])
    kind = {"rehearsal": bool(plan.get("rehearsal")), "record_only": bool(plan.get("record_only"))}
    return row | kind, run_dir


def _runs(names: list[str], rows: list[Row], history: pd.DataFrame) -> dict[str, t.Any]:
    before, after = rows
    is_after = (history["run_id"] == after["run_id"]) & (history["started_at"] == pd.Timestamp(after["started_at"]))
    others = _like(before, history[~is_after])
    values = {
        metric: _measured(others[others["loss_step"] == before["loss_step"]] if metric == "loss" else others, metric)
        for metric in JUDGED
        if before[metric] is not None and after[metric] is not None and comparable(metric, before, after)
    }
    apart, caveats = incomparable(before, after), caveats_of(before, after)
    if apart:
        values = {}
    tests = count_tests(values.values())
    comparison = {
        metric: asdict(against_earlier(metric, after[metric], like, before[metric], tests))
        for metric, like in values.items()
    }
    identities = [json.loads(row["identity"]) for row in rows]
    return {
        "kind": "runs",
        "names": names,
        "incomparable": apart,
        "caveats": caveats,
        "before": {name: before[name] for name in _SHOWN},
        "after": {name: after[name] for name in _SHOWN},
        "identity": [
            {"name": name, "before": identities[0].get(name), "after": identities[1].get(name)}
            for name in dict.fromkeys([*identities[0], *identities[1]])
            if identities[0].get(name) != identities[1].get(name)
        ],
        "environment": changes(json.loads(before["environment"]), json.loads(after["environment"])),
        "comparison": comparison,
        "scaling": scaling_of(history, after),
    }


def _like(row: Row, history: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that show the usual spread of runs like this one.

    They are the passed runs of its key up to the run itself, because a later change would widen the noise. If these are
    too few, later runs are included.
    """
    same = history[(history["key"] == row["key"]) & (history["verdict"] == "PASS")]
    up_to = (same["started_at"] <= pd.Timestamp(row["started_at"])).sum() if row["started_at"] else 0
    like: pd.DataFrame = same.head(max(up_to, MIN_RUNS)).tail(COMPARED)
    return like


def _periods(
    names: list[str],
    before: tuple[datetime, datetime],
    after: tuple[datetime, datetime],
    history: pd.DataFrame,
) -> dict[str, t.Any]:
    passed = history[history["verdict"] == "PASS"]
    one, other = (
        passed[(passed["started_at"] >= first) & (passed["started_at"] < end)] for first, end in (before, after)
    )
    keys = [key for key in dict.fromkeys(one["key"]) if key in set(other["key"])]
    if not keys:
        counts = f"{len(one)} in {names[0]} and {len(other)} in {names[1]}"
        raise ValueError(f"no key has runs that passed in both periods ({counts})")
    pairs = [(one[one["key"] == key], other[other["key"] == key]) for key in keys]
    values = [_values(*pair) for pair in pairs]
    tests = count_telling_tests((len(old), len(new)) for of_key in values for old, new in of_key.values())
    found = [
        {
            "key": key,
            "title": _title(new.iloc[0]),
            "before_runs": len(old),
            "after_runs": len(new),
            "comparison": {metric: asdict(between_groups(metric, *of, tests=tests)) for metric, of in of_key.items()},
        }
        for key, (old, new), of_key in zip(keys, pairs, values, strict=True)
    ]
    return {"kind": "periods", "names": names, "keys": found}


def _values(one: pd.DataFrame, other: pd.DataFrame) -> dict[str, tuple[list[float], list[float]]]:
    """Return the values of both sides by metric, for metrics with comparable values on both."""
    values = {}
    for metric in JUDGED:
        sides = _of_one_step(one, other) if metric == "loss" else (one, other)
        old, new = (_measured(side, metric) for side in sides)
        if old and new:
            values[metric] = old, new
    return values


def _of_one_step(one: pd.DataFrame, other: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the runs of both sides whose losses come from the same step, the step with most runs; maybe none."""
    counts = [side.loc[side["loss"].notna(), "loss_step"].value_counts() for side in (one, other)]
    shared = (counts[0] + counts[1]).dropna()
    step = shared.idxmax() if len(shared) else None
    return one[one["loss_step"] == step], other[other["loss_step"] == step]


def _title(run: pd.Series) -> str:
    """Return model, GPU, framework, nodes, precision and batch of a run in the history, as far as known."""
    known = {name: None if pd.isna(value) else value for name, value in run.items()}
    nodes, batch = known["nnodes"], known["global_batch_size"]
    parts = [
        " on ".join(filter(None, (known["model"], known["gpu"]))),
        known["framework"],
        counted(int(nodes), "node") if nodes else None,
        known["precision"],
        f"batch {batch:.0f}" if batch else None,
    ]
    return ", ".join(filter(None, parts))


def _measured(runs: pd.DataFrame, metric: str) -> list[float]:
    values: list[float] = runs[metric].dropna().to_list()
    return values
