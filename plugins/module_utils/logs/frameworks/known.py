# SPDX-License-Identifier: GPL-3.0-or-later
"""The only list of frameworks: each has its grammar here, and a folder of its name in the plan room."""

from __future__ import annotations

from ..grammar import EVERY_RANK, Grammar
from . import maxtext_processes, megatron_processes, nxdt

GRAMMARS = {
    "megatron": megatron_processes.GRAMMAR,
    "maxtext": maxtext_processes.GRAMMAR,
    "nxdt": nxdt.GRAMMAR,
}

# That of logs without a step line that is known, where nobody says what trained.
UNKNOWN = "unknown"
_OF_NO_STEPS = Grammar(lambda _piece, _memory: iter(()), (), first_step=1, step_line="", printed_by=EVERY_RANK)

# The embedded trainer prints the lines of this one, whatever trainer it stands in for.
OF_EMBEDDED_TRAINER = "megatron"


def grammar_of(framework: str) -> Grammar:
    """Return the grammar of a framework, one without steps for `UNKNOWN`; raises ValueError for any other name."""
    if framework == UNKNOWN:
        return _OF_NO_STEPS
    if framework not in GRAMMARS:
        raise ValueError(f"framework is {framework!r}, but must be one of: {', '.join(sorted(GRAMMARS))}")
    return GRAMMARS[framework]
