# SPDX-License-Identifier: GPL-3.0-or-later
"""The summary of a run as one row, always with the same columns, so that the rows of many runs form a table."""

from __future__ import annotations

import typing as t

from ....module_utils.logs.record import ALL_METRICS
from ..files import csv_text
from ..headline import headline

if t.TYPE_CHECKING:
    from .judged_run import JudgedRun

_OF_RUN = ("run_id", "framework", "mode", "model", "gpu", "rehearsal", "verdict")
_OF_PARAMETERS = (
    "gpus_per_node",
    "precision",
    "global_batch_size",
    "micro_batch_size",
    "sequence_length",
    "tensor_parallelism",
    "pipeline_parallelism",
    "iterations",
)
# A metric's columns, after its name: the worst node's value, the spread over all nodes, and the threshold.
_OF_METRIC = ("value", "value_node", "median", "p05", "p95", "samples", "threshold", "met")


def summary_csv(run: JudgedRun) -> str:
    """Return a CSV file of a header and one row. ``reasons`` are the codes; an unknown value is empty.

    ``headline`` is the outcome of the run in one sentence. ``regression_metric`` and ``regression_percent`` describe a
    proven regression. A metric's columns are ``<metric>_<column>``, in the metric's unit.
    """
    summary, parameters = run.summary, run.parameters
    failure, regression = summary["first_failure"], summary.get("regression")
    row: dict[str, t.Any] = {
        **{name: value for name, value in summary.items() if name in _OF_RUN},
        "headline": headline(summary),
        "reasons": " ".join(reason["code"] for reason in summary["reasons"]),
        "first_failure_node": failure and failure["node"],
        "first_failure_class": failure and failure["class"],
        "started_at": summary["started_at"],
        "ended_at": summary["ended_at"],
        "seconds": run.seconds,
        "nodes": len(summary["nodes"]),
        **{name: parameters.get(name) for name in _OF_PARAMETERS},
        "image": run.image,
        "image_digest": run.image_digest,
        "config_file": run.plan.get("config_file"),
        "warmup_steps": summary["warmup_steps"],
        "mfu": summary["mfu"],
        "regression_metric": regression and regression["metric"],
        "regression_percent": regression and regression["percent"],
    }
    for metric in ALL_METRICS:
        found = summary["metrics"].get(metric)
        row |= {f"{metric}_{column}": found.get(column) if found else None for column in _OF_METRIC}
    return csv_text(row, [row])
