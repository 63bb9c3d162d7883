# SPDX-License-Identifier: GPL-3.0-or-later
"""Step rows as pandas frames: which steps count, and the records that go to a file."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from ...module_utils.logs.record import EVIDENCE, METRICS
from ..contracts import LeftOutSteps, NodePlan

if t.TYPE_CHECKING:
    from .columns import StepColumns

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

    ``nodes`` are those of the plan, ``steps`` the steps by node name. A step is ``counted`` when it belongs to the
    last attempt of its node, at least ``warmup_steps`` of that attempt came before it, and its row has no reason of its
    own to be left out. ``left_out`` is the reason where it is not counted, else empty.
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
    """Return why each row of a node is not counted, empty where it is."""
    last = own.attempt == own.attempt[-1:]
    reasons = np.where(own.left_out == "", np.where(np.cumsum(last) <= warmup_steps, WARM_UP, ""), own.left_out)
    return np.where(last, reasons, EARLIER_ATTEMPT).astype(object)


def rows_of_nodes(steps: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return the places of each node's rows in a frame, in their order; nodes in the order in which they appear."""
    codes, nodes = pd.factorize(steps["node"])
    ends = np.cumsum(np.bincount(codes, minlength=len(nodes)))[:-1]
    return dict(zip(map(str, nodes), np.split(np.argsort(codes, kind="stable"), ends), strict=False))


def attempts_of(steps: pd.DataFrame) -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]:
    """Return the steps of the last attempt and those before it, in their order, of each node that has some, by node."""
    last, earlier = {}, {}
    attempts = steps["attempt"].to_numpy()
    for node, rows in rows_of_nodes(steps).items():
        before = int(np.searchsorted(attempts[rows], attempts[rows[-1]]))
        last[node], earlier[node] = steps.iloc[rows[before:]], steps.iloc[rows[:before]]
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

    ``counted`` is that of the step in `steps_frame`, ``clock`` when the log says that the step ended, in seconds of its
    own clock, and NaN where it does not.
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
    """Return what a node measured, step by step."""
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
