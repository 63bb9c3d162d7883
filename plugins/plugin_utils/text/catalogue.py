# SPDX-License-Identifier: GPL-3.0-or-later
"""What the findings of a verdict say: for each code and case one form, the only place where they become English.

A code whose findings all say the same has the case ""; the fields of a form are described in `sentences`. Codes and
cases are public, see docs/summary.md. What a code looks at, and what it may do, stands in `verdict.checks`.
"""

from __future__ import annotations

import typing as t

from ..contracts import LedgerRow
from .sentences import Form

_OF_ENDS_AND_LOGS: t.Final[dict[str, dict[str, Form]]] = {
    # Row "exit status".
    "nodes": {"": Form("{nodes:all node} took part and ended with exit status 0.")},
    "taken_up": {"": Form("The training finished at {ended_at}, not started by this command.")},
    # Row "steps".
    "last_step": {
        "": Form("The last step, {step}, was reached."),
        "logged": Form("The last logged step, {step} of {goal}, was reached."),
    },
    "last_step_missing": {"": Form("{node} reached only step {step} of {goal}.")},
}

_OF_NUMBERS_AND_NETWORK: t.Final[dict[str, dict[str, Form]]] = {}

VERDICT: t.Final = {**_OF_ENDS_AND_LOGS, **_OF_NUMBERS_AND_NETWORK}

# Rows of the ledger that are about steps, on nodes whose steps another rank prints.
_ELSEWHERE: t.Final = {"printed_elsewhere": Form("printed by the {printed_by}, on {nodes:list}")}
_NO_EVIDENCE: t.Final = {"no_evidence": Form("no evidence")}
# What proves a row of the ledger.
PROOFS: t.Final[dict[LedgerRow, dict[str, Form]]] = {
    "exit status": {
        "": Form("{exit_status}"),
        "stopped": Form("stopped because {other} failed"),
        **_NO_EVIDENCE,
    },
    "log": {
        "": Form("its first line names run {run_id}"),
        "named_by_user": Form("named by the user, unlike any other node's log"),
        **_NO_EVIDENCE,
    },
    "sign of life": {
        "": Form("prints steps"),
        "line": Form("prints {line}"),
        "outranked": Form("none of its own; the run was seen to train to its end"),
        **_NO_EVIDENCE,
    },
    "steps": {"": Form("{first} to {last} of {goal}"), **_ELSEWHERE, **_NO_EVIDENCE},
    "gaps": {"": Form("{steps:count step} in a row, with their losses"), **_ELSEWHERE, **_NO_EVIDENCE},
    "last line": {"": Form("{line}", many="{line} and {others:count other line}"), **_NO_EVIDENCE},
    "failures": {
        "": Form("none after the last step"),
        "failed": Form("{class}: {line}"),
        "outranked": Form("none of its own; the run was seen to train to its end"),
        **_NO_EVIDENCE,
    },
    "numbers": {"": Form("{values} values, all finite"), **_ELSEWHERE, **_NO_EVIDENCE},
    "skipped": {
        "": Form("{skipped:g} of {steps:count iteration}"),
        "not_reported": Form("this trainer does not report them"),
        **_ELSEWHERE,
        **_NO_EVIDENCE,
    },
    "loss": {
        "": Form("{direction}: {first:.4g} to {last:.4g}"),
        "ends_early": Form("{direction}: {first:.4g} to {last:.4g}, none after step {step}"),
        **_ELSEWHERE,
        **_NO_EVIDENCE,
    },
    "workload": {
        "": Form("no sizes in the log"),
        "agrees": Form("{agrees:all_listed}"),
        **_ELSEWHERE,
        **_NO_EVIDENCE,
    },
    "network": {
        "not_needed": Form("no RDMA is needed"),
        "unknown": Form("the logs do not show it"),
        "counters": Form("{sent:bytes} sent by {devices:count RDMA device}, at least {least:bytes} needed"),
        "log": Form("{transports:and}"),
        "counters_and_log": Form(
            "{sent:bytes} sent by {devices:count RDMA device}, at least {least:bytes} needed and {transports:and}"
        ),
        **_NO_EVIDENCE,
    },
    "time": {
        "": Form("median {median:number}, mean {mean:number} ms"),
        "wall_clock": Form("median {median:number}, mean {mean:number}, wall clock {wall_clock:number} ms"),
        "too_few": Form("fewer than two counted step times"),
        **_ELSEWHERE,
        **_NO_EVIDENCE,
    },
}
