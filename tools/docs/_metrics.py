# SPDX-License-Identifier: GPL-3.0-or-later
"""The values of the page of metrics: each metric of a step or of the run, with its names elsewhere."""

from __future__ import annotations

import typing as t

from ansible_collections.trainops.cluster.plugins.module_utils.logs.record import METRICS, METRICS_OF_RUN, Metric
from ansible_collections.trainops.cluster.plugins.plugin_utils.metrics import ROWS

from ._tables import code

_BETTER = {"higher": "more", "lower": "less", "none": ""}


def values() -> dict[str, t.Any]:
    """Return the tables of the page, each by its heading."""
    return {"tables": {"Of each step": _table(METRICS), "Of the run": _table(METRICS_OF_RUN)}}


def _table(metrics: dict[str, Metric]) -> str:
    rows = [["metric", "is the", "unit", "better", "statistic", "`result_dict`", "thresholds files", "OpenMetrics"]]
    for name, metric in metrics.items():
        row = ROWS[name]
        family = f"{row.family.name}_{row.family.unit}".rstrip("_")
        known, others = (*row.aliases, name) if row.expected else (), (*row.aliases, *row.keys)
        rows.append(
            [
                *(code(name), row.name, metric.unit, _BETTER[metric.better], metric.statistic),
                *(", ".join(map(code, names)) for names in (known, others)),
                code(family),
            ]
        )
    lines = [" | ".join(row) for row in rows]
    return "\n".join(f"| {line} |" for line in [lines[0], " | ".join("---" for _ in rows[0]), *lines[1:]])
