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


def steps_frame(
    nodes: Iterable[Mapping[str, t.Any]], steps: Mapping[str, Iterable[dict[str, t.Any]]], warmup_steps: int
) -> pd.DataFrame:
    """Return one row per node, attempt and step: `STEP_COLUMNS`, and a float column per metric that was printed.

    ``nodes`` are those of the plan, ``steps`` the step rows by node name; of a step that was read twice the last row
    holds. A step is ``counted`` when it belongs to the last attempt of its node and at least ``warmup_steps`` of that
    attempt came before it: the first step compiles and allocates, and the second value that Megatron core 0.16 and
    later print is the mean of both.
    """
    rows = []
    for node in nodes:
        unique = {(row["attempt"], row["step"]): row for row in steps.get(node["node"], ())}
        last_attempt = max((attempt for attempt, _ in unique), default=1)
        seen = 0
        for (attempt, step), row in sorted(unique.items()):
            seen = seen + 1 if attempt == last_attempt else 0
            identity = {"node": node["node"], "node_rank": node["node_rank"], "attempt": attempt, "step": step}
            rows.append({**identity, "counted": seen > warmup_steps, **row["metrics"]})
    frame = pd.DataFrame(rows)
    metrics = [metric for metric in METRICS if metric in frame.columns]
    return frame.reindex(columns=[*STEP_COLUMNS, *metrics])


def records_frame(
    run_id: str, nodes: Iterable[Mapping[str, t.Any]], steps: Mapping[str, Iterable[dict[str, t.Any]]]
) -> pd.DataFrame:
    """Return one row per measurement, with the columns `RECORD_COLUMNS`."""
    rows = []
    for node in nodes:
        unique = {(row["attempt"], row["step"]): row for row in steps.get(node["node"], ())}
        identity = {"run_id": run_id, "node": node["node"], "node_rank": node["node_rank"]}
        rows += [{**identity, **record} for record in records_of(row for _, row in sorted(unique.items()))]
    return pd.DataFrame(rows, columns=RECORD_COLUMNS)
