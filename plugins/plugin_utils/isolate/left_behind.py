# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run left behind for an isolation: its nodes, and which of them it made suspect."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from pathlib import Path

from ..contracts import Summary
from ..run.blame import blame_of_verdict
from ..run.runs import known_runs
from ..run.sweep import summary_of
from ..text.slowness import slower
from ..text.words import listed

# The node's kernel or counters, or the trainer, reported these; they need not have failed the run.
_REPORTED = frozenset({"machine_fault", "machine_note", "low_traffic", "uneven_traffic", "slow_rank"})
_MOST_SHOWN = 160


@dataclass(frozen=True)
class LeftBehind:
    """The nodes of a run, and why each of its suspects is one; without a run all hosts are tested, and none is."""

    run_id: str = ""
    nodes: list[str] = field(default_factory=list)
    suspects: dict[str, str] = field(default_factory=dict)

    def in_words(self) -> list[str]:
        """Return the starting point of an isolation as sentences without their full stop; none without a run."""
        if not self.run_id:
            return []
        if not self.suspects:
            return [f"Run {self.run_id} suspects none of its {len(self.nodes)} nodes more than the others"]
        return [f"Run {self.run_id} suspects {node}: {why.rstrip('.')}" for node, why in self.suspects.items()]


def left_behind(output_dir: str | Path, run_id: str) -> LeftBehind:
    """Return the traces of a run in a folder of runs; ValueError if there is no such run, or no verdict on it."""
    runs = known_runs(output_dir)
    if run_id not in runs:
        latest = f"its latest runs are {', '.join(runs[-5:])}" if runs else "it has no runs"
        raise ValueError(f"{output_dir} has no run {run_id!r}: {latest}; set training_run_id to one of its runs")
    summary = summary_of(Path(output_dir) / run_id)
    if summary is None:
        raise ValueError(
            f"{run_id} was not judged, so it suspects nobody. End it with stop.yml, or omit training_run_id to test "
            "all hosts"
        )
    return LeftBehind(run_id, [node["node"] for node in summary["nodes"]], suspects_of_run(summary))


def missing_hosts(left: LeftBehind, inventory: set[str]) -> list[str]:
    """Return an error if nodes of the run are not in the inventory."""
    missing = [node for node in left.nodes if node not in inventory]
    if not missing:
        return []
    return [f"{left.run_id} ran on {listed(missing, 5)}, not in this inventory; pass the inventory of that run with -i"]


def suspects_of_run(summary: Summary) -> dict[str, str]:
    """Return the nodes that a run makes suspect, each with why: slow or failed ones, and what machines reported."""
    together = summary["mode"] == "multi_node"
    hosts = {node["node"] for node in summary["nodes"]}
    found = {one["node"]: f"{slower(one['slower'])} in the run" for one in summary["stragglers"]["nodes"]}
    for node, blame in blame_of_verdict(summary, hosts, {}, together=together).items():
        found.setdefault(node, blame["reason"])
    for reason in (*summary["reasons"], *summary["notes"]):
        if reason["code"] in _REPORTED and reason.get("node") in hosts:
            found.setdefault(reason["node"], reason["message"])
    return {node: textwrap.shorten(why, _MOST_SHOWN, placeholder=" …") for node, why in found.items()}
