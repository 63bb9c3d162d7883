# SPDX-License-Identifier: GPL-3.0-or-later
"""Isolations' measurements of nodes over months, and ``nodes.html``, which ranks the nodes and shows how they drift."""

from __future__ import annotations

import os
import statistics
import typing as t
import uuid
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from ..isolate.isolation import Isolation
from ..isolate.readings import OF_TRAINING
from ..run.whole_file import write_whole
from .charts import deviations_from_median, polyline
from .files import ISOLATIONS, NODES_PAGE, PAGE, PROBES
from .history_store import notes_on
from .pages import page_of

SCHEMA = pa.schema(
    [
        ("at", pa.timestamp("ms", tz="UTC")),
        *((name, pa.string()) for name in ("isolation", "node", "verdict", "probe", "part")),
        *((name, pa.float64()) for name in ("seconds", "excess")),
    ]
)
_STAMP = "%Y%m%dT%H%M%SZ"


class ProbeRow(t.TypedDict):
    """A probe's result on a part of a node: ``seconds`` for its work, and the ``excess`` over the usual time then.

    ``excess`` is a fraction. ``seconds`` is None for a probe of pairs, and both are None for a broken part. A node that
    was not tested has no row.
    """

    at: datetime
    isolation: str
    node: str
    verdict: str
    probe: str
    part: str
    seconds: float | None
    excess: float | None


def rows_of(name: str, isolation: Isolation, at: datetime) -> list[ProbeRow]:
    """Return the measurements of a named isolation, without the seconds of work that only one training has."""
    rows: list[ProbeRow] = []
    for probe, found in isolation["probes"].items():
        for key, excess in found.items():
            node, _space, part = key.partition(" ")
            verdict = isolation["nodes"][node]["verdict"]
            seconds = None if probe in OF_TRAINING else isolation["seconds"].get(probe, {}).get(key)
            rows.append(
                {
                    "at": at,
                    "isolation": name,
                    "node": node,
                    "verdict": verdict,
                    "probe": probe,
                    "part": part,
                    "seconds": seconds,
                    "excess": excess,
                }
            )
    return rows


def write_probes(folder: Path, rows: Sequence[ProbeRow]) -> None:
    """Add an isolation's measurements to the history in a folder; OSError if it is not writable."""
    if not rows:
        return
    at = rows[0]["at"].astimezone(UTC)
    month = folder / f"month={at:%Y-%m}"
    month.mkdir(parents=True, exist_ok=True)
    draft = month / f".{uuid.uuid4().hex}.new"
    try:
        pq.write_table(pa.Table.from_pylist(list(rows), schema=SCHEMA), draft, compression="zstd")
        os.replace(draft, month / f"{at.strftime(_STAMP)}_{rows[0]['isolation']}.parquet")
    finally:
        draft.unlink(missing_ok=True)


def read_probes(folder: Path) -> tuple[list[ProbeRow], list[Path]]:
    """Return the whole history in the order of its isolations, and its unreadable files."""
    rows: list[ProbeRow] = []
    left_out = []
    for path in sorted(folder.glob("month=*/*.parquet"), key=lambda path: path.name):
        try:
            rows += pq.read_table(path, partitioning=None, schema=SCHEMA).to_pylist()
        except (pa.ArrowException, OSError, ValueError):
            left_out.append(path)
    return rows, left_out


# Each node is compared with this many of its earlier isolations, which are also drawn.
_COMPARED = 20
Part = tuple[str, str]


class Drift(t.NamedTuple):
    """How much longer a part of a node takes than in earlier isolations, which began at ``since``.

    ``by`` is a fraction of the median of all ``values`` but the last. These are in seconds, or for pairs in multiples
    of the usual time.
    """

    probe: str
    part: str
    by: float
    since: datetime
    values: list[float]


class NodeMemory(t.NamedTuple):
    """A node: its ``rank`` among all, the fastest first, by its mean ``excess`` (a fraction).

    ``slowest`` is its worst probe and part, and how far it is behind there; ``drifts`` begin with the largest. None
    means not measured.
    """

    node: str
    rank: int | None
    excess: float | None
    slowest: tuple[str, str, float] | None
    drifts: list[Drift]
    verdict: str
    tested: datetime
    isolation: str
    isolations: int


