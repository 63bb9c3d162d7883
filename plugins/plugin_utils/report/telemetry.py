# SPDX-License-Identifier: GPL-3.0-or-later
"""The accelerators' sensor readings during a run, as a frame, as rows of the page, and as plots over time."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from ..contracts import Sample
from .drawing import Chart, around
from .plots import MAX_COLOURED_NODES, MAX_MARKERS, MAX_POINTS, Trace, pieces_of, traces

if t.TYPE_CHECKING:
    from markupsafe import Markup

# The plotted values of a node's accelerators together: title and unit.
_PLOTTED = {
    "temperature": ("Temperature of the hottest accelerator (°C)", "°C"),
    "power": ("Power of all accelerators of a node (W)", "W"),
    "clock": ("Clock of the slowest accelerator (MHz)", "MHz"),
    "ecc_uncorrected": ("Uncorrectable ECC errors since the first sample", "errors"),
}
_COLUMNS = (
    *("temperature", "power", "power_limit", "clock", "clock_limit", "utilization", "memory_used", "memory_total"),
    *("ecc_corrected", "ecc_uncorrected", "ecc_uncorrected_ever"),
)
_REASONS = "held_down_by"
_BETWEEN = "; "
# At so many times the usual distance between samples, some are missing.
_GAP = 4.0
# From this utilization on (percent), an accelerator computes, and its clock is meaningful.
_BUSY = 50.0
# If the driver gives no reason for a reduced clock, power above this share of the cap means that the cap is the reason.
_AT_THE_CAP = 0.98
# Not of interest: an idle accelerator's clocks, and clocks that somebody set on purpose.
_ORDINARY = frozenset({"idle", "application clocks", "sync boost", "display clocks"})
_IN_WORDS = {
    "power cap": "the power cap",
    "thermal": "temperature",
    "power brake": "the power supply",
    "hardware slowdown": "the hardware",
}
Row = dict[str, t.Any]


def telemetry_frame(samples: Mapping[str, Iterable[Sample]]) -> pd.DataFrame:
    """Return a row for each reading: ``node``, ``time`` (since the epoch), ``accelerator`` (its number), and values.

    ``held_down_by`` has the reasons as one text. Values that an earlier release did not sample are missing.
    """
    rows = [
        (node, sample["time"], number, *map(reading.get, _COLUMNS), _joined(reading.get("held_down_by")))
        for node, of_node in samples.items()
        for sample in of_node
        for number, reading in enumerate(sample["accelerators"])
    ]
    return pd.DataFrame(rows, columns=["node", "time", "accelerator", *_COLUMNS, _REASONS])


def _joined(reasons: list[str] | None) -> str | None:
    return None if reasons is None else _BETWEEN.join(reasons)


def telemetry_rows(frame: pd.DataFrame) -> list[Row]:
    """Return a row for each node, the hottest first.

    ``temperature`` is the highest in degrees Celsius and ``hottest`` the accelerator that had it, ``power`` the mean of
    the node's sum in W, ``clock`` the median in MHz, ``ecc_uncorrected`` and ``ecc_corrected`` count errors since the
    first sample, ``memory`` the largest used share of an accelerator's memory, and ``pace`` explains the clocks of busy
    accelerators in words. None means unknown.
    """
    rows = [_row(str(node), of_node) for node, of_node in frame.groupby("node", sort=False)]
    return sorted(rows, key=lambda row: -(row["temperature"] or 0.0))


def telemetry_plots(frame: pd.DataFrame) -> tuple[list[tuple[str, Markup]], list[Trace]]:
    """Return title and chart of each value that some node reported and that is not always 0, and the nodes' traces."""
    nodes = frame.drop_duplicates("node")[["node"]]
    looks = traces(nodes.assign(node_rank=range(len(nodes))))
    errors = frame["ecc_uncorrected"].astype(float)
    told = frame.astype(dict.fromkeys(_PLOTTED, float)).assign(
        minute=(frame["time"] - frame["time"].min()) / 60,
        ecc_uncorrected=errors - errors.groupby([frame["node"], frame["accelerator"]]).transform("min"),
    )
    samples = told.groupby(["node", "minute"], sort=False)
    values = pd.DataFrame(
        {
            "temperature": samples["temperature"].max(),
            "power": samples["power"].sum(min_count=1),
            "clock": samples["clock"].min(),
            "ecc_uncorrected": samples["ecc_uncorrected"].sum(min_count=1),
        }
    ).reset_index()
    plotted = [name for name in _PLOTTED if values[name].fillna(0).any()]
    return [(_PLOTTED[name][0], _chart(values, name, looks)) for name in plotted], looks


