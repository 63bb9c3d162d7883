# SPDX-License-Identifier: GPL-3.0-or-later
"""What the accelerators' sensors said during a run, as a frame and as rows of the page."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping

import pandas as pd

from ..contracts import Sample

_COLUMNS = ["node", "time", "accelerator", "temperature", "power", "clock", "ecc_uncorrected"]
Row = dict[str, t.Any]


def telemetry_frame(samples: Mapping[str, Iterable[Sample]]) -> pd.DataFrame:
    """Return a row for each reading: ``node``, ``time`` (since the epoch), ``accelerator`` (its number), and values."""
    rows = [
        {"node": node, "time": sample["time"], "accelerator": number, **reading}
        for node, of_node in samples.items()
        for sample in of_node
        for number, reading in enumerate(sample["accelerators"])
    ]
    return pd.DataFrame(rows, columns=_COLUMNS)


def telemetry_rows(frame: pd.DataFrame) -> list[Row]:
    """Return a row for each node, the hottest first.

    ``temperature`` is the highest in degrees Celsius and ``hottest`` the accelerator that had it, ``power`` the mean of
    the node's sum in W, ``clock`` the median in MHz, ``ecc_uncorrected`` how many errors were counted since the first
    sample; None is not known.
    """
    rows = [_row(str(node), of_node) for node, of_node in frame.groupby("node", sort=False)]
    return sorted(rows, key=lambda row: -(row["temperature"] or 0.0))


def _row(node: str, frame: pd.DataFrame) -> Row:
    hottest = frame.set_index("accelerator")["temperature"].astype(float).groupby(level=0).max()
    errors = frame.groupby("accelerator")["ecc_uncorrected"].agg(lambda counts: counts.max() - counts.min())
    return {
        "node": node,
        "samples": frame["time"].nunique(),
        "temperature": _known(hottest.max()),
        "hottest": None if hottest.isna().all() else int(str(hottest.idxmax())),
        "power": _known(frame.groupby("time")["power"].sum(min_count=1).mean()),
        "clock": _known(frame["clock"].astype(float).median()),
        "ecc_uncorrected": _known(errors.astype(float).sum(min_count=1)),
    }


def _known(value: float) -> float | None:
    return None if pd.isna(value) else float(value)
