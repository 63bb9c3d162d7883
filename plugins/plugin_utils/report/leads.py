# SPDX-License-Identifier: GPL-3.0-or-later
"""What a reader must not miss of a run although it is not the verdict: it stands right below the headline."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ..contracts import Stragglers, Summary
from ..text.nodes import folded
from ..text.words import counted
from .failure_titles import failure_title
from .notes import survived_faults
from .proposal import in_words
from .readable import measured, percent, with_unit

# By which nodes are slow, see `verdict.stragglers`.
_METRIC = "step_time_ms"
_MOST_NAMED = 4
# Below this fraction a node is as fast as the others, but for single steps.
_ALWAYS = 0.01


class Lead(t.NamedTuple):
    """What a reader must not miss although it is not the verdict: its kind, its beginning in bold, and the rest."""

    kind: t.Literal["regression", "slow", "survived", "isolate"]
    strong: str
    rest: str


def leads_of(summary: Summary) -> list[Lead]:
    """Return what has to stand right below the headline."""
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


def _cost_of_slow_nodes(found: Stragglers) -> float | None:
    """Return what share of the throughput the slow nodes cost: what the others cost without them is not theirs."""
    without = (found.get("values") or {}).get("without")
    if without is None or found["step_time_cost"] is None:
        return found["throughput_cost"]
    return max(0.0, 1.0 - (1.0 + float(without)) / (1.0 + found["step_time_cost"]))


def _by(one: Mapping[str, t.Any]) -> str:
    """Return how much slower a node is, in all of its steps or in some."""
    then, share = one.get("slower_then"), one.get("slow_steps")
    if one["slower"] < _ALWAYS and then and share:
        return f"{percent(100 * then)} slower in {percent(100 * share)} of its steps"
    return f"{percent(100 * one['slower'])} slower"
