# SPDX-License-Identifier: GPL-3.0-or-later
"""The ledger of a run: for each node, what is known of each row, and the evidence for it.

A PASS takes evidence in each row of each node. What is missing makes a run INCONCLUSIVE, what speaks against it is a
reason of the verdict; both name the node and the row.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...module_utils.logs.frameworks.known import grammar_of
from ...module_utils.logs.record import METRICS
from ..contracts import LedgerOfNode, LedgerRow, Plan, Status
from ..plan.config.words import counted
from ..plan.job.rdma import asks_for_rdma
from .judge_log import log_framework
from .reasons import INCONCLUSIVE, PASS, ROWS, Reasons

if t.TYPE_CHECKING:
    import pandas as pd

    from .judge_time import TimeSpent
    from .last_step import Reached
    from .loss_trend import Trend

_MOST_CHARACTERS = 100


@dataclass(frozen=True)
class Seen:
    """What was found of a run, by node where it is of nodes: see the functions that found it."""

    plan: Plan
    statuses: list[Status]
    attempts: Mapping[str, pd.DataFrame]
    reached: Reached
    trends: Mapping[str, Trend]
    agrees: Mapping[str, list[str]]
    times: Mapping[str, TimeSpent]


def ledger_of(seen: Seen, reasons: Reasons) -> list[LedgerOfNode]:
    """Return the ledger; where nothing else keeps a run from a PASS, note each row without evidence."""
    against, passes = reasons.of_rows(), reasons.verdict() == PASS
    ledger: list[LedgerOfNode] = []
    for status in seen.statuses:
        node = status["node"]
        entries: LedgerOfNode = {"node": node, "node_rank": status.get("node_rank"), "rows": {}}
        for row in ROWS:
            reason = against.get((row, node)) or against.get((row, None))
            evidence = None if reason else _EVIDENCE[row](seen, status)
            if reason:
                entries["rows"][row] = {"verdict": reason["verdict"], "evidence": reason["message"]}
            elif evidence:
                entries["rows"][row] = {"verdict": PASS, "evidence": evidence}
            else:
                entries["rows"][row] = {"verdict": INCONCLUSIVE, "evidence": "nothing is known"}
                if passes:
                    reasons.add_missing(row, node)
        ledger.append(entries)
    return ledger


def _exit_status(_seen: Seen, status: Status) -> str | None:
    return "0" if status["status"] == "exited" and status.get("exit_status") == 0 else None


def _log(seen: Seen, status: Status) -> str | None:
    if seen.plan.get("logs"):
        return "named by the user, and like no other node's"
    found = status.get("log_run_id")
    return f"begins with run {found}" if found == seen.plan["run_id"] else None


def _sign_of_life(_seen: Seen, status: Status) -> str | None:
    if status.get("last_step") is not None:
        return "it prints steps"
    signs = status.get("signs")
    return f"it prints {signs[0].strip()}" if signs else None


def _steps(seen: Seen, status: Status) -> str | None:
    rows = seen.attempts.get(status["node"])
    if rows is not None:
        return f"{rows['step'].iloc[0]} to {rows['step'].iloc[-1]} of {seen.reached.goal}"
    return _none_of_its_own(seen)


def _none_of_its_own(seen: Seen) -> str | None:
    """Return in words that the trainer prints no steps on all nodes, None where it does or nobody printed any."""
    if seen.plan["mode"] != "multi_node" or not seen.attempts:
        return None
    printed_by = grammar_of(log_framework(seen.plan)).printed_by.replace("_", " ")
    return f"the {printed_by} prints them, on {', '.join(seen.attempts)}"


def _last_line(_seen: Seen, status: Status) -> str | None:
    lines = [line.strip() for line in status.get("last_lines", []) if line.strip()]
    return lines[-1][:_MOST_CHARACTERS] if lines else None


def _failures(_seen: Seen, status: Status) -> str | None:
    return "none after the last step" if status.get("failures_at_end") == [] else None


def _numbers(seen: Seen, status: Status) -> str | None:
    rows = seen.attempts.get(status["node"])
    if rows is None:
        return _none_of_its_own(seen)
    values = sum(np.count_nonzero(~np.isnan(rows[metric].to_numpy())) for metric in METRICS if metric in rows)
    return f"{values} values, all finite"


def _skipped(seen: Seen, status: Status) -> str | None:
    rows = seen.attempts.get(status["node"])
    if rows is None:
        return _none_of_its_own(seen)
    if "skipped_iterations" not in rows:
        return "this trainer prints none"
    return f"{rows['skipped_iterations'].sum():g} of {counted(len(rows), 'iteration')}"


def _gaps(seen: Seen, status: Status) -> str | None:
    rows = seen.attempts.get(status["node"])
    return _none_of_its_own(seen) if rows is None else f"{counted(len(rows), 'step')} in a row, with their losses"


def _loss(seen: Seen, status: Status) -> str | None:
    trend = seen.trends.get(status["node"])
    if trend is None:
        return _none_of_its_own(seen) if status["node"] not in seen.attempts else None
    found = f"{trend['direction']}: {trend['first_loss']:.4g} to {trend['last_loss']:.4g}"
    last = int(seen.attempts[status["node"]]["step"].iloc[-1])
    return found if trend["last_step"] == last else f"{found} until step {trend['last_step']}, and none after it"


def _workload(seen: Seen, status: Status) -> str | None:
    agrees = seen.agrees.get(status["node"])
    if agrees:
        return ", ".join(agrees)
    return "it shows no sizes" if status["node"] in seen.attempts else _none_of_its_own(seen)


def _network(seen: Seen, status: Status) -> str | None:
    named = " and ".join(status.get("transports") or ())
    if asks_for_rdma(seen.plan["mode"], seen.plan["nodes"]) and not seen.plan.get("rehearsal"):
        return named or None
    return named or "the plan names no RDMA device"


def _time(seen: Seen, status: Status) -> str | None:
    if status["node"] not in seen.attempts:
        return _none_of_its_own(seen)
    time = seen.times.get(status["node"])
    if time is None:
        return "it shows no step times"
    wall = f", wall clock {time['wall_clock']:.5g}" if time["wall_clock"] else ""
    times = f"median {time['median']:.5g}, mean {time['mean']:.5g}{wall} ms"
    return times if np.isfinite(time["mean"]) else None


_EVIDENCE: dict[LedgerRow, t.Callable[[Seen, Status], str | None]] = {
    "exit status": _exit_status,
    "log": _log,
    "sign of life": _sign_of_life,
    "steps": _steps,
    "gaps": _gaps,
    "failures": _failures,
    "numbers": _numbers,
    "skipped": _skipped,
    "loss": _loss,
    "workload": _workload,
    "network": _network,
    "time": _time,
    "last line": _last_line,
}
