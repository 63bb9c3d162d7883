# SPDX-License-Identifier: GPL-3.0-or-later
"""Small charts whose points are runs: the last runs of a key, and the efficiency over node counts."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Mapping, Sequence

from .drawing import COLOURS, HIGHLIGHT, NEUTRAL, SHADE, Chart, around
from .readable import number

if t.TYPE_CHECKING:
    from markupsafe import Markup

VERDICT_COLOURS = {"PASS": COLOURS[2], "FAIL": COLOURS[3], "INCONCLUSIVE": COLOURS[1], "ERROR": COLOURS[4]}


def runs_chart(
    runs: Sequence[Mapping[str, t.Any]], metric: str, title: str, noise: tuple[float, float] | None
) -> Markup | None:
    """Return a metric over runs, the last of which is the one in question; None where no run has it.

    A run has run_id, started_at, verdict and the metric, with ``_low`` and ``_high`` where it has an interval.
    ``noise`` is the range within which one more run is nothing new.
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


def scaling_chart(points: Sequence[Mapping[str, t.Any]], marked: int | None) -> Markup:
    """Return the efficiency over node counts beside the ideal line; ``marked`` is the node count in question.

    A point has nnodes, efficiency (a fraction of that of the smallest count), runs and value.
    """
    places = [math.log2(point["nnodes"]) for point in points]
    shares = [point["efficiency"] * 100 for point in points]
    chart = Chart((places[0] - 0.3, places[-1] + 0.3), (0.0, max(110.0, *shares) * 1.05), "nodes", "efficiency (%)")
    chart.axes((place, str(point["nnodes"])) for place, point in zip(places, points, strict=True))
    chart.level(100.0, "ideal")
    chart.line([zip(places, shares, strict=True)], COLOURS[0])
    for place, share, point in zip(places, shares, points, strict=True):
        rate = f"{number(point['value'])} tokens/s/GPU, median of {point['runs']} runs"
        if point["nnodes"] == marked:
            chart.dots([(place, share)], HIGHLIGHT, 15)
        chart.dots([(place, share)], COLOURS[0], 9, f"{point['nnodes']} nodes: {share:.1f} %\n{rate}")
    return chart.html()


def _bound(run: Mapping[str, t.Any], metric: str, which: str) -> float:
    bound = run.get(f"{metric}_{which}")
    return float(run[metric] if bound is None else bound)
