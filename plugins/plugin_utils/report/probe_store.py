# SPDX-License-Identifier: GPL-3.0-or-later
"""What isolations measured of nodes, kept for months: a Parquet dataset with one file per isolation.

::

    <runs>/isolation/history/month=2026-11/20261121T081757Z_<name>.parquet

It is no part of the history of runs, whose rows have other columns. A file is put in place in one step.
"""

from __future__ import annotations

import os
import typing as t
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ..isolate.isolation import Isolation

SCHEMA = pa.schema(
    [
        ("at", pa.timestamp("ms", tz="UTC")),
        *((name, pa.string()) for name in ("isolation", "node", "verdict", "probe", "part")),
        *((name, pa.float64()) for name in ("seconds", "excess")),
    ]
)
_STAMP = "%Y%m%dT%H%M%SZ"


class ProbeRow(t.TypedDict):
    """What a probe found of a part of a node: ``seconds`` for its work, and the ``excess`` over what was usual then.

    ``excess`` is a fraction. ``seconds`` is None for a probe of pairs, and both are None for what was broken. A node
    that was not tested has no row.
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
    """Return what an isolation of a name measured of its nodes."""
    rows: list[ProbeRow] = []
    for probe, found in isolation["probes"].items():
        for key, excess in found.items():
            node, _space, part = key.partition(" ")
            verdict = isolation["nodes"][node]["verdict"]
            seconds = isolation["seconds"].get(probe, {}).get(key)
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
    """Add what an isolation measured to the history in a folder; OSError where it cannot be written."""
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
    """Return the whole history in the order of its isolations, and the files of it that cannot be read."""
    rows: list[ProbeRow] = []
    left_out = []
    for path in sorted(folder.glob("month=*/*.parquet"), key=lambda path: path.name):
        try:
            rows += pq.read_table(path, partitioning=None, schema=SCHEMA).to_pylist()
        except (pa.ArrowException, OSError, ValueError):
            left_out.append(path)
    return rows, left_out
