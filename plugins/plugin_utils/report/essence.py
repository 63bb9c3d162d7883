# SPDX-License-Identifier: GPL-3.0-or-later
"""The essence of a summary: small enough for a job's artifacts, which AWX keeps in its database."""

from __future__ import annotations

import typing as t

from ..contracts import FirstFailure, NodeSummary, Summary, Verdict
from ..run.blame import nobody_is_blamed
from .failures import findings_of, messages_of
from .headline import headline

_FROM_BAD_TO_GOOD: tuple[Verdict, ...] = ("ERROR", "FAIL", "INCONCLUSIVE", "PASS")
_MOST_REASONS = 10
_OF_RUN = (
    *("run_id", "framework", "mode", "model", "gpu", "rehearsal", "retry"),
    *("verdict", "started_at", "ended_at", "mfu"),
)
_OF_METRIC = ("value", "unit", "statistic", "threshold", "direction", "met")
_OF_FAILURE = ("node", "node_rank", "class", "case", "values", "message", "remedy")


def essence(summary: Summary, report: str) -> dict[str, t.Any]:
    """Return the outcome of a run, without the parts that grow with its nodes and steps.

    Contains ``run_id``, ``framework``, ``mode``, ``model``, ``gpu``, ``rehearsal``, ``retry``, ``verdict``,
    ``started_at`` and ``ended_at`` (seconds since the epoch), ``mfu``, ``nodes`` (how many), ``reasons`` (sentences, at
    most ten), ``findings`` (the same for programs: see `failures.findings_of`), ``metrics`` (of each its value, unit,
    statistic and threshold), ``first_failure`` (without ``node`` if a run hung and nothing shows which node hung
    first), ``regression`` (null unless one is proven), ``isolate`` (why tests of the nodes are proposed, and their
    command; null if they are not), ``headline`` (the outcome, in one sentence) and ``report`` (the page's path).
    """
    failure = summary["first_failure"]
    return {
        **{name: value for name, value in summary.items() if name in _OF_RUN},
        "nodes": len(summary["nodes"]),
        "reasons": messages_of(summary["reasons"])[:_MOST_REASONS],
        "findings": findings_of(summary["reasons"], _MOST_REASONS),
        "metrics": {
            metric: {name: found.get(name) for name in _OF_METRIC} for metric, found in summary["metrics"].items()
        },
        "first_failure": _of_failure(failure) if failure else None,
        "regression": summary.get("regression"),
        "isolate": summary.get("isolate"),
        "headline": headline(summary),
        "report": report,
    }


def _of_failure(failure: FirstFailure) -> dict[str, t.Any]:
    # Automation for a failed node must not pick an arbitrary node if all hung.
    unknown = ("node", "node_rank") if nobody_is_blamed(failure) else ()
    return {name: value for name, value in failure.items() if name in _OF_FAILURE and name not in unknown}


def nodes_of(summary: Summary) -> list[dict[str, t.Any]]:
    """Return the outcome of each node of a run, in rank order, for the facts of its host.

    Each contains ``node``, ``run_id``, ``node_rank``, ``verdict`` (the worst of its rows in the ledger),
    ``run_verdict``, ``state``, ``exit_code``, ``last_step``, ``tokens_per_sec_per_gpu`` and ``step_time_ms`` (its own,
    null if not measured), and ``first_failure`` (whether it made the run fail).
    """
    verdicts = {one["node"]: {entry["verdict"] for entry in one["rows"].values()} for one in summary["ledger"]}
    failure = summary["first_failure"]
    return [
        {
            "node": node["node"],
            "run_id": summary["run_id"],
            "node_rank": node["node_rank"],
            "verdict": _worst(verdicts.get(node["node"], set()), failed=_failed_of(failure, node["node"])),
            "run_verdict": summary["verdict"],
            "state": node["state"],
            "exit_code": node["exit_code"],
            "last_step": node["last_step"],
            "tokens_per_sec_per_gpu": _measured(node, "tokens_per_sec_per_gpu"),
            "step_time_ms": _measured(node, "step_time_ms"),
            "first_failure": _failed_of(failure, node["node"]),
        }
        for node in summary["nodes"]
    ]


def _worst(verdicts: set[Verdict], *, failed: bool) -> Verdict:
    """Return the worst verdict of a node's rows; a node that made the run fail (``failed``) never passes."""
    worst: Verdict = next((verdict for verdict in _FROM_BAD_TO_GOOD if verdict in verdicts), "INCONCLUSIVE")
    return "FAIL" if failed and worst in ("PASS", "INCONCLUSIVE") else worst


def _failed_of(failure: FirstFailure | None, node: str) -> bool:
    return failure is not None and failure["node"] == node and not nobody_is_blamed(failure)


def _measured(node: NodeSummary, metric: str) -> float | None:
    found = node["metrics"].get(metric)
    return found["value"] if found else None
