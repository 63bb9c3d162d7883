# SPDX-License-Identifier: GPL-3.0-or-later
"""The cells of a sweep as a chart: a heat map over two keys, or else a bar per cell."""

from __future__ import annotations

import json
import math
import typing as t
from collections.abc import Mapping, Sequence

from bokeh.models import ColumnDataSource, FactorRange
from bokeh.plotting import figure
from bokeh.transform import linear_cmap

from .charts import VERDICT_COLOURS
from .drawing import COLOURS, NEUTRAL, SHADE, hover, plain
from .readable import number, titled

# From light to dark blue, so that dark text is read on all of it.
_SHADES = ("#eaf2fb", "#d3e4f6", "#b8d4f0", "#9cc3ea", "#80b1e3", "#639fdb")
_DARK = "#1d2329"


def heat_map(cells: Sequence[Mapping[str, t.Any]], keys: Sequence[str], metric: str) -> figure:
    """Return the metric of cells over two keys, each as a tile; one that did not pass bears its verdict instead."""
    (columns, x_factors), (rows, y_factors) = (_places([cell["values"].get(key) for cell in cells]) for key in keys)
    drawing = plain(
        height=120 + 46 * len(y_factors),
        x_range=FactorRange(factors=x_factors),
        y_range=FactorRange(factors=y_factors[::-1]),
        x_axis_label=keys[0],
        y_axis_label=keys[1],
    )
    tiles = [_tile(cell, metric) for cell in cells]
    source = ColumnDataSource({"x": columns, "y": rows, **{name: [tile[name] for tile in tiles] for name in tiles[0]}})
    shown = [tile["value"] for tile in tiles if not math.isnan(tile["value"])] or [0.0]
    low, high = min(shown), max(shown)
    colour = linear_cmap("value", _SHADES, low, high if high > low else low + 1, nan_color=SHADE)
    tiles_drawn = drawing.rect(
        "x", "y", width=0.96, height=0.92, source=source, fill_color=colour, line_color="edge", line_width=2
    )
    drawing.text(
        *("x", "y"),
        text="told",
        source=source,
        text_align="center",
        text_baseline="middle",
        text_color="ink",
        text_font_size="13px",
    )
    drawing.ygrid.grid_line_color = None
    hover(drawing, tiles_drawn, f"@name<br>@verdict<br>{titled(metric)}: @value{{0,0.[0000]}}")
    return drawing


def cells_chart(cells: Sequence[Mapping[str, t.Any]], metric: str) -> figure:
    """Return the metric of cells, each as a bar, in the colour of its verdict."""
    told = [cell for cell in cells if cell["metrics"][metric] is not None]
    names = [cell["name"] for cell in told]
    drawing = plain(
        height=90 + 26 * len(told),
        y_range=FactorRange(factors=names[::-1]),
        x_axis_label=titled(metric),
    )
    source = ColumnDataSource(
        {
            "name": names,
            "value": [cell["metrics"][metric] for cell in told],
            "verdict": [cell["verdict"] for cell in told],
            "colour": [COLOURS[0] if cell["verdict"] == "PASS" else VERDICT_COLOURS[cell["verdict"]] for cell in told],
        }
    )
    bars = drawing.hbar(y="name", right="value", height=0.7, source=source, color="colour")
    drawing.x_range.start = 0
    drawing.xgrid.grid_line_color, drawing.ygrid.grid_line_color = SHADE, None
    drawing.xgrid.grid_line_alpha = 0.25
    hover(drawing, bars, f"@name<br>@verdict<br>{titled(metric)}: @value{{0,0.[0000]}}")
    return drawing


def _tile(cell: Mapping[str, t.Any], metric: str) -> dict[str, t.Any]:
    value = cell["metrics"][metric] if cell["verdict"] == "PASS" else None
    return {
        # Without a value the tile has the colour of none.
        "value": math.nan if value is None else value,
        "name": cell["name"],
        "verdict": cell["verdict"],
        "told": cell["verdict"] if value is None else number(value),
        "edge": VERDICT_COLOURS.get(cell["verdict"], NEUTRAL) if value is None else None,
        "ink": NEUTRAL if value is None else _DARK,
    }


def _places(values: Sequence[t.Any]) -> tuple[list[str], list[str]]:
    """Return values as texts, and each text once: numbers in their order, as the first cells may leave some out."""
    numbers = all(isinstance(value, (int, float)) for value in values)
    ordered = sorted(values) if numbers else values
    return [_text(value) for value in values], list(dict.fromkeys(_text(value) for value in ordered))


def _text(value: t.Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
