# SPDX-License-Identifier: GPL-3.0-or-later
"""The plots of the report: a metric over the steps, one line per node."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .drawing import COLOURS, FORBIDDEN, HIGHLIGHT, Chart, around

if t.TYPE_CHECKING:
    import pandas as pd
    from markupsafe import Markup

# Above this, colours cannot be told apart: all lines look alike, and the pointer shows the node's name.
MAX_COLOURED_NODES = 16
# A point takes about 9 characters, so three plots stay below 1.7 MB.
MAX_POINTS = 60_000
# Up to here, a marker for every value is visible.
MAX_MARKERS = 2_000
# Fewer counted steps show no course.
LEAST_STEPS = 5
# Throughput and step time of one run are the same curve, turned over, if their product varies less than this.
_SAME = 0.01


@dataclass(frozen=True)
class Bound:
    """A threshold: its limits (None for an open side) and the words that label it, such as ``≥ 380 (+2.9 %)``."""

    least: float | None
    greatest: float | None
    text: str

    @property
    def limits(self) -> list[float]:
        """Return the existing limits, the lower one first."""
        return [limit for limit in (self.least, self.greatest) if limit is not None]


@dataclass(frozen=True)
class Trace:
    """How one node's lines look on every plot and in the legend."""

    node: str
    colour: str
    dashed: bool
    straggler: bool


@dataclass(frozen=True)
class Line:
    """The values of a node in one attempt, in pieces: between two pieces, steps or values are missing."""

    trace: Trace
    attempt: int
    pieces: list[list[tuple[float, float]]]

    @property
    def points(self) -> list[tuple[float, float]]:
        """Return all points of the line: step and value."""
        return [point for piece in self.pieces for point in piece]


@dataclass(frozen=True)
class Plot:
    """The chart of one metric, and the data of its caption.

    ``x`` and ``y`` are the ranges that it shows. ``bound_lies`` is ``above``, ``below`` or ``outside`` if the bound is
    too far from the values to be drawn. ``not_finite`` counts the values that are missing, NaN or infinite, ``outside``
    the left-out values that it does not show, and ``thinned`` means that some points are not drawn.
    """

    metric: str
    lines: list[Line]
    x: tuple[float, float]
    y: tuple[float, float]
    bound: Bound | None
    bound_lies: str | None
    not_finite: int
    outside: int
    thinned: bool
    chart: Markup


def traces(steps: pd.DataFrame, stragglers: Collection[str] = ()) -> list[Trace]:
    """Return how each node of the steps is drawn, in rank order."""
    nodes = list(steps.drop_duplicates("node").sort_values("node_rank")["node"])
    if len(nodes) > MAX_COLOURED_NODES:
        return [
            Trace(node, HIGHLIGHT if node in stragglers else COLOURS[0], dashed=False, straggler=node in stragglers)
            for node in nodes
        ]
    return [
        Trace(node, COLOURS[i % len(COLOURS)], dashed=i >= len(COLOURS), straggler=node in stragglers)
        for i, node in enumerate(nodes)
    ]


def shaded_ranges(steps: pd.DataFrame) -> list[tuple[int, int]]:
    """Return the ranges (first, last) of consecutive steps that no node counts."""
    counted = steps.groupby("step")["counted"].any()
    left_out = np.array(counted.index[~counted.to_numpy(dtype=bool)], dtype=np.int64)
    if left_out.size == 0:
        return []
    runs = np.split(left_out, np.flatnonzero(np.diff(left_out) > 1) + 1)
    return [(int(run[0]), int(run[-1])) for run in runs]


