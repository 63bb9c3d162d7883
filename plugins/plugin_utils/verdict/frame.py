# SPDX-License-Identifier: GPL-3.0-or-later
"""Step rows as arrays and pandas frames: which steps count, and the records that go to a file."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...module_utils.logs.record import EVIDENCE, METRICS
from ..contracts import LeftOutSteps, NodePlan, Sample, Status

if t.TYPE_CHECKING:
    from ...module_utils.logs.rows import StepBlock


# Up to here, a float represents every whole number exactly.
LARGEST_COUNT = 2**53
# More than any sensor reads, in any unit.
_LARGEST_READING = 1e18


def without_extremes(statuses: Iterable[Status]) -> list[Status]:
    """Return the statuses without settings that are not numbers or are larger than any count."""
    return [
        {
            **status,
            "trainer": {
                **status["trainer"],
                "settings": {
                    name: [value for value in values if abs(value) <= LARGEST_COUNT]
                    for name, values in status["trainer"]["settings"].items()
                },
            },
        }
        for status in statuses
    ]


def plain_samples(samples: Iterable[Sample]) -> Iterator[Sample]:
    """Yield the samples with each impossible reading replaced by None."""
    for sample in samples:
        yield {**sample, "accelerators": [t.cast("t.Any", _plain(reading)) for reading in sample["accelerators"]]}


def _plain(reading: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {
        name: None if isinstance(value, (int, float)) and not abs(value) <= _LARGEST_READING else value
        for name, value in reading.items()
    }


# Trainers print nothing that they computed in a wider format.
_LARGEST = float(np.finfo(np.float32).max)
# Seconds since 1970, until the year 2286.
_LARGEST_OF = {"clock": 1e10}


@dataclass(frozen=True)
class StepColumns:
    """Steps in their order, one row per attempt and step, as arrays of the same length.

    ``left_out`` is the row's own reason not to count, else empty. ``printed`` tells which rows have a metric; its value
    in ``metrics`` is NaN if the row lacks it, or if the log printed NaN.
    """

    attempt: np.ndarray
    step: np.ndarray
    left_out: np.ndarray
    metrics: dict[str, np.ndarray]
    printed: dict[str, np.ndarray]

    def __len__(self) -> int:
        """Return how many rows there are."""
        return int(self.step.size)


def columns_of(blocks: Iterable[StepBlock]) -> StepColumns:
    """Return the steps of step blocks. A value beyond float32 becomes infinite, as does an impossible time.

    A step is read twice where the log repeats it, or where the run was followed again. The later values count; a value
    that only the earlier row has, because the later line was torn, is kept.
    """
    kept = list(blocks)
    sizes = [len(block["steps"]) for block in kept]
    attempt = np.repeat(np.array([block["attempt"] for block in kept], dtype=np.int64), sizes)
    step = np.array([min(one, LARGEST_COUNT) for block in kept for one in block["steps"]], dtype=np.int64)
    reason = np.repeat(np.array([block.get("left_out", "") for block in kept], dtype=object), sizes)
    order = np.lexsort((step, attempt))
    changes = (np.diff(attempt[order]) != 0) | (np.diff(step[order]) != 0)
    # The row that each line becomes. If several lines become the same row, the last value stays.
    row = np.empty(step.size, dtype=np.int64)
    row[order] = np.cumsum(np.concatenate(([False], changes)))[: step.size]
    size = int(row.max()) + 1 if step.size else 0
    once = np.empty(size, dtype=np.int64)
    once[row] = np.arange(step.size)
    metrics: dict[str, np.ndarray] = {}
    printed: dict[str, np.ndarray] = {}
    begin = 0
    for block, length in zip(kept, sizes, strict=True):
        lines = row[begin : begin + length]
        begin += length
        for name, values in block["metrics"].items():
            if name not in metrics:
                metrics[name], printed[name] = np.full(size, np.nan), np.zeros(size, dtype=bool)
            metrics[name][lines] = values
            printed[name][lines] = True
    for name, column in metrics.items():
        large = np.abs(column) > _LARGEST_OF.get(name, _LARGEST)
        column[large] = np.copysign(np.inf, column[large])
    return StepColumns(attempt[once], step[once], reason[once], metrics, printed)


_STEP_TYPES = {"node": str, "node_rank": int, "attempt": int, "step": int, "counted": bool, "left_out": str}
_RECORD_TYPES = {
    "run_id": str,
    "attempt": int,
    "node": str,
    "node_rank": int,
    "step": int,
    "metric": str,
    "value": float,
    "unit": str,
    "counted": bool,
    "clock": float,
}
_OF_MEASUREMENT = ("attempt", "step", "metric", "value", "counted", "clock")
STEP_COLUMNS, RECORD_COLUMNS = list(_STEP_TYPES), list(_RECORD_TYPES)
WARM_UP, EARLIER_ATTEMPT = "Warm-up.", "An earlier attempt."

Steps = Mapping[str, "StepColumns"]


def steps_frame(nodes: Iterable[NodePlan], steps: Steps, warmup_steps: int) -> pd.DataFrame:
    """Return one row per node, attempt and step: `STEP_COLUMNS`, and a float column per metric that was printed, and
    per name of `EVIDENCE`.

    ``nodes`` are the plan's nodes, ``steps`` the steps by node name. A step is ``counted`` when it belongs to the last
    attempt of its node, at least ``warmup_steps`` of that attempt came before it, and its row has no reason of its own
    not to count. ``left_out`` is the reason if it is not counted, else empty.
    """
    with_steps = [(node, steps[node["node"]]) for node in nodes if node["node"] in steps]
    found = {metric for _node, own in with_steps for metric in own.metrics}
    metrics = [metric for metric in (*METRICS, *EVIDENCE) if metric in found]
    left_out = _joined([_left_out(own, warmup_steps) for _node, own in with_steps])
    columns = {
        **_identity(with_steps, [len(own) for _node, own in with_steps]),
        "attempt": _joined([own.attempt for _node, own in with_steps]),
        "step": _joined([own.step for _node, own in with_steps]),
        "counted": left_out == "",
        "left_out": left_out,
        **{
            metric: _joined([own.metrics.get(metric, np.full(len(own), np.nan)) for _node, own in with_steps])
            for metric in metrics
        },
    }
    return pd.DataFrame(columns).astype(_STEP_TYPES | dict.fromkeys(metrics, float))


def _identity(with_steps: list[tuple[NodePlan, StepColumns]], sizes: list[int]) -> dict[str, np.ndarray]:
    return {
        name: np.repeat(np.array([node[name] for node, _own in with_steps], dtype=object), sizes)
        for name in ("node", "node_rank")
    }


def _joined(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(arrays) if arrays else np.array([], dtype=object)


def _left_out(own: StepColumns, warmup_steps: int) -> np.ndarray:
    """Return why each row of a node is not counted, or an empty text if it is."""
    last = own.attempt == own.attempt[-1:]
    reasons = np.where(own.left_out == "", np.where(np.cumsum(last) <= warmup_steps, WARM_UP, ""), own.left_out)
    return np.where(last, reasons, EARLIER_ATTEMPT).astype(object)


class Rows:
    """Some rows of `steps_frame` in their order, as an array for each column.

    Each check looks at the rows of each node, and a frame takes a hundred times as long to give a column or some rows.
    """

    def __init__(self, columns: Mapping[str, np.ndarray]) -> None:
        self._columns = columns

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self._columns["step"])

    def __contains__(self, name: str) -> bool:
        """Return whether there is such a column."""
        return name in self._columns

    def has(self, *names: str) -> bool:
        """Return whether there are all of these columns."""
        return all(name in self._columns for name in names)

    def __getitem__(self, name: str) -> np.ndarray:
        """Return a column."""
        return self._columns[name]

    def at(self, places: np.ndarray | slice) -> Rows:
        """Return the rows at some places, or where a mask is true."""
        return Rows({name: column[places] for name, column in self._columns.items()})

    def counted(self, *names: str) -> Rows:
        """Return the steps and some columns of the counted rows whose values there are finite."""
        return self.finite(*names, among=self["counted"])

    def finite(self, *names: str, among: np.ndarray | None = None) -> Rows:
        """Return the steps and some columns of the rows whose values there are finite; ``among`` is a mask of rows."""
        there = np.ones(len(self), dtype=bool) if among is None else among
        for name in names:
            there = there & np.isfinite(self[name])
        return Rows({name: self[name][there] for name in ("step", *names)})


def rows_of(steps: pd.DataFrame) -> Rows:
    """Return all rows of a frame."""
    return Rows({str(name): steps[name].to_numpy() for name in steps})


def attempts_of(steps: pd.DataFrame) -> tuple[dict[str, Rows], dict[str, Rows]]:
    """Return the steps of the last attempt and those before it, in their order, of each node that has some, by node.

    Nodes are in their order of appearance.
    """
    last, earlier = {}, {}
    codes, nodes = pd.factorize(steps["node"])
    counts = np.bincount(codes, minlength=len(nodes))
    ends = np.cumsum(counts)
    ordered = rows_of(steps).at(np.argsort(codes, kind="stable"))
    for node, begin, end in zip(map(str, nodes), ends - counts, ends, strict=True):
        attempts = ordered["attempt"][begin:end]
        begin_of_last = begin + int(np.searchsorted(attempts, attempts[-1]))
        last[node], earlier[node] = ordered.at(slice(begin_of_last, end)), ordered.at(slice(begin, begin_of_last))
    return last, earlier


def left_out_of(steps: pd.DataFrame) -> list[LeftOutSteps]:
    """Return why steps do not count: ``reason``, ``steps`` (how many on the node with most of them) and ``nodes``."""
    counts = steps[~steps["counted"]].groupby(["left_out", "node"], sort=False).size()
    reasons = counts.groupby(level="left_out", sort=False).agg(["max", "size"])
    return [
        {"reason": str(reason), "steps": int(most), "nodes": int(nodes)} for reason, most, nodes in reasons.itertuples()
    ]


def records_frame(run_id: str, nodes: Iterable[NodePlan], steps: Steps, warmup_steps: int = 0) -> pd.DataFrame:
    """Return one row per measurement, with the columns `RECORD_COLUMNS`. A value may be NaN or infinite.

    ``counted`` is as in `steps_frame`. ``clock`` is the end of the step, in seconds of the log's own clock; NaN if the
    log does not show it.
    """
    with_steps = [(node, steps[node["node"]]) for node in nodes if node["node"] in steps]
    measured = [_measured(own, warmup_steps) for _node, own in with_steps]
    columns = {
        "run_id": run_id,
        **_identity(with_steps, [values["value"].size for values in measured]),
        **{name: _joined([values[name] for values in measured]) for name in _OF_MEASUREMENT},
    }
    frame = pd.DataFrame(columns)
    frame["unit"] = frame["metric"].map({name: metric.unit for name, metric in METRICS.items()})
    return frame[RECORD_COLUMNS].astype(_RECORD_TYPES)


def _measured(own: StepColumns, warmup_steps: int) -> dict[str, np.ndarray]:
    """Return a node's measurements, step by step."""
    names = [name for name in own.metrics if name in METRICS]
    printed, values = (
        np.stack([columns[name] for name in names], axis=1) if names else np.empty((0, 0))
        for columns in (own.printed, own.metrics)
    )
    rows, which = np.nonzero(printed)
    return {
        "attempt": own.attempt[rows],
        "step": own.step[rows],
        "metric": np.array(names, dtype=object)[which],
        "value": values[rows, which],
        "counted": (_left_out(own, warmup_steps) == "")[rows],
        "clock": own.metrics.get("clock", np.full(len(own), np.nan))[rows],
    }
