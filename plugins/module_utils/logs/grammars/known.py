# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of grammars: each is how the lines of one trainer's log are read."""

from __future__ import annotations

import typing as t

from ..grammar import EVERY_RANK, Grammar
from . import maxtext_processes, megatron_bridge, megatron_processes, nemo2, nxdt, torchtitan

GRAMMARS = {
    "megatron": megatron_processes.GRAMMAR,
    "megatron_bridge": megatron_bridge.GRAMMAR,
    "maxtext": maxtext_processes.GRAMMAR,
    "nemo2": nemo2.GRAMMAR,
    "nxdt": nxdt.GRAMMAR,
    "torchtitan": torchtitan.GRAMMAR,
}

# The grammar of logs without a known step line, if nobody says what trained.
UNKNOWN = "unknown"
_OF_NO_STEPS = Grammar(lambda _piece, _memory: iter(()), (), first_step=1, step_line="", printed_by=EVERY_RANK)

# The embedded trainer prints the lines of this one, whichever trainer it replaces.
OF_EMBEDDED_TRAINER = "megatron"


def grammar_name(plan: t.Mapping[str, t.Any]) -> str:
    """Return the grammar of a plan's logs: the plan's own choice, or the grammar with its framework's name."""
    return str(plan.get("log_grammar") or plan["framework"])


def grammar_of(framework: str) -> Grammar:
    """Return a grammar by its name, one without steps for `UNKNOWN`; raises ValueError for any other name."""
    if framework == UNKNOWN:
        return _OF_NO_STEPS
    if framework not in GRAMMARS:
        raise ValueError(f"framework is {framework!r}, but must be one of: {', '.join(sorted(GRAMMARS))}")
    return GRAMMARS[framework]
