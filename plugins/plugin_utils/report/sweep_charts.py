# SPDX-License-Identifier: GPL-3.0-or-later
"""The cells of a sweep as a chart: a heat map over two keys, or else a bar per cell."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Sequence

from markupsafe import Markup

from ..contracts import SweepCell
from .charts import VERDICT_COLOURS
from .drawing import COLOURS, NEUTRAL
from .readable import NOTHING, number, titled

# From light to dark blue, so that dark text is read on all of it.
_SHADES = ("#eaf2fb", "#d3e4f6", "#b8d4f0", "#9cc3ea", "#80b1e3", "#639fdb")
_TILE = Markup('<td style="background:{}" title="{}">{}</td>')
_EMPTY = Markup('<td class="none" style="border-color:{}" title="{}">{}</td>')
_BAR = Markup('<div class="bar" title="{}"><span>{}</span><i style="width:{:.1f}%;background:{}"></i><em>{}</em></div>')


def heat_map(cells: Sequence[SweepCell], keys: Sequence[str], metric: str) -> Markup:
    """Return the metric of cells over two keys, each as a tile; one that did not pass bears its verdict instead."""
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
    """Return the metric of runs, each as a bar from zero on, in the colour of its verdict.

    ``values`` are names, verdicts and finite values; one below zero has no length.
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
    """Return each value once as a text: numbers in their order, as the first cells may leave some out."""
    numbers = all(isinstance(value, (int, float)) for value in values)
    return list(dict.fromkeys(map(_text, sorted(values) if numbers else values)))


def _text(value: t.Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
