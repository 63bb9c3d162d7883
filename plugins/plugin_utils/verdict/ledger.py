# SPDX-License-Identifier: GPL-3.0-or-later
"""The ledger of a run: for each node, the verdict of each row and its evidence.

A PASS needs evidence in each row of each node. Missing evidence makes a run INCONCLUSIVE; evidence against a PASS
becomes a reason of the verdict. Both give the node and the row.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

import numpy as np

from ...module_utils.logs.record import METRICS
from ..contracts import Echo, LedgerEntry, LedgerOfNode, LedgerRow, Reason, Status, Verdict
from ..run.blame import nobody_is_blamed
from ..run.status import ended_well
from ..text.catalogue import PROOFS
from ..text.sentences import filled
from .checks import ROWS
from .first_cause import texts_of
from .reasons import FAIL, INCONCLUSIVE, PASS, Reasons, as_json

if t.TYPE_CHECKING:
    from .frame import Rows
    from .seen import Seen

_MOST_CHARACTERS = 100
_OF_STEPS: tuple[LedgerRow, ...] = ("steps", "gaps", "numbers", "skipped", "loss", "workload", "time")


# Rows whose evidence comes from logs alone: not required if the facts of the run are complete.
_OUTRANKED: tuple[LedgerRow, ...] = ("sign of life", "failures")


class Proof(t.NamedTuple):
    """What shows that a row of a node is fulfilled: the case and the values of its sentence in `text.catalogue`."""

    case: str
    values: dict[str, t.Any]


def _proof(case: str = "", **values: t.Any) -> Proof:
    return Proof(case, values)


def ledger_of(seen: Seen, agrees: Mapping[str, list[str]], reasons: Reasons) -> list[LedgerOfNode]:
    """Return the ledger; if nothing else prevents a PASS, note each row without evidence.

    ``agrees`` has the numbers that agree with the planned workload, in words and by node.
    """
    against, passes = reasons.of_rows(), reasons.verdict() == PASS
    failures, stopped = _failures_of(seen), _stopped(seen)
    elsewhere = _printed_elsewhere(seen)
    ledger: list[LedgerOfNode] = []
    for status in seen.statuses:
        node = status["node"]
        rows, agreed = seen.attempts.get(node), agrees[node]
        proofs = _proofs(seen, status) | (
            dict.fromkeys(_OF_STEPS, elsewhere) if rows is None else _proofs_of_steps(seen, node, rows)
        )
        if agreed:
            proofs["workload"] = _proof("agrees", agrees=agreed)
        entries: LedgerOfNode = {"node": node, "node_rank": status["node_rank"], "rows": {}}
        for row in ROWS:
            reason, found = against.get((row, node)) or against.get((row, None)), proofs[row]
            if row == "failures" and node in failures:
                entries["rows"][row] = _entry(row, FAIL, failures[node])
            elif reason:
                entries["rows"][row] = _of_reason(reason)
            elif row == "exit status" and node in stopped:
                entries["rows"][row] = _entry(row, INCONCLUSIVE, stopped[node])
            elif found or (row in _OUTRANKED and reasons.complete):
                entries["rows"][row] = _entry(row, PASS, found or _proof("outranked"))
            else:
                entries["rows"][row] = _entry(row, INCONCLUSIVE, _proof("no_evidence"))
                if passes:
                    reasons.add_missing(row, node)
        ledger.append(entries)
    return ledger


def _of_reason(reason: Reason) -> LedgerEntry:
    entry: LedgerEntry = {"verdict": reason["verdict"], "evidence": reason["message"], "code": reason["code"]}
    if "case" in reason:
        entry["case"] = reason["case"]
    if "values" in reason:
        entry["values"] = reason["values"]
    return entry


def _entry(row: LedgerRow, verdict: Verdict, proof: Proof) -> LedgerEntry:
    entry: LedgerEntry = {"verdict": verdict, "evidence": filled(PROOFS[row][proof.case].one, proof.values)}
    if proof.case:
        entry["case"] = proof.case
    if proof.values:
        entry["values"] = as_json(proof.values)
    return entry


def _failures_of(seen: Seen) -> dict[str, Proof]:
    """Return the first failure and its echoes by node, with class, from logs and kernel logs."""
    first = seen.first
    if not first:
        return {}
    found = {failure["node"]: failure for failure in (*first["echoes"], t.cast(Echo, first))}
    lines = {
        status["node"]: {text["line"] for text in texts_of(status["log"], status["machine"])}
        for status in seen.statuses
    }
    return {
        node: Proof("failed", {"class": failure["class"], "line": failure["line"]})
        for node, failure in found.items()
        if failure.get("line") in lines[node]
    }


def _stopped(seen: Seen) -> dict[str, Proof]:
    """Return a proof for each node that was stopped because another one failed first."""
    first = seen.first
    if not first or not seen.together or nobody_is_blamed(first):
        return {}
    return {
        status["node"]: _proof("stopped", other=first["node"])
        for status in seen.statuses
        if status["status"] == "stopped" and status["node"] != first["node"]
    }


def _printed_elsewhere(seen: Seen) -> Proof | None:
    """Return which rank prints the steps for all nodes; None if every node prints its own, or none does."""
    if not seen.together or not seen.attempts:
        return None
    return _proof("printed_elsewhere", printed_by=seen.grammar.printed_by.replace("_", " "), nodes=list(seen.attempts))


def _proofs(seen: Seen, status: Status) -> dict[LedgerRow, Proof | None]:
    """Return by row the proofs in a node's end and log, without its steps; None for no evidence."""
    plan, signs, log = seen.plan, status["trainer"]["signs"], status["log"]
    named = _proof(run_id=log["run_id"]) if log["run_id"] == plan["run_id"] else None
    sign_of_life = _proof("line", line=signs[0].strip()) if signs else None
    lines = [line.strip() for line in log["last_lines"] if line.strip()]
    return {
        "exit status": _proof(exit_status=0) if ended_well(status) else None,
        "log": _proof("named_by_user") if plan.get("logs") else named,
        "sign of life": sign_of_life if status["steps"]["last_step"] is None else _proof(),
        "failures": _proof() if log["failures_at_end"] == [] else None,
        "network": _network(seen, status),
        "last line": _proof(line=lines[-1][:_MOST_CHARACTERS]) if lines else None,
    }


