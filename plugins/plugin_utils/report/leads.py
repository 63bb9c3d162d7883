# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts that a reader must not miss in addition to the verdict: leads right below the headline, and notes."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from ..contracts import Proposal, Straggler, Stragglers, Summary, Why
from ..metrics import SPEEDS
from ..text.nodes import folded
from ..text.words import counted
from .failures import failure_title, messages_of
from .readable import measured, percent, with_unit
from .thresholds import missed_bounds

# Two nodes cannot show which of them is slow.
_LEAST_NODES = 3
_SPEEDS = frozenset((*SPEEDS, "mfu"))
# Failures that many nodes see, whichever node or link is at fault.
_HANGS = frozenset({"stalled", "watchdog"})
_NETWORK = frozenset({"gloo", "nccl", "network"})
_WHAT: dict[Why, str] = {
    "slow": "The run does not show which node or link is slow. Tests of the nodes can:",
    "slow_node": "Tests of the nodes can confirm the slow one, and show its slow part:",
    "hang": "Tests of the nodes can show which node or link the others waited for:",
    "network": "Tests of the nodes can show which node or link is at fault:",
}


def proposal(summary: Summary, command: str) -> Proposal | None:
    """Return a proposal to test a run's nodes with ``command``; None if such a test would show nothing."""
    why = _why(summary) if command else None
    return {"why": why, "command": command} if why else None


def in_words(proposed: Proposal) -> str:
    """Return the purpose of the proposed tests, as a sentence that ends with the command."""
    return _WHAT[proposed["why"]]


def _why(summary: Summary) -> Why | None:
    if len(summary["nodes"]) < _LEAST_NODES:
        return None
    failure, together = summary["first_failure"], summary["mode"] == "multi_node"
    if failure and together:
        return "hang" if failure["class"] in _HANGS else "network" if failure["class"] in _NETWORK else None
    if not failure and (summary["stragglers"]["nodes"] or _names_slow_rank(summary)):
        return "slow_node"
    return "slow" if together and _is_slow(summary) else None


def _names_slow_rank(summary: Summary) -> bool:
    return any(note["code"] == "slow_rank" for note in summary["notes"])


def _is_slow(summary: Summary) -> bool:
    regression = summary.get("regression")
    worse = [regression["metric"]] if regression else []
    return not _SPEEDS.isdisjoint([*worse, *(bound["metric"] for bound in missed_bounds(summary))])


# Notes that repeat figures or leads, or that apply to every run judged from its logs.
_TOLD_ELSEWHERE = frozenset(
    {"mfu", "stragglers", "warm_up", "logs_as_named", "survived_fault", "unusual_last_lines", "world_unknown"}
)
# The headline of a PASS says so already.
_TOLD_OF_A_PASS = frozenset({"taken_up"})
# After a failure, these only say that there are few steps.
_OF_FEW_STEPS = frozenset({"loss_not_judged", "not_steady"})
# If a whole job failed, noise in a threshold does not matter; if nodes train by themselves, the others are still
# judged.
_OF_A_WHOLE_JOB = frozenset({"threshold_in_noise"})


def notes_of(summary: Summary) -> list[str]:
    """Return the notes that only some runs have, and that the first screen does not show otherwise."""
    told = _TOLD_ELSEWHERE | (_OF_FEW_STEPS if summary["first_failure"] else set())
    told |= _OF_A_WHOLE_JOB if summary["first_failure"] and summary.get("mode") != "single_node" else set()
    told |= _TOLD_OF_A_PASS if summary["verdict"] == "PASS" else set()
    notes = [note for note in summary["notes"] if note.get("code") not in told]
    return messages_of(notes)