def _chart(values: pd.DataFrame, name: str, looks: list[Trace]) -> Markup:
    title, unit = _PLOTTED[name]
    known = values.dropna(subset=[name])
    minutes = (0.0, max(float(values["minute"].max()), 1.0))
    chart = Chart(minutes, around(known[name]), "minutes since the first sample", title, unit=unit, x_name="minute")
    chart.axes()
    many = len(looks) > MAX_COLOURED_NODES
    of_nodes = {node: rows.sort_values("minute") for node, rows in known.groupby("node", sort=False)}
    for look in (look for look in looks if look.node in of_nodes):
        rows = of_nodes[look.node]
        pieces = _pieces(rows["minute"].to_numpy(), rows[name].to_numpy(), max(4, MAX_POINTS // len(looks)))
        chart.line(pieces, look.colour, width=1 if many else 2, opacity=0.35 if many else 0.9, name=look.node)
        if len(known) <= MAX_MARKERS:
            chart.dots([point for piece in pieces for point in piece], look.colour, 4)
    return chart.html(200, labelled=False)


def _pieces(minutes: np.ndarray, values: np.ndarray, limit: int) -> list[list[tuple[float, float]]]:
    """Return a line in pieces: it breaks where samples are missing."""
    apart = np.diff(minutes, prepend=minutes[0])
    places = np.arange(len(minutes)) + np.cumsum(apart > _GAP * np.median(apart[1:] if len(apart) > 1 else apart))
    minute_of = dict(zip(places.tolist(), minutes.tolist(), strict=True))
    return [[(minute_of[place], value) for place, value in piece] for piece in pieces_of(places, values, limit)]


def _row(node: str, frame: pd.DataFrame) -> Row:
    hottest = frame.set_index("accelerator")["temperature"].astype(float).groupby(level=0).max()
    used = frame["memory_used"].astype(float) / frame["memory_total"].astype(float)
    return {
        "node": node,
        "samples": frame["time"].nunique(),
        "temperature": _known(hottest.max()),
        "hottest": None if hottest.isna().all() else int(str(hottest.idxmax())),
        "power": _known(frame.groupby("time")["power"].sum(min_count=1).mean()),
        "clock": _known(frame["clock"].astype(float).median()),
        "ecc_uncorrected": _new_errors(frame, "ecc_uncorrected"),
        "ecc_corrected": _new_errors(frame, "ecc_corrected"),
        "memory": _known(used.max()),
        "pace": pace_in_words(frame),
    }


def _new_errors(frame: pd.DataFrame, name: str) -> float | None:
    counts = frame[name].astype(float).groupby(frame["accelerator"])
    return _known((counts.max() - counts.min()).sum(min_count=1))


def pace_in_words(frame: pd.DataFrame) -> str | None:
    """Return in words how fast a node's busy accelerators ran and why not faster; None if unknown.

    For example: ``1,500 to 1,830 MHz of 1,980, held down by the power cap of 700 W``.
    """
    busy = frame[frame["utilization"].astype(float).fillna(100.0) >= _BUSY]
    clocks = busy["clock"].astype(float).dropna()
    if clocks.empty:
        return None
    low, high = clocks.min(), clocks.max()
    words = f"{low:,.0f} MHz" if f"{low:.0f}" == f"{high:.0f}" else f"{low:,.0f} to {high:,.0f} MHz"
    limit = busy["clock_limit"].astype(float).max()
    if pd.isna(limit):
        return words
    reasons = _held_down_by(busy) if low < limit else []
    return f"{words} of {limit:,.0f}" + (f", held down by {' and '.join(reasons)}" if reasons else "")


def _held_down_by(busy: pd.DataFrame) -> list[str]:
    """Return in words the reasons for reduced clocks of accelerators, most frequent first."""
    said = busy[_REASONS].dropna()
    counts = said[said != ""].str.split(_BETWEEN).explode().value_counts()
    reasons = [str(reason) for reason in counts.index if reason not in _ORDINARY]
    cap = busy["power_limit"].astype(float).max()
    if said.empty and (busy["power"].astype(float) >= _AT_THE_CAP * busy["power_limit"].astype(float)).any():
        reasons = ["power cap"]
    of_cap = "" if pd.isna(cap) else f" of {cap:,.0f} W"
    return [_IN_WORDS.get(reason, reason) + (of_cap if reason == "power cap" else "") for reason in reasons]


def _known(value: float) -> float | None:
    return None if pd.isna(value) else float(value)
