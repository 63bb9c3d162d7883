# SPDX-License-Identifier: GPL-3.0-or-later
"""The ledger of a run: for each node, the verdict of each row and its evidence.

A PASS needs evidence in each row of each node. Missing evidence makes a run INCONCLUSIVE, evidence against a PASS is a
reason of the verdict; both name the node and the row.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

import numpy as np

from ...module_utils.logs.record import METRICS
from ..contracts import LedgerOfNode, LedgerRow, Status
from ..run.blame import nobody_is_blamed
from ..text.numbers import number
from ..text.words import counted
from .checks import ROWS
from .first_cause import texts_of
from .judge_network import is_asked, rdma_traffic, traffic_in_words
from .reasons import FAIL, INCONCLUSIVE, PASS, Reasons

if t.TYPE_CHECKING:
    import pandas as pd

    from .seen import Seen

_MOST_CHARACTERS = 100
_OF_STEPS: tuple[LedgerRow, ...] = ("steps", "gaps", "numbers", "skipped", "loss", "workload", "time")


# Rows whose evidence is in logs alone: none is asked for where the facts of the run are complete.
_OUTRANKED: tuple[LedgerRow, ...] = ("sign of life", "failures")


def ledger_of(seen: Seen, agrees: Mapping[str, list[str]], reasons: Reasons) -> list[LedgerOfNode]:
    """Return the ledger; if nothing else keeps a run from a PASS, note each row without evidence.

    ``agrees`` is what agrees with the planned workload, in words and by node.
    """
    against, passes = reasons.of_rows(), reasons.verdict() == PASS
    failures, stopped = _failures_of(seen), _stopped(seen)
    none_of_its_own = _none_of_its_own(seen)
    ledger: list[LedgerOfNode] = []
    for status in seen.statuses:
        node = status["node"]
        rows, agreed = seen.attempts.get(node), ", ".join(agrees[node])
        evidence = _evidence(seen, status) | (
            dict.fromkeys(_OF_STEPS, none_of_its_own) if rows is None else _evidence_of_steps(seen, node, rows)
        )
        if agreed:
            evidence["workload"] = agreed
        entries: LedgerOfNode = {"node": node, "node_rank": status.get("node_rank"), "rows": {}}
        for row in ROWS:
            reason, found = against.get((row, node)) or against.get((row, None)), evidence[row]
            if row == "failures" and node in failures:
                entries["rows"][row] = {"verdict": FAIL, "evidence": failures[node]}
            elif reason:
                entries["rows"][row] = {"verdict": reason["verdict"], "evidence": reason["message"]}
            elif row == "exit status" and node in stopped:
                entries["rows"][row] = {"verdict": INCONCLUSIVE, "evidence": stopped[node]}
            elif found or (row in _OUTRANKED and reasons.complete):
                found = found or "none of its own; the run was seen to train to its end"
                entries["rows"][row] = {"verdict": PASS, "evidence": found}
            else:
                entries["rows"][row] = {"verdict": INCONCLUSIVE, "evidence": "no evidence"}
                if passes:
                    reasons.add_missing(row, node)
        ledger.append(entries)
    return ledger


def _failures_of(seen: Seen) -> dict[str, str]:
    """Return by node, with its class, what the first failure and its echoes found in logs and in the kernel's."""
    first = seen.first
    if not first:
        return {}
    found = {echo["node"]: (echo["class"], echo["message"]) for echo in first["echoes"]}
    found[first["node"]] = (first["class"], first["message"])
    lines = {status["node"]: {text["line"] for text in texts_of(status)} for status in seen.statuses}
    return {node: f"{name}: {line}" for node, (name, line) in found.items() if line in lines[node]}


def _stopped(seen: Seen) -> dict[str, str]:
    """Return by node that it was stopped, if another one failed first."""
    first = seen.first
    if not first or not seen.together or nobody_is_blamed(first):
        return {}
    return {
        status["node"]: f"stopped because {first['node']} failed"
        for status in seen.statuses
        if status["status"] == "stopped" and status["node"] != first["node"]
    }


def _none_of_its_own(seen: Seen) -> str | None:
    """Return in words which rank prints the steps for all nodes; None if every node prints its own, or none does."""
    if not seen.together or not seen.attempts:
        return None
    printed_by = seen.grammar.printed_by.replace("_", " ")
    return f"printed by the {printed_by}, on {', '.join(seen.attempts)}"


def _evidence(seen: Seen, status: Status) -> dict[LedgerRow, str | None]:
    """Return by row the evidence from a node's end and its log, without its steps; None for no evidence."""
    plan, signs, run_id = seen.plan, status.get("signs"), status.get("log_run_id")
    ended_well = status["status"] == "exited" and status.get("exit_status") == 0
    log = f"its first line names run {run_id}" if run_id == plan["run_id"] else None
    sign_of_life = f"prints {signs[0].strip()}" if signs else None
    lines = [line.strip() for line in status.get("last_lines", []) if line.strip()]
    return {
        "exit status": "0" if ended_well else None,
        "log": "named by the user, unlike any other node's log" if plan.get("logs") else log,
        "sign of life": sign_of_life if status.get("last_step") is None else "prints steps",
        "failures": "none after the last step" if status.get("failures_at_end") == [] else None,
        "network": _network(seen, status),
        "last line": lines[-1][:_MOST_CHARACTERS] if lines else None,
    }


def _network(seen: Seen, status: Status) -> str | None:
    """Return which network a node used, by its counters and its log; None if that is not known and has to be."""
    moved = rdma_traffic(seen.plan, status, seen.attempts)
    said = [*([traffic_in_words(moved)] if moved and moved.suffices else []), *(status.get("transports") or ())]
    if said:
        return " and ".join(said)
    if is_asked(seen.plan, seen.statuses):
        return "the logs do not show it" if seen.plan.get("logs") else None
    return "no RDMA is needed"


def _evidence_of_steps(seen: Seen, node: str, rows: pd.DataFrame) -> dict[LedgerRow, str | None]:
    """Return by row the evidence from a node's steps; None for no evidence."""
    first, last = rows["step"].iloc[0], rows["step"].iloc[-1]
    values = sum(np.count_nonzero(~np.isnan(rows[metric].to_numpy())) for metric in METRICS if metric in rows)
    skipped = "this trainer does not report them"
    if "skipped_iterations" in rows:
        skipped = f"{rows['skipped_iterations'].sum():g} of {counted(len(rows), 'iteration')}"
    trend, loss = seen.trends.get(node), None
    if trend:
        loss = f"{trend['direction']}: {trend['first_loss']:.4g} to {trend['last_loss']:.4g}"
        if trend["last_step"] != last:
            loss += f", none after step {trend['last_step']}"
    time = seen.times.get(node)
    times: str | None = "fewer than two counted step times"
    if time:
        wall = f", wall clock {number(time['wall_clock'])}" if time["wall_clock"] else ""
        is_known = np.isfinite(time["mean"])
        times = f"median {number(time['median'])}, mean {number(time['mean'])}{wall} ms" if is_known else None
    return {
        "steps": f"{first} to {last} of {seen.reached.goal}",
        "gaps": f"{counted(len(rows), 'step')} in a row, with their losses",
        "numbers": f"{values} values, all finite",
        "skipped": skipped,
        "loss": loss,
        "workload": "no sizes in the log",
        "time": times,
    }