def thinned(values: np.ndarray, limit: int) -> np.ndarray:
    """Return the indices of at most ``limit`` (4 or more) finite values that keep a line's shape.

    Both ends stay, and in each of the equal intervals between them the lowest and the highest value, so no spike is
    lost.
    """
    if len(values) <= limit:
        return np.arange(len(values))
    parts = np.array_split(np.arange(1, len(values) - 1), (limit - 2) // 2)
    kept = [part[place] for part in parts for place in (values[part].argmin(), values[part].argmax())]
    return np.unique([0, *kept, len(values) - 1])


def pieces_of(steps: np.ndarray, values: np.ndarray, limit: int) -> list[list[tuple[float, float]]]:
    """Return a line of at most ``limit`` points in pieces, each without a missing step or value.

    Steps are missing if two are further apart than most: a log may print only every tenth step.
    """
    finite = np.isfinite(values)
    if not finite.any():
        return []
    apart = np.diff(steps)
    usual = np.median(apart) if apart.size else 1
    # The number of breaks up to each step: the line breaks where this number rises.
    breaks = np.cumsum(np.concatenate(([0], (apart > usual).astype(int))) + ~finite)[finite]
    finite_steps, finite_values = steps[finite], values[finite]
    kept = thinned(finite_values, limit)
    cuts = np.flatnonzero(np.diff(breaks[kept]) > 0) + 1
    return [
        list(zip(finite_steps[piece].tolist(), finite_values[piece].tolist(), strict=True))
        for piece in np.split(kept, cuts)
    ]


def view_range(values: np.ndarray, counted: np.ndarray, limits: Sequence[float]) -> tuple[float, float]:
    """Return the y range: it follows the values, not a far bound and not a warm-up that dwarfs them.

    ``values`` are finite, ``counted`` tells which of them are judged. Values that do not count are left out if they
    would make the range more than four times as large. A limit is included if it is no further away than half of the
    range. The range is at least 5 % of the values' size, so that noise does not look important.
    """
    low, high = float(values.min()), float(values.max())
    if counted.any():
        low_counted, high_counted = float(values[counted].min()), float(values[counted].max())
        if high - low > 4 * max(high_counted - low_counted, 0.05 * abs(high_counted)):
            low, high = low_counted, high_counted
    near = max((high - low) / 2, 0.05 * max(abs(low), abs(high)))
    taken_in = [low, high, *(limit for limit in limits if low - near <= limit <= high + near)]
    return around(taken_in)


def are_enough(steps: pd.DataFrame) -> bool:
    """Return whether enough steps are counted for a plot."""
    return not steps.empty and int(steps.loc[steps["counted"], "step"].nunique()) >= LEAST_STEPS


def without_repetition(metrics: Iterable[str], steps: pd.DataFrame, bounds: Mapping[str, Bound]) -> list[str]:
    """Return the metrics to plot: of throughput and step time only one, if each follows from the other.

    That is the throughput, unless only the step time has a threshold.
    """
    told, rate, duration = list(metrics), "tokens_per_sec_per_gpu", "step_time_ms"
    if not {rate, duration} <= {metric for metric in told if metric in steps}:
        return told
    product = (steps[rate] * steps[duration]).to_numpy(dtype=np.float64)
    finite = np.isfinite(product)
    if not finite.any() or (finite != np.isfinite(steps[duration].to_numpy(dtype=np.float64))).any():
        return told
    low, high = product[finite].min(), product[finite].max()
    if low <= 0 or high > low * (1 + _SAME):
        return told
    told.remove(rate if duration in bounds and rate not in bounds else duration)
    return told


def draw(
    steps: pd.DataFrame,
    labels: Mapping[str, tuple[str, str]],
    bounds: Mapping[str, Bound],
    stragglers: Collection[str] = (),
) -> tuple[list[Plot], list[Trace]]:
    """Return a plot for each metric of ``labels`` that has a finite value, and how the nodes look on all of them.

    ``steps`` has the columns node, node_rank, attempt, step, counted and one per metric. ``labels`` maps metric to its
    title and its unit, ``bounds`` maps metric to its threshold; ``stragglers`` are nodes to mark.
    """
    finite = {metric: np.isfinite(steps[metric].to_numpy()) for metric in labels if metric in steps}
    finite = {metric: mask for metric, mask in finite.items() if mask.any()}
    if not finite:
        return [], []
    # A node without any value (a trainer may print on one rank only) gets neither a colour nor a legend.
    telling = steps.loc[np.any(list(finite.values()), axis=0), "node"].unique()
    steps = steps[steps["node"].isin(telling)].sort_values(["node_rank", "attempt", "step"], kind="stable")
    looks = traces(steps, stragglers)
    return [_plot(steps, metric, labels[metric], bounds.get(metric), looks) for metric in finite], looks


def _plot(
    steps: pd.DataFrame, metric: str, label: tuple[str, str], bound: Bound | None, looks: Sequence[Trace]
) -> Plot:
    values = steps[metric].to_numpy(dtype=np.float64)
    finite = np.isfinite(values)
    # A node that never prints this metric has no line, and so no gap.
    telling = steps["node"].isin(steps.loc[finite, "node"].unique()).to_numpy()
    counted = steps["counted"].to_numpy(dtype=bool)
    y = view_range(values[finite], counted[finite], bound.limits if bound else [])
    # Half a step more on each side gives a single step some width.
    x = (float(steps["step"].min()) - 0.5, float(steps["step"].max()) + 0.5)
    lines = _lines(steps[telling], metric, looks)
    drawn = sum(len(line.points) for line in lines)
    title, unit = label
    chart = Chart(x, y, "step", title, unit=unit, x_name="step")
    chart.axes(whole=True)
    for first, last in shaded_ranges(steps):
        chart.shade(first - 0.5, last + 0.5)
    if bound:
        _draw_bound(chart, bound, y)
    _draw_lines(chart, lines, many=len(looks) > MAX_COLOURED_NODES, dots=drawn <= MAX_MARKERS)
    return Plot(
        metric=metric,
        lines=lines,
        x=x,
        y=y,
        bound=bound,
        bound_lies=_lies(bound, *y) if bound else None,
        not_finite=int((telling & ~finite).sum()),
        outside=int((finite & ~counted & ((values < y[0]) | (values > y[1]))).sum()),
        thinned=drawn < int(finite.sum()),
        chart=chart.html(260, labelled=False),
    )


def _lies(bound: Bound, low: float, high: float) -> str | None:
    """Return where a bound lies if none of its limits is in view."""
    if any(low <= limit <= high for limit in bound.limits):
        return None
    if all(limit > high for limit in bound.limits):
        return "above"
    return "below" if all(limit < low for limit in bound.limits) else "outside"


def _lines(steps: pd.DataFrame, metric: str, looks: Sequence[Trace]) -> list[Line]:
    """Return a line per node and attempt, because a restart goes back in steps; the last attempt lies on top."""
    look_of = {look.node: look for look in looks}
    codes = steps.groupby(["node", "attempt"], sort=False, observed=True).ngroup().to_numpy()
    places = np.argsort(codes, kind="stable")
    groups = np.split(places, np.flatnonzero(np.diff(codes[places])) + 1)
    limit = max(4, MAX_POINTS // len(groups))
    nodes, attempts, numbers = (steps[name].to_numpy() for name in ("node", "attempt", "step"))
    values = steps[metric].to_numpy(dtype=np.float64)
    lines = [
        Line(look_of[nodes[rows[0]]], int(attempts[rows[0]]), pieces_of(numbers[rows], values[rows], limit))
        for rows in groups
    ]
    return sorted(lines, key=lambda line: line.trace.straggler)


def _draw_lines(chart: Chart, lines: Iterable[Line], *, many: bool, dots: bool) -> None:
    for line in lines:
        trace = line.trace
        name = trace.node if line.attempt == 1 else f"{trace.node}, attempt {line.attempt}"
        chart.line(
            line.pieces,
            trace.colour,
            width=(1 if many else 2) * (2 if trace.straggler else 1),
            opacity=0.35 if many and not trace.straggler else 0.9,
            dashed=trace.dashed,
            name=name,
        )
        if dots:
            chart.dots(line.points, trace.colour, 4 if many else 5)


def _draw_bound(chart: Chart, bound: Bound, view: tuple[float, float]) -> None:
    """Shade the area beyond the bound, and draw and label the limits in view."""
    if bound.least is not None and bound.least > view[0]:
        chart.band(None, min(bound.least, view[1]), FORBIDDEN, 0.09)
    if bound.greatest is not None and bound.greatest < view[1]:
        chart.band(max(bound.greatest, view[0]), None, FORBIDDEN, 0.09)
    for limit in bound.limits:
        if view[0] <= limit <= view[1]:
            chart.level(limit, f"threshold {bound.text}")
