# SPDX-License-Identifier: GPL-3.0-or-later
"""``nodes.html`` in a folder of runs: every node that was tested, its rank among all, and how it drifts."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from ..run.whole_file import write_whole
from .charts import deviations_from_median, polyline
from .files import ISOLATIONS, NODES_PAGE, PAGE, PROBES
from .history_store import notes_on
from .node_memory import NodeMemory, memory_of
from .pages import page_of
from .probe_store import read_probes

_LEAST_OFF, _MOST_OFF = 0.02, 0.25
_MOST_DRIFTS = 3


def write_nodes_page(folder: Path) -> Path:
    """Write the page of nodes of a folder of runs, from all that its isolations measured, and return it; OSError."""
    rows, left_out = read_probes(folder / ISOLATIONS / PROBES)
    nodes = memory_of(rows)
    drawn = [drift.values for node in nodes for drift in node.drifts[:1]]
    off = [abs(one) for values in drawn for one in deviations_from_median(values)]
    # All trends have one scale, as those of runs have.
    edge = min(_MOST_OFF, max([_LEAST_OFF, *off]))
    page = page_of(
        "nodes.html.j2",
        {},
        nodes=nodes,
        drifts={node.node: node.drifts[:_MOST_DRIFTS] for node in nodes},
        trends={node.node: polyline(node.drifts[0].values, edge) for node in nodes if node.drifts},
        links={node.node: link for node in nodes if (link := _report_of(folder, node))},
        isolations=len({row["isolation"] for row in rows}),
        notes=notes_on(left_out),
    )
    write_whole(folder / NODES_PAGE, page)
    return folder / NODES_PAGE


def _report_of(folder: Path, node: NodeMemory) -> str:
    path = folder / ISOLATIONS / node.isolation / PAGE
    return quote(str(path.relative_to(folder))) if path.exists() else ""
