# SPDX-License-Identifier: GPL-3.0-or-later
"""How far each node is off the median of its step: a heat map of nodes over steps."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

import numpy as np

from .drawing import HEIGHT, WIDTH, Chart

if t.TYPE_CHECKING:
    import pandas as pd
    from markupsafe import Markup

# At most so many nodes are shown, the furthest off, so that each row has room for its name; and at most so many cells:
# each covers as many steps as necessary.
MAX_NODES = 32
MAX_CELLS = 120
# From faster through average to slower; readable on white and on near-black.
COLOURS = ("#1f6fc4", "#5b9bdc", "#a5c6ea", "#ccd1d8", "#f0b98c", "#e4853f", "#d9480a")
# A smaller deviation is noise, and has hardly any colour.
_LEAST_PERCENT = 5.0
_NOW_AND_THEN = 0.9


@dataclass(frozen=True)
class HeatMap:
    """The chart of a metric's deviations, and the data of its caption.

    ``nodes`` are all nodes in this order, and the first ``rows`` are drawn. The colours end at the deviation ``limit``
    (percent). A cell shows the largest deviation of ``steps_in_cell`` steps, and ``furthest`` is the largest of all
    (percent). ``left_off`` are nodes that deviate less than all shown nodes.
    """

    metric: str
    nodes: list[str]
    rows: int
    limit: float
    furthest: float
    steps_in_cell: int
    left_off: int
    chart: Markup

    @property
    def is_even(self) -> bool:
        """Return whether no cell has another colour than the average."""
        return _place(self.furthest, self.limit) == _place(0.0, self.limit)


def deviations(steps: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return a metric's deviations from the median of each step, in percent: a row per node, a column per step.

    If a step ran twice, the last attempt counts. A step whose median is 0 is left out.
    """
    finite = steps[np.isfinite(steps[metric])].sort_values("attempt", kind="stable")
    values = finite.pivot_table(index="node", columns="step", values=metric, aggfunc="last", observed=True)
    off = (values / values.median(axis=0) - 1) * 100
    finite_off: pd.DataFrame = off.replace([np.inf, -np.inf], np.nan).dropna(axis=1, how="all")
    return finite_off


def heat_map(steps: pd.DataFrame, metric: str) -> HeatMap | None:
    """Return the heat map of a metric, the nodes furthest off first; None if fewer than two nodes have it."""
    if metric not in steps or not np.isfinite(steps[metric]).any():
        return None
    off = deviations(steps, metric)
    if len(off) < 2 or off.empty:
        return None
    # By the value that one in ten counted steps exceeds, so that a node that is slow now and then comes first, but a
    # single slow step has no effect.
    counts = off.columns.isin(steps.loc[steps["counted"], "step"])
    counted = off.columns[counts] if counts.any() else off.columns
    order = off[counted].abs().quantile(_NOW_AND_THEN, axis=1).sort_values(ascending=False, kind="stable").index
    shown = off.loc[order[:MAX_NODES]]
    spread = np.nanquantile(np.abs(shown[counted].to_numpy()), 0.99)
    limit = max(_LEAST_PERCENT, float(spread))
    cells, in_cell = _cells(shown)
    first, last = int(off.columns.min()), int(off.columns.max())
    chart = Chart((first - 0.5, last + 0.5), (0.0, 1.0), "step", "", x_name="step")
    _draw(chart, cells, limit)
    rows, nodes = len(shown), list(map(str, order))
    chart.names(nodes[:rows])
    chart.cells([end for _first, end, _values in cells], np.column_stack([values for *_steps, values in cells]))
    furthest = float(np.nanmax(np.abs(shown.to_numpy())))
    html = chart.html(max(60, min(20 * rows, 480)))
    return HeatMap(metric, nodes, rows, limit, furthest, in_cell, len(off) - rows, html)


def _cells(off: pd.DataFrame) -> tuple[list[tuple[int, int, np.ndarray]], int]:
    """Return the columns of cells: first and last step, and each node's largest deviation."""
    steps = off.columns.to_numpy()
    in_cell = -(-len(steps) // MAX_CELLS)
    values = off.to_numpy()
    cells = []
    for begin in range(0, len(steps), in_cell):
        block = values[:, begin : begin + in_cell]
        furthest = np.nan_to_num(np.abs(block), nan=-1.0).argmax(axis=1)
        after = begin + in_cell
        end = steps[after] if after < len(steps) and in_cell > 1 else steps[min(after, len(steps)) - 1] + 1
        cells.append((int(steps[begin]), int(end), block[np.arange(len(block)), furthest]))
    return cells, in_cell


def _place(value: float, limit: float) -> int:
    """Return the place of a deviation's colour."""
    return round((min(max(value / limit, -1.0), 1.0) + 1) / 2 * (len(COLOURS) - 1))


def _draw(chart: Chart, cells: list[tuple[int, int, np.ndarray]], limit: float) -> None:
    """Draw all cells of a colour as one path."""
    paths: dict[int, list[str]] = {}
    rows = len(cells[0][2])
    height = HEIGHT / rows
    low, high = chart.x
    for first, end, column in cells:
        left = round((first - 0.5 - low) / (high - low) * WIDTH)
        width = max(1, round((end - 0.5 - low) / (high - low) * WIDTH) - left)
        for row, value in enumerate(column):
            if np.isfinite(value):
                top, bottom = round(row * height), round((row + 1) * height)
                paths.setdefault(_place(value, limit), []).append(f"M{left} {top}h{width}v{bottom - top}h-{width}z")
    chart.tiles({COLOURS[place]: "".join(path) for place, path in sorted(paths.items())})
