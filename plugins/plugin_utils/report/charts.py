# SPDX-License-Identifier: GPL-3.0-or-later
"""Small charts whose points are runs: the last runs of a key, the efficiency over node counts, the cells of a sweep."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from bokeh.models import BoxAnnotation, ColumnDataSource, FixedTicker, Label, Whisker
from bokeh.plotting import figure

from .drawing import COLOURS, HIGHLIGHT, NEUTRAL, SHADE, hover, plain

VERDICT_COLOURS = {"PASS": COLOURS[2], "FAIL": COLOURS[3], "INCONCLUSIVE": COLOURS[1], "ERROR": COLOURS[4]}


def runs_chart(
    runs: Sequence[Mapping[str, t.Any]], metric: str, title: str, noise: tuple[float, float] | None
) -> figure | None:
    """Return a metric over runs, the last of which is the one in question; None where no run has it.

    A run has run_id, started_at, verdict and the metric, with ``_low`` and ``_high`` where it has an interval.
    ``noise`` is the range within which one more run is nothing new.
    """
    told = [(place, run) for place, run in enumerate(runs) if run.get(metric) is not None]
    if not told:
        return None
    drawing = plain()
    if noise:
        drawing.add_layout(
            BoxAnnotation(bottom=noise[0], top=noise[1], fill_color=SHADE, fill_alpha=0.16, line_color=None)
        )
    last = len(runs) - 1
    columns = {
        "x": [place - last for place, _run in told],
        "y": [run[metric] for _place, run in told],
        "low": [_bound(run, metric, "low") for _place, run in told],
        "high": [_bound(run, metric, "high") for _place, run in told],
        "run": [run["run_id"] for _place, run in told],
        "began": [str(run["started_at"]) for _place, run in told],
        "verdict": [run["verdict"] for _place, run in told],
        "colour": [VERDICT_COLOURS[run["verdict"]] for _place, run in told],
        "size": [11 if place == last else 8 for place, _run in told],
        "edge": [HIGHLIGHT if place == last else None for place, _run in told],
    }
    source = ColumnDataSource(columns)
    drawing.line("x", "y", source=source, line_color=NEUTRAL, line_alpha=0.5)
    whisker = Whisker(base="x", lower="low", upper="high", source=source, line_color=NEUTRAL)
    whisker.upper_head.line_color = whisker.lower_head.line_color = NEUTRAL
    drawing.add_layout(whisker)
    points = drawing.scatter("x", "y", source=source, size="size", color="colour", line_color="edge", line_width=3)
    drawing.xaxis.axis_label = "runs before this one"
    drawing.xaxis.ticker = FixedTicker(ticks=[-place for place in range(0, last + 1, max(1, last // 10))])
    hover(drawing, points, "@run<br>@began, @verdict<br>" + f"{title}: @y{{0,0.[0000]}}")
    return drawing


def scaling_chart(points: Sequence[Mapping[str, t.Any]], marked: int | None) -> figure:
    """Return the efficiency over node counts beside the ideal line; ``marked`` is the node count in question.

    A point has nnodes, efficiency (a fraction of that of the smallest count), runs and value.
    """
    counts = [point["nnodes"] for point in points]
    drawing = plain(y_axis_label="efficiency (%)", x_axis_type="log")
    drawing.line([counts[0], counts[-1]], [100, 100], line_color=NEUTRAL, line_dash="dashed")
    drawing.add_layout(Label(x=counts[0], y=100, y_offset=3, text="ideal", text_color=NEUTRAL, text_font_size="12px"))
    source = ColumnDataSource(
        {
            "x": counts,
            "y": [point["efficiency"] * 100 for point in points],
            "runs": [point["runs"] for point in points],
            "value": [point["value"] for point in points],
            "edge": [HIGHLIGHT if count == marked else None for count in counts],
        }
    )
    drawing.line("x", "y", source=source, line_color=COLOURS[0], line_width=2)
    dots = drawing.scatter("x", "y", source=source, size=9, color=COLOURS[0], line_color="edge", line_width=3)
    drawing.xaxis.axis_label = "nodes"
    drawing.xaxis.ticker = FixedTicker(ticks=counts)
    drawing.y_range.start, drawing.y_range.end = 0, max(110, max(point["efficiency"] for point in points) * 105)
    hover(drawing, dots, "@x nodes: @y{0.0} %<br>@value{0,0.[00]} tokens/s/GPU, median of @runs runs")
    return drawing


def _bound(run: Mapping[str, t.Any], metric: str, which: str) -> float:
    bound = run.get(f"{metric}_{which}")
    return float(run[metric] if bound is None else bound)