def _network(seen: Seen, status: Status) -> Proof | None:
    """Return which network a node used, by its counters and its log; None if it must be known but is not."""
    moved = seen.traffic.get(status["node"])
    transports = status["trainer"]["transports"]
    if moved and moved.suffices:
        values = {"sent": moved.sent, "devices": len(moved.by_device), "least": moved.least}
        return (
            _proof("counters_and_log", transports=transports, **values) if transports else _proof("counters", **values)
        )
    if transports:
        return _proof("log", transports=transports)
    if seen.asks_for_rdma:
        return _proof("unknown") if seen.plan.get("logs") else None
    return _proof("not_needed")


def _proofs_of_steps(seen: Seen, node: str, rows: Rows) -> dict[LedgerRow, Proof | None]:
    """Return by row the proofs in a node's steps; None for no evidence."""
    first, last = int(rows["step"][0]), int(rows["step"][-1])
    values = sum(np.count_nonzero(~np.isnan(rows[metric])) for metric in METRICS if metric in rows)
    skipped = _proof("not_reported")
    if "skipped_iterations" in rows:
        skipped = _proof(skipped=float(np.nansum(rows["skipped_iterations"])), steps=len(rows))
    trend, loss = seen.trends.get(node), None
    if trend:
        of_loss: dict[str, t.Any] = {
            "direction": trend["direction"],
            "first": trend["first_loss"],
            "last": trend["last_loss"],
        }
        loss = _proof(**of_loss)
        if trend["last_step"] != last:
            loss = _proof("ends_early", **of_loss, step=trend["last_step"])
    return {
        "steps": _proof(first=first, last=last, goal=seen.reached.goal),
        "gaps": _proof(steps=len(rows)),
        "numbers": _proof(values=int(values)),
        "skipped": skipped,
        "loss": loss,
        "workload": _proof(),
        "time": _time(seen, node),
    }


def _time(seen: Seen, node: str) -> Proof | None:
    time = seen.times.get(node)
    if not time:
        return _proof("too_few")
    if not np.isfinite(time["mean"]):
        return None
    of_steps: dict[str, t.Any] = {"median": time["median"], "mean": time["mean"]}
    return _proof("wall_clock", **of_steps, wall_clock=time["wall_clock"]) if time["wall_clock"] else _proof(**of_steps)
