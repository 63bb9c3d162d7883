# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures that a reader looks for first, each as a tile of the page next to its reference."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ..contracts import JudgedBound, Summary
from ..metrics import FIGURES, LABELS, ROWS
from ..text.words import counted
from .charts import deviations_from_median, polyline
from .history import NOISE, REAL
from .plots import LEAST_STEPS
from .readable import in_a_sentence, is_nothing, machine_name, measured, number, percent, unit_of
from .thresholds import is_missed, required

_OF_HISTORY = ("tokens_per_sec_per_gpu", "step_time_ms")
# A bar ends this far beyond its value or its threshold, whichever is larger.
_ROOM = 1.35
# Below this share, the time between steps is ignored.
_BY_THE_CLOCK = 0.01
# A change below the noise of most clusters looks flat on the trend.
_LEAST_TREND = 0.05


class Bar(t.NamedTuple):
    """A bar from zero: its filled part and the place of its threshold, both in percent, and whether that is met."""

    filled: float
    limit: float | None
    met: bool | None


class Tile(t.NamedTuple):
    """A figure: label, value, unit, a line below, and a bar or the points of a trend, if it has one."""

    label: str
    value: str
    unit: str
    lines: list[str]
    gauge: Bar | None = None
    trend: str = ""
    tone: str = ""


def tiles_of(summary: Summary, history: Mapping[str, t.Any] | None = None) -> list[Tile]:
    """Return the tiles of a run: its figures, and how it compares with earlier runs."""
    found = [*(_tile(summary, metric) for metric in FIGURES), _trend(history) if history else None]
    tiles = [tile for tile in found if tile]
    # Keep a number and its unit on one line.
    return [tile._replace(lines=[line.replace(" %", "\N{NO-BREAK SPACE}%") for line in tile.lines]) for tile in tiles]


def _tile(summary: Summary, metric: str) -> Tile | None:
    if metric == "mfu":
        return _mfu(summary)
    found = summary["metrics"].get(metric)
    value = found["value"] if found else None
    if not found or value is None or is_nothing(value, metric):
        return None
    bound = next((one for one in summary["thresholds"] if one["metric"] == metric and one["kind"] != "info"), None)
    judged = summary.get("thresholds_judged", True)
    if ROWS[metric].only_if_judged and not bound:
        return None
    lines = [required(bound)] if bound and bound["measured"] is not None else []
    lines += _origin(summary, found)
    lines += _by_the_clock(summary, found) if metric == "tokens_per_sec_per_gpu" else []
    interval = found.get("interval")
    if interval:
        low, high = (measured(interval[side], metric) for side in ("low", "high"))
        lines.insert(1 if bound and lines else 0, f"95 %: {low} – {high}")
    # A few steps are no proof.
    judged = judged and found.get("samples", LEAST_STEPS) >= LEAST_STEPS
    missed = bool(judged and bound and is_missed(bound))
    gauge = _bar(value, bound, judged=judged) if bound else None
    return Tile(LABELS[metric], measured(value, metric), unit_of(metric), lines, gauge, tone="bad" if missed else "")


def _by_the_clock(summary: Summary, found: Mapping[str, t.Any]) -> list[str]:
    """Return the throughput over the time that really passed, if timestamps show it and it differs."""
    spent = next((node.get("time_spent") for node in summary["nodes"] if node["node"] == found["value_node"]), None)
    wall_clock = spent.get("wall_clock") if spent else None
    if not spent or not wall_clock:
        return []
    share = spent["median"] / wall_clock
    return [f"{number(found['value'] * share)} by the log's timestamps"] if abs(share - 1) > _BY_THE_CLOCK else []


def _origin(summary: Summary, found: Mapping[str, t.Any]) -> list[str]:
    last = max((one["last_step"] for one in summary["metrics"].values() if one.get("last_step")), default=0)
    if found["statistic"] == "last":
        behind = found.get("last_step", last) < last
        return [f"at step {found['last_step']}{f' of {last}' if behind else ''}" if found.get("last_step") else "last"]
    if len(summary["nodes"]) < 2:
        return []
    return [f"{found['statistic']} of {found['value_node']}"]


def _mfu(summary: Summary) -> Tile | None:
    mfu, workload = summary["mfu"], summary.get("workload")
    if mfu is None:
        return None
    precision = workload["precision"].upper() if workload and workload.get("precision") else ""
    peak = workload["peak_tflops_per_gpu"] if workload else None
    gpu = machine_name(summary["gpu"])
    lines = [f"of the {number(peak, 4)} TFLOP/s peak of {gpu}"] if peak else []
    lines += [f"from {summary['mfu_basis']}"] if summary.get("mfu_basis") else []
    label = f"MFU ({precision})" if precision else "MFU"
    return Tile(label, measured(mfu, "mfu"), "%", lines, Bar(min(100.0, 100 * mfu), None, None))


def _bar(value: float, bound: JudgedBound, *, judged: bool) -> Bar | None:
    limit = bound["least"] if bound["least"] is not None else bound["greatest"]
    if limit is None or limit <= 0 or value < 0:
        return None
    end = _ROOM * max(value, limit)
    return Bar(
        100 * value / end, 100 * limit / end, not is_missed(bound) if judged and bound["met"] is not None else None
    )


def _trend(history: Mapping[str, t.Any]) -> Tile | None:
    """Return how the run compares with earlier runs of its kind, in the first metric that both have."""
    for metric in _OF_HISTORY:
        change = history["comparison"].get(metric)
        if change and change["percent"] is not None and change.get("runs"):
            values = [run[metric] for run in history["runs"] if run.get(metric) is not None]
            words = {
                REAL: "a real change, " + ("better" if change["better"] else "worse"),
                NOISE: "within noise",
            }.get(change["outcome"], "too few runs to judge noise")
            tone = "" if change["outcome"] != REAL else "good" if change["better"] else "bad"
            edge = max([_LEAST_TREND, *map(abs, deviations_from_median(values))])
            label = f"Against the last {counted(change['runs'], 'run')}"
            value, unit = percent(change["percent"], signed=True).split(" ")
            return Tile(label, value, unit, [words, in_a_sentence(LABELS[metric])], None, polyline(values, edge), tone)
    return None
