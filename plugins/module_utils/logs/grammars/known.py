# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of grammars: each is how the lines of one trainer's log are read.

A grammar is loaded on demand, because a node reads logs of one trainer only.
"""

from __future__ import annotations

import typing as t

from ..grammar import EVERY_RANK, Grammar
from . import maxtext_failures, megatron_failures, torchtitan_failures


def _megatron() -> Grammar:
    from .megatron_processes import GRAMMAR

    return GRAMMAR


def _megatron_bridge() -> Grammar:
    from .megatron_bridge import GRAMMAR

    return GRAMMAR


def _maxtext() -> Grammar:
    from .maxtext_processes import GRAMMAR

    return GRAMMAR


def _nemo2() -> Grammar:
    from .nemo2 import GRAMMAR

    return GRAMMAR


def _neuronx_distributed() -> Grammar:
    from .neuronx_distributed import GRAMMAR

    return GRAMMAR


def _nxdt() -> Grammar:
    from .nxdt import GRAMMAR

    return GRAMMAR


def _torchtitan() -> Grammar:
    from .torchtitan import GRAMMAR

    return GRAMMAR


# Ansible sends a module together with its imports, which it finds in functions, too.
_LOADED: dict[str, t.Callable[[], Grammar]] = {
    "megatron": _megatron,
    "megatron_bridge": _megatron_bridge,
    "maxtext": _maxtext,
    "nemo2": _nemo2,
    "neuronx_distributed": _neuronx_distributed,
    "nxdt": _nxdt,
    "torchtitan": _torchtitan,
}


class _Grammars(t.Mapping[str, Grammar]):
    def __getitem__(self, name: str) -> Grammar:
        return _LOADED[name]()

    def __iter__(self) -> t.Iterator[str]:
        return iter(_LOADED)

    def __len__(self) -> int:
        return len(_LOADED)


GRAMMARS = _Grammars()
# Messages of the trainers and their launch scripts when they fail. They are looked for in every log.
FAILURES = (*megatron_failures.SIGNATURES, *maxtext_failures.SIGNATURES, *torchtitan_failures.SIGNATURES)
# Python files of the launch scripts that fail without harm.
HELPER_FILES = (megatron_failures.HELPER_FILES,)

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