def survived_faults(summary: Summary) -> list[dict[str, t.Any]]:
    """Return the faults that the run survived, each with ``node``, ``class``, ``line`` and ``step`` (None: not known).

    A line that occurs several times, on one node or on several, is one fault each time.
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
    """Return the unusual last lines of logs, grouped by equal lines: folded node names and lines."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for note in summary["notes"]:
        if note.get("code") == "unusual_last_lines":
            found = {**note.get("evidence", {}), **note.get("values", {}), **note}
            lines = tuple(found.get("lines") or [found["message"]])
            alike.setdefault(lines, []).append(found.get("node", ""))
    return [(folded(nodes), list(lines)) for lines, nodes in alike.items()]


# The metric that makes a node slow, see `verdict.stragglers`.
_METRIC = "step_time_ms"
_MOST_NAMED = 4
# Below this fraction, a node is as fast as the others, except in single steps.
_ALWAYS = 0.01


class Lead(t.NamedTuple):
    """A fact next to the verdict that a reader must not miss: its kind, its beginning (in bold), and the rest."""

    kind: t.Literal["regression", "slow", "survived", "isolate"]
    strong: str
    rest: str


def leads_of(summary: Summary) -> list[Lead]:
    """Return the leads to show right below the headline."""
    leads = []
    regression = summary.get("regression")
    if regression:
        leads.append(Lead("regression", f"{regression['message']}. This is a real change, not noise.", ""))
    slow = summary["stragglers"]["nodes"]
    if slow:
        leads.append(_slow(summary))
    survived = survived_faults(summary)
    if survived:
        nodes = folded({row["node"] for row in survived})
        classes = ", ".join(dict.fromkeys(failure_title(row["class"]) for row in survived))
        leads.append(Lead("survived", f"The run survived {counted(len(survived), 'fault')} on {nodes}:", classes))
    if proposed := summary.get("isolate"):
        leads.append(Lead("isolate", in_words(proposed), proposed["command"]))
    return leads


def _slow(summary: Summary) -> Lead:
    found = summary["stragglers"]
    slow, median, cost = found["nodes"], found.get("median"), _cost_of_slow_nodes(found)
    if cost and summary.get("mode") != "single_node":
        whose = "One slow node costs" if len(slow) == 1 else f"{len(slow)} slow nodes cost"
        strong = f"{whose} {percent(100 * cost)} of throughput:"
    else:
        strong = f"{counted(len(slow), 'slow node')}:"
    worst, *others = slow
    rest = f"{worst['node']} is {_by(worst)} than the median of the nodes"
    if median and worst["slower"] >= _ALWAYS:
        rest += f" ({measured(worst['value'], _METRIC)} against {with_unit(median, _METRIC)})"
    named = [f"{one['node']} {_by(one)}" for one in others[:_MOST_NAMED]]
    named += [f"and {len(others) - _MOST_NAMED} more"] if others[_MOST_NAMED:] else []
    return Lead("slow", strong, f"{', '.join([rest, *named])}.")


def slowness(slow: Sequence[Straggler]) -> str:
    """Return which nodes are slow and by how much, for the middle of a sentence; slowest first."""
    worst = slow[0]
    if len(slow) == 1:
        return f"{worst['node']} is {_by(worst)} than the median"
    nodes = folded(one["node"] for one in slow)
    return f"{nodes} are slower than the median, {worst['node']} the slowest ({_by(worst)})"


def _cost_of_slow_nodes(found: Stragglers) -> float | None:
    """Return the share of the throughput that the slow nodes cost, less the others' cost without them."""
    without = (found.get("values") or {}).get("without")
    cost = found.get("step_time_cost")
    if without is None or cost is None:
        return found.get("throughput_cost")
    return max(0.0, 1.0 - (1.0 + float(without)) / (1.0 + cost))


def _by(one: Mapping[str, t.Any]) -> str:
    """Return how much slower a node is, in all or some of its steps."""
    then, share = one.get("slower_then"), one.get("slow_steps")
    if one["slower"] < _ALWAYS and then and share:
        return f"{percent(100 * then)} slower in {percent(100 * share)} of its steps"
    return f"{percent(100 * one['slower'])} slower"
