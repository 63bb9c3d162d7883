# SPDX-License-Identifier: GPL-3.0-or-later
"""The only list of frameworks: each has its grammar here, and a folder of its name in the plan room."""

from __future__ import annotations

from ..grammar import Grammar
from . import maxtext_processes, megatron_processes, nxdt

GRAMMARS = {
    "megatron": megatron_processes.GRAMMAR,
    "maxtext": maxtext_processes.GRAMMAR,
    "nxdt": nxdt.GRAMMAR,
}

# The embedded trainer prints the lines of this one, whatever trainer it stands in for.
OF_EMBEDDED_TRAINER = "megatron"


def grammar_of(framework: str) -> Grammar:
    """Return the grammar of a framework; raises ValueError for one that has none."""
    if framework not in GRAMMARS:
        raise ValueError(f"framework is {framework!r}, but must be one of: {', '.join(sorted(GRAMMARS))}")
    return GRAMMARS[framework]
