# SPDX-License-Identifier: GPL-3.0-or-later
"""Heat maps of an isolation: nodes by probes, by nodes and by groups, each tile how much longer than usual it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from ..isolate.scale import GroupFound
from ..text.slowness import signed
from .readable import NOTHING

# From white for what is usual to red, so that dark text is read on all of it; and the excess from which each begins.
_SHADES = {0.0: "#eef2f6", 0.01: "#fdf0d9", 0.02: "#fbdcae", 0.05: "#f8bf86", 0.1: "#f39b6d", 0.2: "#ec7a66"}
_BROKEN = "#c9a7e8"
_TILE = Markup('<td style="background:{}" title="{}">{}</td>')
# A tile for each pair of more nodes is more than anybody reads.
MOST_NODES = 64

Excess = float | None


def probes_map(probes: Mapping[str, Mapping[str, Excess]], worst_first: Sequence[str]) -> Markup:
    """Return a row for each node, or part of a node, and a column for each probe."""
    names = list(dict.fromkeys([*worst_first, *(node for found in probes.values() for node in found)]))
    rows = {name: {probe: found[name] for probe, found in probes.items() if name in found} for name in names}
    return _map(list(probes), {name: row for name, row in rows.items() if row}, "Node")


def links_map(links: Sequence[tuple[str, str, Excess]]) -> Markup | None:
    """Return a row and a column for each node, with the pairs that were tested; None for too many nodes."""
    names = list(dict.fromkeys(name for one, other, _excess in links for name in (one, other)))
    if len(names) > MOST_NODES:
        return None
    rows: dict[str, dict[str, Excess]] = {name: {} for name in names}
    for one, other, excess in links:
        rows[one][other] = rows[other][one] = excess
    return _map(names, rows, "")


def groups_map(groups: Sequence[GroupFound], worst_first: Sequence[str]) -> Markup | None:
    """Return a row for each node and a column for each split, with the group that the node was in; None for too many.

    Columns say into how many groups of how many nodes a split is.
    """
    rows: dict[str, dict[str, Excess]] = {}
    sizes: dict[int, list[int]] = {}
    for one in groups:
        sizes.setdefault(one["split"], []).append(len(one["nodes"]))
    columns = {split: f"{split}: {len(of)} × {max(of)}" for split, of in sizes.items()}
    for one in groups:
        for node in one["nodes"]:
            rows.setdefault(node, {})[columns[one["split"]]] = one["slower_by"]
    names = dict.fromkeys([*(name for name in worst_first if name in rows), *rows])
    return (
        _map(list(columns.values()), {name: rows[name] for name in names}, "Node") if len(rows) <= MOST_NODES else None
    )


def _map(columns: Sequence[str], rows: Mapping[str, Mapping[str, Excess]], corner: str) -> Markup:
    head = Markup().join(Markup('<th scope="col">{}</th>').format(column) for column in columns)
    body = Markup().join(
        Markup('<tr><th scope="row">{}</th>{}</tr>').format(
            name, Markup().join(_tile(name, column, row) for column in columns)
        )
        for name, row in rows.items()
    )
    return Markup(
        '<div class="scroll"><table class="tiles"><thead><tr><th scope="col">{}</th>{}</tr></thead>'
        "<tbody>{}</tbody></table></div>"
    ).format(corner, head, body)


def _tile(name: str, column: str, row: Mapping[str, Excess]) -> Markup:
    if column not in row:
        return Markup('<td class="none">{}</td>').format(NOTHING)
    excess = row[column]
    title = f"{name}, {column}"
    if excess is None:
        return _TILE.format(_BROKEN, title, "broken")
    colour = [shade for least, shade in _SHADES.items() if excess >= least or least == 0][-1]
    return _TILE.format(colour, title, signed(excess))
