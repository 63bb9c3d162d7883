# SPDX-License-Identifier: GPL-3.0-or-later
"""Charts of runs: the last runs of a key, the efficiency over node counts, the cells of a sweep."""

from __future__ import annotations

import json
import math
import statistics
import typing as t
from collections.abc import Collection, Mapping, Sequence

from markupsafe import Markup

from ..contracts import SweepCell
from .drawing import COLOURS, HIGHLIGHT, NEUTRAL, SHADE, Chart, around
from .plots import Bound
from .readable import NOTHING, number, titled, with_unit

if t.TYPE_CHECKING:
    from markupsafe import Markup


# Values closer together than this share look close together.
_LEAST_SPREAD = 0.05
# The names of so many nodes have room below a chart.
_NAMED = 6
# The size of dots, in pixels, for few nodes and for many.
_FEW, _FEW_DOTS, _MANY_DOTS = 64, 9, 5
VERDICT_COLOURS = {"PASS": COLOURS[2], "FAIL": COLOURS[3], "INCONCLUSIVE": COLOURS[1], "ERROR": COLOURS[4]}


def runs_chart(
    runs: Sequence[Mapping[str, t.Any]], metric: str, title: str, noise: tuple[float, float] | None
) -> Markup | None:
    """Return a chart of a metric over runs, the last one being the run in question; None if no run has it.

    A run has run_id, started_at, verdict and the metric, with ``_low`` and ``_high`` if it has an interval. One more
    run within the range ``noise`` is nothing unusual.
    """
    last = len(runs) - 1
    points = [(place - last, run) for place, run in enumerate(runs) if run.get(metric) is not None]
    if not points:
        return None
    ends = [_bound(run, metric, which) for _place, run in points for which in ("low", "high")]
    chart = Chart((-last - 0.5, 0.5), around([*ends, *(noise or ())]), "runs before this one", title)
    chart.axes(whole=True)
    if noise:
        chart.band(*noise, SHADE, 0.16)
    chart.line([[(place, run[metric]) for place, run in points]], NEUTRAL, opacity=0.5)
    for place, run in points:
        chart.whisker(place, _bound(run, metric, "low"), _bound(run, metric, "high"))
        words = f"{run['run_id']}\n{run['started_at']}, {run['verdict']}\n{title}: {number(run[metric])}"
        if place == 0:
            chart.dots([(place, run[metric])], HIGHLIGHT, 15)
        chart.dots([(place, run[metric])], VERDICT_COLOURS[run["verdict"]], 10, words)
    return chart.html(labelled=False)


def nodes_chart(values: Mapping[str, float], marked: Collection[str], title: str, bound: Bound | None) -> Markup:
    """Return a chart of nodes' values as dots, lowest first, with the limits of a bound; ``marked`` nodes stand out.

    ``values`` are finite. They are often close together, so the chart begins just below the lowest, and bars, whose
    length a reader compares, would mislead.
    """
    ordered = sorted(values.items(), key=lambda item: item[1])
    limits = bound.limits if bound else []
    lowest, highest = ordered[0][1], ordered[-1][1]
    near = [limit for limit in limits if 0.5 * lowest <= limit <= 2 * highest]
    low, high = min([lowest, *near]), max([highest, *near])
    places = [(place + 0.5, node) for place, (node, _value) in enumerate(ordered)]
    named = places if len(places) <= _NAMED else [(at, node) for at, node in places if node in marked][:1]
    spread = max(high - low, _LEAST_SPREAD * abs(high))
    chart = Chart((0.0, float(len(ordered))), (low - spread / 2, high + spread / 4), "", title)
    chart.axes(named)
    size = _FEW_DOTS if len(ordered) <= _FEW else _MANY_DOTS
    for place, (node, value) in enumerate(ordered):
        words = f"{node}: {number(value)}"
        chart.dots([(place + 0.5, value)], HIGHLIGHT if node in marked else COLOURS[0], size, words)
    for limit in near:
        chart.level(limit, f"threshold {bound.text}" if bound else "")
    return chart.html(260, labelled=False)


def scaling_chart(points: Sequence[Mapping[str, t.Any]], marked: int | None) -> Markup:
    """Return the efficiency over node counts beside the ideal line; ``marked`` is the node count in question.

    A point has nnodes, efficiency (a fraction of the smallest count's), runs and value.
    """
    places = [math.log2(point["nnodes"]) for point in points]
    shares = [point["efficiency"] * 100 for point in points]
    chart = Chart((places[0] - 0.3, places[-1] + 0.3), (0.0, max(110.0, *shares) * 1.05), "nodes", "efficiency (%)")
    chart.axes((place, str(point["nnodes"])) for place, point in zip(places, points, strict=True))
    chart.level(100.0, "ideal")
    chart.line([zip(places, shares, strict=True)], COLOURS[0])
    for place, share, point in zip(places, shares, points, strict=True):
        rate = f"{with_unit(point['value'], 'tokens_per_sec_per_gpu')}, median of {point['runs']} runs"
        if point["nnodes"] == marked:
            chart.dots([(place, share)], HIGHLIGHT, 15)
        chart.dots([(place, share)], COLOURS[0], 9, f"{point['nnodes']} nodes: {share:.1f} %\n{rate}")
    return chart.html()


