# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether tests of its nodes can show what a run could not: which node or link made it slow, hang or fail."""

from __future__ import annotations

import typing as t

from ..contracts import Proposal, Summary
from ..metrics import SPEEDS
from .thresholds import missed_bounds

# Two nodes cannot show which of them is slow.
_LEAST_NODES = 3
_SPEEDS = frozenset((*SPEEDS, "mfu"))
# Failures that many nodes see, whichever of them or of the links between them is at fault.
_HANGS = frozenset({"stalled", "watchdog"})
_NETWORK = frozenset({"gloo", "nccl", "network"})
_WHAT: dict[str, str] = {
    "slow": "The run does not show which node or link is slow. Tests of the nodes can:",
    "hang": "Tests of the nodes can show which node or link the others waited for:",
    "network": "Tests of the nodes can show which node or link is at fault:",
}


def proposal(summary: Summary, command: str) -> Proposal | None:
    """Return what is proposed after a run: a ``command`` that tests its nodes; None where that would show nothing."""
    why = _why(summary) if command else None
    return {"why": why, "command": command} if why else None


def in_words(proposed: Proposal) -> str:
    """Return what the proposed tests can show, as a sentence that the command ends."""
    return _WHAT[proposed["why"]]


def _why(summary: Summary) -> t.Literal["slow", "hang", "network"] | None:
    if summary["mode"] != "multi_node" or len(summary["nodes"]) < _LEAST_NODES:
        return None
    if failure := summary["first_failure"]:
        return "hang" if failure["class"] in _HANGS else "network" if failure["class"] in _NETWORK else None
    return "slow" if _is_slow(summary) and not summary["stragglers"]["nodes"] else None


def _is_slow(summary: Summary) -> bool:
    regression = summary.get("regression")
    worse = [regression["metric"]] if regression else []
    return not _SPEEDS.isdisjoint([*worse, *(bound["metric"] for bound in missed_bounds(summary))])
