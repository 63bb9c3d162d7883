# SPDX-License-Identifier: GPL-3.0-or-later
"""Step rows as pandas frames: which steps count, and the records that go to a file."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping

import pandas as pd

from ...module_utils.logs.record import EVIDENCE, METRICS, records_of

RECORD_COLUMNS = ["run_id", "attempt", "node", "node_rank", "step", "metric", "value", "unit"]
STEP_COLUMNS = ["node", "node_rank", "attempt", "step", "counted", "left_out"]
WARM_UP, EARLIER_ATTEMPT = "Warm-up.", "An earlier attempt."

_STEP_TYPES = {"node_rank": int, "attempt": int, "step": int, "counted": bool, "left_out": str}
_RECORD_TYPES = {"attempt": int, "node_rank": int, "step": int, "value": float}

Steps = Mapping[str, Iterable[dict[str, t.Any]]]


def last_attempts(nodes: Iterable[Mapping[str, t.Any]], steps: Steps) -> dict[str, list[dict[str, t.Any]]]:
    """Return the step rows of the last attempt of each node in their order, by node; ``steps`` are all that were read.

    A node without a step is not there.
    """
    own = {node["node"]: _one_of_each(steps.get(node["node"], ())) for node in nodes}
    return {node: [row for row in rows if row["attempt"] == rows[-1]["attempt"]] for node, rows in own.items() if rows}


def steps_frame(nodes: Iterable[Mapping[str, t.Any]], steps: Steps, warmup_steps: int) -> pd.DataFrame:
    """Return one row per node, attempt and step: `STEP_COLUMNS`, and a float column per metric that was printed, and
    per name of `EVIDENCE`.

    ``nodes`` are those of the plan, ``steps`` the step rows by node name. A step is ``counted`` when it belongs to the
    last attempt of its node, at least ``warmup_steps`` of that attempt came before it, and its row has no reason of its
    own to be left out. ``left_out`` is the reason where it is not counted, else empty. Raises ValueError for a negative
    ``warmup_steps``.
    """
    if warmup_steps < 0:
        raise ValueError(f"warmup_steps is {warmup_steps}, but must be 0 or more")
    rows = []
    for node in nodes:
        own = _one_of_each(steps.get(node["node"], ()))
        last_attempt = own[-1]["attempt"] if own else 1
        seen = 0
        for row in own:
            reason = EARLIER_ATTEMPT
            if row["attempt"] == last_attempt:
                seen += 1
                reason = row.get("left_out") or (WARM_UP if seen <= warmup_steps else "")
            identity = {"node": node["node"], "node_rank": node["node_rank"]}
            counted = {"attempt": row["attempt"], "step": row["step"], "counted": not reason, "left_out": reason}
            rows.append({**identity, **counted, **row["metrics"]})
    frame = pd.DataFrame(rows)
    metrics = [metric for metric in (*METRICS, *EVIDENCE) if metric in frame.columns]
    return frame.reindex(columns=[*STEP_COLUMNS, *metrics]).astype(_STEP_TYPES | dict.fromkeys(metrics, float))


def attempts_of(steps: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the steps of the last attempt of each node that has some, in their order, by node."""
    return {str(node): own[own["attempt"] == own["attempt"].max()] for node, own in steps.groupby("node", sort=False)}


def left_out_of(steps: pd.DataFrame) -> list[dict[str, t.Any]]:
    """Return why steps do not count: ``reason``, ``steps`` (how many on the node with most of them) and ``nodes``."""
    counts = steps[~steps["counted"]].groupby(["left_out", "node"], sort=False).size()
    reasons = counts.groupby(level="left_out", sort=False).agg(["max", "size"])
    return [
        {"reason": str(reason), "steps": int(most), "nodes": int(nodes)} for reason, most, nodes in reasons.itertuples()
    ]


def records_frame(run_id: str, nodes: Iterable[Mapping[str, t.Any]], steps: Steps) -> pd.DataFrame:
    """Return one row per measurement, with the columns `RECORD_COLUMNS`. A value may be NaN or infinite."""
    rows = []
    for node in nodes:
        identity = {"run_id": run_id, "node": node["node"], "node_rank": node["node_rank"]}
        rows += [{**identity, **record} for record in records_of(_one_of_each(steps.get(node["node"], ())))]
    return pd.DataFrame(rows, columns=RECORD_COLUMNS).astype(_RECORD_TYPES)


def _one_of_each(rows: Iterable[dict[str, t.Any]]) -> list[dict[str, t.Any]]:
    """Return one row per attempt and step, in their order.

    A step is read twice where the log repeats it, or where the run was followed again. Its later values count, but one
    that the later row lacks, as its line was torn, is not lost.
    """
    found: dict[tuple[int, int], dict[str, t.Any]] = {}
    for row in rows:
        key = (row["attempt"], row["step"])
        earlier = found[key]["metrics"] if key in found else {}
        found[key] = {**row, "metrics": {**earlier, **row["metrics"]}}
    return [row for _place, row in sorted(found.items())]
