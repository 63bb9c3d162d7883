# SPDX-License-Identifier: GPL-3.0-or-later
"""What all charts of all pages look like."""

from __future__ import annotations

import typing as t

from bokeh.models import BasicTickFormatter, HoverTool, LinearAxis
from bokeh.plotting import figure

# Readable on white and on near-black; after eight, the same colours come back as dashed lines.
COLOURS = ("#2f7ed8", "#d9600a", "#239b56", "#d8434e", "#8e63ce", "#a0703a", "#cf559c", "#0f9aab")
HIGHLIGHT = "#ff8c1a"
# Where the page gives no colour by CSS (Bokeh reads the --bk-* variables), this reads on both backgrounds.
NEUTRAL = "#7d838c"
SHADE = "#8a94a6"


def plain(**options: t.Any) -> figure:
    """Return an empty chart, without tools unless they are given, with axes that keep in the background."""
    drawing = figure(
        sizing_mode="stretch_width",
        min_border_left=64,  # charts below each other have their axes below each other
        background_fill_alpha=0,
        border_fill_alpha=0,
        outline_line_color=None,
        **{"height": 240, "tools": [], "toolbar_location": None, **options},
    )
    for axis in drawing.select(LinearAxis):
        axis.formatter = BasicTickFormatter(use_scientific=False)
    drawing.axis.axis_line_color = None
    drawing.axis.major_tick_line_color = None
    drawing.axis.minor_tick_line_color = None
    drawing.axis.axis_label_text_font_style = "normal"
    drawing.axis.axis_label_text_font_size = "12px"
    drawing.axis.major_label_text_font_size = "12px"
    drawing.axis.axis_label_text_color = NEUTRAL
    drawing.axis.major_label_text_color = NEUTRAL
    drawing.grid.grid_line_color = SHADE
    drawing.grid.grid_line_alpha = 0.25
    drawing.xgrid.grid_line_color = None
    return drawing


def hover(drawing: figure, points: t.Any, tooltip: str) -> None:
    """Let the points of a chart tell what they are."""
    drawing.add_tools(HoverTool(renderers=[points], tooltips=tooltip, visible=False))
