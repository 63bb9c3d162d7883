# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Step rows as pandas frames: which steps count, and the records that go to a file."""

from __future__ import annotations

import typing as t

import pandas as pd

from ansible_collections.trainops.cluster.plugins.module_utils.logs._record import METRICS, records_of

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

RECORD_COLUMNS = ["run_id", "attempt", "node", "node_rank", "step", "metric", "value", "unit"]
STEP_COLUMNS = ["node", "node_rank", "attempt", "step", "counted"]

_STEP_TYPES = {"node_rank": int, "attempt": int, "step": int, "counted": bool}
_RECORD_TYPES = {"attempt": int, "node_rank": int, "step": int, "value": float}


def steps_frame(
    nodes: Iterable[Mapping[str, t.Any]], steps: Mapping[str, Iterable[dict[str, t.Any]]], warmup_steps: int
) -> pd.DataFrame:
    """Return one row per node, attempt and step: `STEP_COLUMNS`, and a float column per metric that was printed.

    ``nodes`` are those of the plan, ``steps`` the step rows by node name. A step is ``counted`` when it belongs to the
    last attempt of its node and at least ``warmup_steps`` of that attempt came before it: the first step compiles and
    allocates, and the second value that Megatron core 0.16 and later print is the mean of both. Raises ValueError for
    a negative ``warmup_steps``.
    """
    if warmup_steps < 0:
        raise ValueError(f"warmup_steps is {warmup_steps}, but must be 0 or more")
    rows = []
    for node in nodes:
        own = _one_of_each(steps.get(node["node"], ()))
        last_attempt = own[-1]["attempt"] if own else 1
        seen = 0
        for row in own:
            seen = seen + 1 if row["attempt"] == last_attempt else 0
            identity = {"node": node["node"], "node_rank": node["node_rank"]}
            counted = {"attempt": row["attempt"], "step": row["step"], "counted": seen > warmup_steps}
            rows.append({**identity, **counted, **row["metrics"]})
    frame = pd.DataFrame(rows)
    metrics = [metric for metric in METRICS if metric in frame.columns]
    return frame.reindex(columns=[*STEP_COLUMNS, *metrics]).astype(_STEP_TYPES | dict.fromkeys(metrics, float))


def records_frame(
    run_id: str, nodes: Iterable[Mapping[str, t.Any]], steps: Mapping[str, Iterable[dict[str, t.Any]]]
) -> pd.DataFrame:
    """Return one row per measurement, with the columns `RECORD_COLUMNS`. A value may be NaN or infinite."""
    rows = []
    for node in nodes:
        identity = {"run_id": run_id, "node": node["node"], "node_rank": node["node_rank"]}
        rows += [{**identity, **record} for record in records_of(_one_of_each(steps.get(node["node"], ())))]
    return pd.DataFrame(rows, columns=RECORD_COLUMNS).astype(_RECORD_TYPES)


def _one_of_each(rows: Iterable[dict[str, t.Any]]) -> list[dict[str, t.Any]]:
    """Return one row per attempt and step, in their order.

    A step is read twice where the log repeats it, or where the run was followed anew. Its later values count, but one
    that the later row lacks, as its line was torn, is not lost.
    """
    found: dict[tuple[int, int], dict[str, t.Any]] = {}
    for row in rows:
        key = (row["attempt"], row["step"])
        earlier = found[key]["metrics"] if key in found else {}
        found[key] = {**row, "metrics": {**earlier, **row["metrics"]}}
    return [row for _place, row in sorted(found.items())]
