# SPDX-License-Identifier: GPL-3.0-or-later
"""What the findings of a verdict say: for each code and case one form, the only place where they become English.

A code whose findings all say the same has the case ""; the fields of a form are described in `sentences`. Codes and
cases are public, see docs/summary.md. What a code looks at, and what it may do, stands in `verdict.checks`.
"""

from __future__ import annotations

import typing as t

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

# A code may have cases in both.
VERDICT: t.Final[dict[str, dict[str, Form]]] = {
    code: {**_OF_ENDS_AND_LOGS.get(code, {}), **_OF_NUMBERS_AND_NETWORK.get(code, {})}
    for code in (*_OF_ENDS_AND_LOGS, *_OF_NUMBERS_AND_NETWORK)
}
