# SPDX-License-Identifier: GPL-3.0-or-later
"""The plots of the report: a metric over the steps, one line per node."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from bokeh.models import (
    BasicTicker,
    BoxAnnotation,
    BoxZoomTool,
    ColumnDataSource,
    HoverTool,
    Label,
    MultiLine,
    PanTool,
    Range1d,
    ResetTool,
    Span,
    WheelZoomTool,
)

from .drawing import COLOURS, HIGHLIGHT, NEUTRAL, SHADE, plain

if t.TYPE_CHECKING:
    import pandas as pd
    from bokeh.plotting import figure

# Above this, colours cannot be told apart: all lines look alike and the hover names the node.
MAX_COLOURED_NODES = 16
# A point (float32 value, 16 bit step) is 8 characters of base64, so three plots stay below 1.5 MB.
MAX_POINTS = 60_000
# Up to here a marker for every value can be seen as one.
MAX_MARKERS = 2_000

FORBIDDEN = "#d8434e"


@dataclass(frozen=True)
class Bound:
    """A threshold: its limits (None for an open side) and the words that label it, such as ``≥ 380``."""

    least: float | None
    greatest: float | None
    text: str

    @property
    def limits(self) -> list[float]:
        """Return the limits that there are, the lower one first."""
        return [limit for limit in (self.least, self.greatest) if limit is not None]


@dataclass(frozen=True)
class Plot:
    """The figure of one metric and what its caption has to say.

    ``bound_lies`` is ``above``, ``below`` or ``outside`` where the bound is too far from the values to be drawn.
    ``not_finite`` counts the values that are missing, NaN or infinite, ``outside`` the left-out values that the first
    view does not show, ``thinned`` tells that not every point is drawn.
    """

    metric: str
    figure: figure
    bound: Bound | None
    bound_lies: str | None
    not_finite: int
    outside: int
    thinned: bool


@dataclass(frozen=True)
class Trace:
    """How one node's lines look on every plot and in the legend."""

    node: str
    colour: str
    dashed: bool
    straggler: bool


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
    """Return the indices of at most ``limit`` (4 or more) values that keep a line's shape.

    Both ends stay, and of each of the equal intervals between them the lowest and the highest value, so that no
    spike is lost.
    """
    if len(values) <= limit:
        return np.arange(len(values))
    kept = {0, len(values) - 1}
    for interval in np.array_split(np.arange(1, len(values) - 1), (limit - 2) // 2):
        finite = interval[np.isfinite(values[interval])]
        if finite.size:
            kept |= {int(finite[values[finite].argmin()]), int(finite[values[finite].argmax()])}
        else:
            kept.add(int(interval[0]))
    return np.array(sorted(kept))


def view_range(values: np.ndarray, counted: np.ndarray, limits: Sequence[float]) -> tuple[float, float]:
    """Return the first view's y range: it follows the values, not a far bound and not a warm-up that dwarfs them.

    ``values`` are the finite ones, ``counted`` tells which of them are judged. Values that do not count are left out
    where they would make the range more than four times as large. A limit not further off than half of the range is
    taken in. A range below 5 % of the values' size passes for 5 %, so that noise is not blown up to a reason.
    """
    low, high = float(values.min()), float(values.max())
    if counted.any():
        low_counted, high_counted = float(values[counted].min()), float(values[counted].max())
        if high - low > 4 * max(high_counted - low_counted, 0.05 * abs(high_counted)):
            low, high = low_counted, high_counted
    near = max((high - low) / 2, 0.05 * max(abs(low), abs(high)))
    taken_in = [low, high, *(limit for limit in limits if low - near <= limit <= high + near)]
    low, high = min(taken_in), max(taken_in)
    margin = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
    return low - margin, high + margin


def draw(
    steps: pd.DataFrame, units: Mapping[str, str], bounds: Mapping[str, Bound], stragglers: Collection[str] = ()
) -> tuple[list[Plot], list[Trace]]:
    """Return a plot for each metric of ``units`` that has a finite value, and how the nodes look on all of them.

    ``steps`` has the columns node, node_rank, attempt, step, counted and one per metric. ``units`` maps metric to
    what it is measured in, ``bounds`` maps metric to its threshold; ``stragglers`` are nodes to mark. Panning moves the
    plots together.
    """
    finite = {metric: np.isfinite(steps[metric].to_numpy()) for metric in units if metric in steps}
    finite = {metric: mask for metric, mask in finite.items() if mask.any()}
    if not finite:
        return [], []
    # A node without any value (a trainer may print on one rank only) takes no part: neither colour nor legend.
    telling = steps.loc[np.any(list(finite.values()), axis=0), "node"].unique()
    steps = steps[steps["node"].isin(telling)].sort_values(["node_rank", "attempt", "step"], kind="stable")
    # Half a step more on each side gives a single step some width.
    x_range = Range1d(float(steps["step"].min()) - 0.5, float(steps["step"].max()) + 0.5)
    looks = traces(steps, stragglers)
    shades = shaded_ranges(steps)
    return [_plot(steps, metric, units[metric], bounds.get(metric), x_range, looks, shades) for metric in finite], looks


def _plot(
    steps: pd.DataFrame,
    metric: str,
    unit: str,
    bound: Bound | None,
    x_range: Range1d,
    looks: Sequence[Trace],
    shades: Sequence[tuple[int, int]],
) -> Plot:
    values = steps[metric].to_numpy(dtype=np.float64)
    finite = np.isfinite(values)
    # A node that never tells this metric has no gap, it has no line.
    telling = steps["node"].isin(steps.loc[finite, "node"].unique()).to_numpy()
    counted = steps["counted"].to_numpy(dtype=bool)
    low, high = view_range(values[finite], counted[finite], bound.limits if bound else [])
    bound_lies = _lies(bound, low, high) if bound else None
    lines = _lines(steps[telling], metric, looks)

    drawing = plain(
        height=280,
        x_range=x_range,
        y_range=Range1d(low, high),
        x_axis_label="step",
        tools=[PanTool(), BoxZoomTool(), WheelZoomTool(), ResetTool()],
        # An active drag would keep a finger from scrolling past the plot.
        active_drag=None,
        toolbar_location="above",
    )
    drawing.toolbar.logo = None
    drawing.xaxis.ticker = BasicTicker(min_interval=1)
    for first, last in shades:
        drawing.add_layout(
            BoxAnnotation(left=first - 0.5, right=last + 0.5, fill_color=SHADE, fill_alpha=0.16, line_color=None)
        )
    attempt = ", attempt @attempt" if (steps["attempt"] > 1).any() else ""
    tooltip = f"<div><b>@node</b>{attempt}, step $snap_x{{%d}}: $snap_y{{%.6g}} {unit}</div>"
    _draw_lines(drawing, lines, tooltip, many=len(looks) > MAX_COLOURED_NODES)
    if bound:
        _draw_bound(drawing, bound, (low, high))
    return Plot(
        metric=metric,
        figure=drawing,
        bound=bound,
        bound_lies=bound_lies,
        not_finite=int((telling & ~finite).sum()),
        outside=int((finite & ~counted & ((values < low) | (values > high))).sum()),
        thinned=sum(map(len, lines["ys"])) < int(telling.sum()),
    )


def _lies(bound: Bound, low: float, high: float) -> str | None:
    """Return where a bound is that has no limit within a view."""
    if any(low <= limit <= high for limit in bound.limits):
        return None
    if all(limit > high for limit in bound.limits):
        return "above"
    return "below" if all(limit < low for limit in bound.limits) else "outside"


def _lines(steps: pd.DataFrame, metric: str, looks: Sequence[Trace]) -> dict[str, list[t.Any]]:
    """Return the columns of the lines: one line per node and attempt, since a restart goes back in steps."""
    look_of = {look.node: look for look in looks}
    groups = [rows for _group, rows in steps.groupby(["node", "attempt"], sort=False, observed=True)]
    step_type = np.min_scalar_type(int(steps["step"].max()))
    many = len(looks) > MAX_COLOURED_NODES
    lines = []
    # What is drawn last lies on top.
    for rows in sorted(groups, key=lambda rows: look_of[rows["node"].iloc[0]].straggler):
        look = look_of[rows["node"].iloc[0]]
        values = rows[metric].to_numpy(dtype=np.float64)
        values = np.where(np.isfinite(values), values, np.nan)
        kept = thinned(values, max(4, MAX_POINTS // len(groups)))
        lines.append(
            {
                "node": look.node,
                "attempt": int(rows["attempt"].iloc[0]),
                "xs": rows["step"].to_numpy()[kept].astype(step_type),
                "ys": values[kept].astype(np.float32),
                "colour": look.colour,
                "dash": "dashed" if look.dashed else "solid",
                "width": (1 if many else 2) * (2 if look.straggler else 1),
                "alpha": 0.35 if many and not look.straggler else 0.9,
            }
        )
    return {name: [line[name] for line in lines] for name in lines[0]}


def _draw_lines(drawing: figure, lines: dict[str, list[t.Any]], tooltip: str, *, many: bool) -> None:
    source = ColumnDataSource(lines)
    look = {"xs": "xs", "ys": "ys", "line_color": "colour", "line_dash": "dash"}
    visible = drawing.multi_line(**look, source=source, line_width="width", line_alpha="alpha")
    visible.hover_glyph = MultiLine(**look, line_width=1.5 if many else 3, line_alpha=1)
    if many:
        visible.hover_glyph.line_color = HIGHLIGHT
    # Bokeh finds a line at half its width from the pointer: this one is only there to be found.
    target = drawing.multi_line(xs="xs", ys="ys", source=source, line_alpha=0, line_width=4 if many else 16)
    repeats = [len(line) for line in lines["ys"]]
    if sum(repeats) <= MAX_MARKERS:
        columns: dict[str, t.Any] = {name: np.repeat(lines[name], repeats) for name in ("node", "attempt", "colour")}
        markers = drawing.scatter(
            "x",
            "y",
            source=ColumnDataSource(columns | {"x": np.concatenate(lines["xs"]), "y": np.concatenate(lines["ys"])}),
            size=4 if many else 5,
            color="colour",
            line_color=None,
        )
        if max(repeats) == 1:
            target = markers
    drawing.add_tools(
        HoverTool(
            renderers=[target],
            tooltips=tooltip,
            formatters={"$snap_x": "printf", "$snap_y": "printf"},
            line_policy="nearest",
            visible=False,
        )
    )


def _draw_bound(drawing: figure, bound: Bound, view: tuple[float, float]) -> None:
    """Shade what the bound forbids, and draw and label its limits as far as the view has them."""
    if bound.least is not None:
        drawing.add_layout(_forbidden(top=bound.least))
    if bound.greatest is not None:
        drawing.add_layout(_forbidden(bottom=bound.greatest))
    for limit in bound.limits:
        if not view[0] <= limit <= view[1]:
            continue
        drawing.add_layout(
            Span(location=limit, dimension="width", line_color=NEUTRAL, line_dash="dotdash", line_width=1.5)
        )
        upper_half = limit > sum(view) / 2
        drawing.add_layout(
            Label(
                x=6,
                x_units="screen",
                y=limit,
                y_offset=-3 if upper_half else 3,
                text=f"threshold {bound.text}",
                text_baseline="top" if upper_half else "bottom",
                text_color=NEUTRAL,
                text_font_size="12px",
            )
        )


def _forbidden(**side: float) -> BoxAnnotation:
    return BoxAnnotation(**side, fill_color=FORBIDDEN, fill_alpha=0.09, line_color=None, level="underlay")
