# SPDX-License-Identifier: GPL-3.0-or-later
"""The notes of a run, by how the page and the terminal show them."""

from __future__ import annotations

import typing as t

from ..contracts import Summary
from ..text.nodes import folded
from .messages import messages_of

# Notes that figures and leads tell, or that are true of every run that is judged from its logs.
_TOLD_ELSEWHERE = frozenset(
    {"mfu", "stragglers", "warm_up", "logs_as_named", "survived_fault", "unusual_last_lines", "world_unknown"}
)
# The headline of a PASS tells it.
_TOLD_OF_A_PASS = frozenset({"taken_up"})
# After a failure, these say no more than that there are few steps.
_OF_FEW_STEPS = frozenset({"loss_not_judged", "not_steady"})
# Nor is another run of a job that failed like this one; of nodes that train by themselves, the others are judged.
_OF_A_WHOLE_JOB = frozenset({"threshold_in_noise"})


def notes_of(summary: Summary) -> list[str]:
    """Return the notes that only some runs have, and that nothing else on the first screen tells."""
    told = _TOLD_ELSEWHERE | (_OF_FEW_STEPS if summary["first_failure"] else set())
    told |= _OF_A_WHOLE_JOB if summary["first_failure"] and summary.get("mode") != "single_node" else set()
    told |= _TOLD_OF_A_PASS if summary["verdict"] == "PASS" else set()
    notes = [note for note in summary["notes"] if note.get("code") not in told]
    return messages_of(notes)


def survived_faults(summary: Summary) -> list[dict[str, t.Any]]:
    """Return the faults that the run survived, each with ``node``, ``class``, ``line`` and ``step`` (None: not known).

    The same line of a node, or of several, is one fault each.
    """
    rows = []
    for note in summary["notes"]:
        if note.get("code") == "survived_fault":
            found = {**note.get("evidence", {}), **note.get("values", {}), **note}
            rows.append(
                {
                    "node": found.get("node"),
                    "class": found.get("class") or "unnamed",
                    "line": found.get("line") or found.get("message"),
                    "step": found.get("step"),
                }
            )
    return rows


def unusual_lines(summary: Summary) -> list[tuple[str, list[str]]]:
    """Return the unusual last lines of logs, nodes with the same ones together: folded names and lines."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for note in summary["notes"]:
        if note.get("code") == "unusual_last_lines":
            found = {**note.get("evidence", {}), **note.get("values", {}), **note}
            lines = tuple(found.get("lines") or [found["message"]])
            alike.setdefault(lines, []).append(found.get("node", ""))
    return [(folded(nodes), list(lines)) for lines, nodes in alike.items()]
