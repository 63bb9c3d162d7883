# SPDX-License-Identifier: GPL-3.0-or-later
"""Charts as inline SVG that stretches with the page; their texts are HTML, which keeps its size.

A chart's area is `WIDTH` × `HEIGHT` units, however many pixels that is. ``page/charts.js`` lets a
pointer read lines, and zooms the charts that share their steps.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from markupsafe import Markup, escape

from .readable import MINUS

# Readable on white and on near-black; after eight, the same colours repeat as dashed lines.
COLOURS = ("#2f7ed8", "#d9600a", "#239b56", "#d8434e", "#8e63ce", "#a0703a", "#cf559c", "#0f9aab")
HIGHLIGHT = "#ff8c1a"
NEUTRAL = "#7d838c"
SHADE = "#8a94a6"
FORBIDDEN = "#d8434e"

WIDTH, HEIGHT = 2000, 1000
# A point this far outside the area looks like any further one.
_FAR = 3000
_STEPS_OF_TICKS = (1, 2, 2.5, 5, 10)

Span = tuple[float, float]


def ticks(low: float, high: float, most: int, least_step: float = 0.0) -> list[float]:
    """Return at most about ``most`` round numbers between two, at equal distances of at least ``least_step``."""
    rough = max((high - low) / most, least_step, 1e-300)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in _STEPS_OF_TICKS if power * factor >= rough * (1 - 1e-9))
    if least_step:
        step = max(least_step, round(step / least_step) * least_step)
    first = math.ceil(low / step - 1e-9)
    return [step * place for place in range(first, math.floor(high / step + 1e-9) + 1)]


def tick_texts(values: Sequence[float]) -> list[str]:
    """Return ticks for reading, each with as many decimals as it takes to keep them apart."""
    step = min((after - before for before, after in pairwise(values)), default=1.0)
    decimals = max(0, min(12, 1 - math.floor(math.log10(step) + 1e-9)))
    texts = [f"{value:,.{decimals}f}" for value in values]
    while decimals and all(text.endswith("0") for text in texts):
        decimals, texts = decimals - 1, [text[:-1].rstrip(".") for text in texts]
    return [text.replace("-", MINUS) for text in texts]


class Chart:
    """A chart of values ``y`` over ``x``, both as ranges (first, last) that it shows.

    ``unit`` is the unit of the values and ``x_name`` what an ``x`` is called; both appear under the pointer.
    """

    def __init__(self, x: Span, y: Span, x_label: str, y_label: str, *, unit: str = "", x_name: str = "") -> None:
        """Begin with axes and a grid."""
        self.x, self.y = x, y
        self._labels = (x_label, y_label)
        self._axis_names = (unit, x_name)
        self._marks: list[str] = []
        self._texts: list[str] = []
        self._rows = ""
        self._cells = ""

    def axes(self, x_ticks: Iterable[tuple[float, str]] | None = None, *, whole: bool = False) -> None:
        """Draw ticks: the given ones and their texts along x, or round numbers, ``whole`` ones if x counts things."""
        if x_ticks is None:
            found = ticks(*self.x, 8, 1.0 if whole else 0.0)
            x_ticks = zip(found, tick_texts(found), strict=True)
        for value, text in x_ticks:
            self._texts.append(f'<span class="x" style="left:{self._percent_x(value):.2f}%">{escape(text)}</span>')
        found = ticks(*self.y, 5)
        for value, text in zip(found, tick_texts(found), strict=True):
            top = self._y(value)
            self._marks.append(f'<path class="grid" d="M0 {top}H{WIDTH}"/>')
            self._texts.append(f'<span class="y" style="top:{top / HEIGHT:.2%}">{escape(text)}</span>')

    def names(self, names: Sequence[str]) -> None:
        """Name rows of equal height instead of values along y."""
        self._rows = " rows"
        for place, name in enumerate(names):
            self._texts.append(f'<span class="y" style="top:{(place + 0.5) / len(names):.2%}">{escape(name)}</span>')

    def tiles(self, paths: Mapping[str, str]) -> None:
        """Fill the paths, each in its key's colour, and label the steps along x."""
        self._marks += [f'<path fill="{colour}" d="{path}"/>' for colour, path in paths.items()]
        found = ticks(*self.x, 8, 1.0)
        for value, text in zip(found, tick_texts(found), strict=True):
            self._texts.append(f'<span class="x" style="left:{self._percent_x(value):.2f}%">{text}</span>')

    def cells(self, ends: Sequence[float], values: np.ndarray) -> None:
        """Give the pointer the values of cells, in percent: the ends of the columns along x, and rows of values."""
        rounded = np.round(values, 1)
        rows = [[None if math.isnan(value) else value for value in row] for row in rounded.tolist()]
        told = json.dumps({"ends": [float(end) for end in ends], "rows": rows}, separators=(",", ":"))
        self._cells = f' data-cells="{escape(told)}"'

    def shade(self, left: float, right: float) -> None:
        """Shade a range of x."""
        begin, end = self._x(left), self._x(right)
        self._marks.append(f'<path fill="{SHADE}" fill-opacity=".16" d="M{begin} 0H{end}V{HEIGHT}H{begin}z"/>')

    def band(self, low: float | None, high: float | None, colour: str, opacity: float) -> None:
        """Shade a range of y; None is where the area ends."""
        bottom = HEIGHT if low is None else self._y(low)
        top = 0 if high is None else self._y(high)
        if 0 <= top < bottom <= _FAR:
            self._marks.append(f'<path fill="{colour}" fill-opacity="{opacity}" d="M0 {top}H{WIDTH}V{bottom}H0z"/>')

    def level(self, value: float, text: str) -> None:
        """Draw a value as a dashed line across, with a text on the side with more room."""
        top = self._y(value)
        where = "below" if top < HEIGHT / 2 else "above"
        self._marks.append(f'<path class="line limit" stroke-dasharray="7 4" d="M0 {top}H{WIDTH}"/>')
        self._texts.append(f'<em class="{where}" style="top:{top / HEIGHT:.2%}">{escape(text)}</em>')

    def line(
        self,
        pieces: Iterable[Iterable[tuple[float, float]]],
        colour: str,
        *,
        width: float = 2.0,
        opacity: float = 1.0,
        dashed: bool = False,
        name: str = "",
    ) -> None:
        """Draw points as a line in pieces, with gaps between them."""
        path = "".join(
            "M" + "L".join(self._places(piece)) + ("h0" if len(piece) == 1 else "")
            for piece in map(list, pieces)
            if piece
        )
        dashes = ' stroke-dasharray="8 4"' if dashed else ""
        data_name = f' data-name="{escape(name)}"' if name else ""
        self._marks.append(
            f'<path class="line" stroke="{colour}" stroke-width="{width:g}" stroke-opacity="{opacity:g}"'
            f'{dashes}{data_name} d="{path}"/>'
        )

    def dots(self, points: Iterable[tuple[float, float]], colour: str, size: float = 5.0, title: str = "") -> None:
        """Draw points as dots of so many pixels, with a title for the pointer."""
        path = "".join(f"M{self._x(x)} {self._y(y)}h0" for x, y in points)
        hover = f"<title>{escape(title)}</title>" if title else ""
        self._marks.append(f'<path class="line" stroke="{colour}" stroke-width="{size:g}" d="{path}">{hover}</path>')

    def whisker(self, x: float, low: float, high: float) -> None:
        """Draw the interval of a value, with its ends."""
        at, bottom, top = self._x(x), self._y(low), self._y(high)
        path = f"M{at} {bottom}V{top}M{at - 9} {bottom}h18M{at - 9} {top}h18"
        self._marks.append(f'<path class="line" stroke="{NEUTRAL}" stroke-width="1.2" d="{path}"/>')

    def html(self, height: int = 240, *, labelled: bool = True) -> Markup:
        """Return the chart, with an area of so many pixels in height; y is ``labelled`` unless a heading does that."""
        x_label, y_label = map(escape, self._labels)
        unit, x_name = map(escape, self._axis_names)
        shares = f' data-unit="{unit}" data-name="{x_name}"' if x_name else ""
        shown = f'<div class="y-label">{y_label}</div>' if labelled and y_label else ""
        ends = " ".join(f"{end:.9g}" for end in (*self.x, *self.y))
        marks, texts = "".join(self._marks), "".join(self._texts)
        return Markup(
            f'<figure class="chart{self._rows}" data-ends="{ends}"{shares}{self._cells}>{shown}'
            f'<div class="area" style="height:{height}px">'
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img"'
            f' aria-label="{y_label or x_label}">{marks}</svg>{texts}</div>'
            f"<figcaption>{x_label}</figcaption></figure>"
        )

    def _places(self, points: Sequence[tuple[float, float]]) -> Iterator[str]:
        """Yield `_x` and `_y` of points, a thousand as fast as ten."""
        x, y = np.array(points, dtype=np.float64).T
        places = HEIGHT * (self.y[1] - y) / (self.y[1] - self.y[0])
        left, top = np.rint(self._percent_x(x) / 100 * WIDTH), np.rint(np.clip(places, -_FAR, _FAR))
        return (f"{a} {b}" for a, b in zip(left.astype(int).tolist(), top.astype(int).tolist(), strict=True))

    def _percent_x(self, value: float) -> float:
        return 100 * (value - self.x[0]) / (self.x[1] - self.x[0])

    def _x(self, value: float) -> int:
        return round(self._percent_x(value) / 100 * WIDTH)

    def _y(self, value: float) -> int:
        place = HEIGHT * (self.y[1] - value) / (self.y[1] - self.y[0])
        return round(min(max(place, -_FAR), _FAR))


def around(values: Iterable[float], share: float = 0.08) -> Span:
    """Return a range that covers all of the values, with a margin."""
    listed = list(values)
    low, high = min(listed), max(listed)
    margin = share * (high - low) or 0.05 * abs(high) or 1.0
    return low - margin, high + margin