def memory_of(rows: Sequence[ProbeRow]) -> list[NodeMemory]:
    """Return the record of each node, the slowest first; ``rows`` are in the order of their isolations."""
    of_nodes: dict[str, list[ProbeRow]] = {}
    for row in rows:
        of_nodes.setdefault(row["node"], []).append(row)
    found = [_of_node(node, own) for node, own in of_nodes.items()]
    fastest_first = sorted((one for one in found if one.excess is not None), key=lambda one: one.excess or 0.0)
    ranks = {one.node: rank for rank, one in enumerate(fastest_first, 1)}
    ranked = [one._replace(rank=ranks.get(one.node)) for one in found]
    # Broken nodes have no rank, and come first.
    return sorted(ranked, key=lambda one: -(one.rank or len(ranked) + 1))


def usual_drifts(nodes: Iterable[NodeMemory], isolation: str, probes: Collection[str]) -> dict[str, float]:
    """Return how much longer an isolation's nodes usually take in some probes than in their own earlier isolations.

    This is the median of their drifts, as a fraction. A change for all nodes, such as a driver or a power limit, shows
    only here.
    """
    found: dict[str, list[float]] = {}
    for node in nodes:
        for drift in node.drifts if node.isolation == isolation else ():
            if drift.probe in probes:
                found.setdefault(drift.probe, []).append(drift.by)
    return {probe: statistics.median(by) for probe, by in sorted(found.items())}


def _of_node(node: str, rows: Sequence[ProbeRow]) -> NodeMemory:
    last = rows[-1]
    latest = [row for row in rows if row["isolation"] == last["isolation"]]
    excesses = [(row["probe"], row["part"], row["excess"]) for row in latest if row["excess"] is not None]
    broken = len(excesses) < len(latest)
    return NodeMemory(
        node=node,
        rank=None,
        excess=None if broken or not excesses else statistics.fmean(by for _probe, _part, by in excesses),
        slowest=max(excesses, key=lambda one: one[2], default=None),
        drifts=sorted(_drifts(rows, last["isolation"]), key=lambda one: -abs(one.by)),
        verdict=last["verdict"],
        tested=last["at"],
        isolation=last["isolation"],
        isolations=len({row["isolation"] for row in rows}),
    )


def _drifts(rows: Iterable[ProbeRow], latest: str) -> t.Iterator[Drift]:
    of_parts: dict[Part, list[ProbeRow]] = {}
    for row in rows:
        if _value(row) is not None:
            of_parts.setdefault((row["probe"], row["part"]), []).append(row)
    for (probe, part), own in of_parts.items():
        *earlier, last = own[-_COMPARED - 1 :]
        if earlier and last["isolation"] == latest:
            values = [t.cast("float", _value(row)) for row in (*earlier, last)]
            yield Drift(probe, part, values[-1] / statistics.median(values[:-1]) - 1, earlier[0]["at"], values)


def _value(row: ProbeRow) -> float | None:
    """Return the value for comparing a node with itself: seconds, or for a pair multiples of the usual time.

    None if nothing was measured, or a time of 0, which cannot be compared.
    """
    excess = row["excess"]
    value = row["seconds"] if row["seconds"] is not None or excess is None else 1 + excess
    return value if value and value > 0 else None


_LEAST_OFF, _MOST_OFF = 0.02, 0.25
_MOST_DRIFTS = 3


def write_nodes_page(folder: Path) -> Path:
    """Write the page of nodes in a folder of runs, from all measurements of its isolations, and return it; OSError."""
    rows, left_out = read_probes(folder / ISOLATIONS / PROBES)
    nodes = memory_of(rows)
    drawn = [drift.values for node in nodes for drift in node.drifts[:1]]
    off = [abs(one) for values in drawn for one in deviations_from_median(values)]
    # All trends have the same scale, like the trends of runs.
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