def _bound(run: Mapping[str, t.Any], metric: str, which: str) -> float:
    bound = run.get(f"{metric}_{which}")
    return float(run[metric] if bound is None else bound)


def deviations_from_median(values: Sequence[float]) -> list[float]:
    """Return each value's deviation from the median, as a fraction of the median."""
    middle = statistics.median(values) or 1.0
    return [(value - middle) / abs(middle) for value in values]


def polyline(values: Sequence[float], edge: float) -> str:
    """Return values as the points of an SVG polyline in a box of 80 by 20.

    The middle of the box is the median, and its edges are the fraction ``edge`` of the median away; no point lies
    outside.
    """
    if len(values) < 2:
        return ""
    off = [max(-1.0, min(1.0, one / edge)) for one in deviations_from_median(values)]
    return " ".join(f"{2 + place * 76 / (len(off) - 1):.0f},{10 - 8 * one:.1f}" for place, one in enumerate(off))


# From light to dark blue, all light enough for dark text.
_SHADES = ("#eaf2fb", "#d3e4f6", "#b8d4f0", "#9cc3ea", "#80b1e3", "#639fdb")
_TILE = Markup('<td style="background:{}" title="{}">{}</td>')
_EMPTY = Markup('<td class="none" style="border-color:{}" title="{}">{}</td>')
_BAR = Markup('<div class="bar" title="{}"><span>{}</span><i style="width:{:.1f}%;background:{}"></i><em>{}</em></div>')


def heat_map(cells: Sequence[SweepCell], keys: Sequence[str], metric: str) -> Markup:
    """Return the metric of cells over two keys as tiles; a cell that did not pass shows its verdict instead."""
    across, down = (_ordered([cell["values"].get(key, NOTHING) for cell in cells]) for key in keys)
    at = {tuple(_text(cell["values"].get(key, NOTHING)) for key in keys): cell for cell in cells}
    values = [value for cell in cells if (value := _counted(cell, metric)) is not None]
    rows = [
        Markup('<tr><th scope="row">{}</th>{}</tr>').format(
            row, Markup().join(_tile(at.get((column, row)), metric, values) for column in across)
        )
        for row in down
    ]
    head = Markup().join(Markup('<th scope="col">{}</th>').format(column) for column in across)
    return Markup(
        '<div class="scroll"><table class="tiles"><thead><tr><th></th><th colspan="{}">{}</th></tr>'
        '<tr><th scope="col">{}</th>{}</tr></thead><tbody>{}</tbody></table></div>'
    ).format(len(across), keys[0], keys[1], head, Markup().join(rows))


def bars_chart(values: Sequence[tuple[str, str, float]], metric: str) -> Markup:
    """Return a bar chart of runs' values, from zero on, in the colours of their verdicts.

    ``values`` are names, verdicts and finite values; a bar below zero has no length.
    """
    most = max((value for _name, _verdict, value in values if value > 0), default=1.0)
    bars = [
        _BAR.format(
            f"{name}: {verdict}",
            name,
            100 * max(0.0, value) / most,
            COLOURS[0] if verdict == "PASS" else VERDICT_COLOURS[verdict],
            f"{number(value)}{'' if verdict == 'PASS' else ' ' + verdict}",
        )
        for name, verdict, value in values
    ]
    return Markup('<div class="bars" role="img" aria-label="{}">{}</div>').format(titled(metric), Markup().join(bars))


def _tile(cell: SweepCell | None, metric: str, values: Sequence[float]) -> Markup:
    if cell is None:
        return Markup('<td class="none">{}</td>').format(NOTHING)
    label = f"{cell['name']}: {cell['verdict']}"
    value = _counted(cell, metric)
    if value is None:
        return _EMPTY.format(VERDICT_COLOURS.get(cell["verdict"], NEUTRAL), label, cell["verdict"])
    low, high = min(values), max(values)
    place = round((value - low) / (high - low) * (len(_SHADES) - 1)) if high > low else 0
    return _TILE.format(_SHADES[place], label, number(value))


def _counted(cell: SweepCell, metric: str) -> float | None:
    return cell["metrics"][metric] if cell["verdict"] == "PASS" else None


def _ordered(values: Sequence[t.Any]) -> list[str]:
    """Return each value once as a text; numbers are sorted, because the first cells may lack some."""
    numbers = all(isinstance(value, (int, float)) for value in values)
    return list(dict.fromkeys(map(_text, sorted(values) if numbers else values)))


def _text(value: t.Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
