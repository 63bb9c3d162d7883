# SPDX-License-Identifier: GPL-3.0-or-later
"""The essence of a summary: small enough for the artifacts of a job, which AWX keeps in its database."""

from __future__ import annotations

import typing as t

from ..contracts import Summary
from .headline import headline
from .messages import messages_of

_MOST_REASONS = 10
_OF_RUN = (
    *("run_id", "framework", "mode", "model", "gpu", "rehearsal", "retry"),
    *("verdict", "started_at", "ended_at", "mfu"),
)
_OF_METRIC = ("value", "unit", "statistic", "threshold", "direction", "met")
_OF_FAILURE = ("node", "node_rank", "class", "message", "remedy")


def essence(summary: Summary, report: str) -> dict[str, t.Any]:
    """Return what became of a run, without what grows with its nodes and steps.

    Holds ``run_id``, ``framework``, ``mode``, ``model``, ``gpu``, ``rehearsal``, ``retry``, ``verdict``, ``started_at``
    and ``ended_at`` (seconds since the epoch), ``mfu``, ``nodes`` (how many), ``reasons`` (sentences, at most ten),
    ``metrics`` (of each its value, unit, statistic and threshold), ``first_failure``, ``regression`` (null unless one
    is proven), ``headline`` (what the run came to, in one sentence) and ``report`` (the page's path).
    """
    failure = summary["first_failure"]
    return {
        **{name: value for name, value in summary.items() if name in _OF_RUN},
        "nodes": len(summary["nodes"]),
        "reasons": messages_of(summary["reasons"])[:_MOST_REASONS],
        "metrics": {
            metric: {name: found.get(name) for name in _OF_METRIC} for metric, found in summary["metrics"].items()
        },
        "first_failure": {name: value for name, value in failure.items() if name in _OF_FAILURE} if failure else None,
        "regression": summary.get("regression"),
        "headline": headline(summary),
        "report": report,
    }
