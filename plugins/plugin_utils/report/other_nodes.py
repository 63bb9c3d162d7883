# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of the nodes that did not fail first."""

from __future__ import annotations

from ..contracts import NodeSummary, Summary
from ..inventory.folded_names import folded
from ..plan.config.words import all_of, counted
from ..run.blame import nobody_is_blamed
from .failure_titles import failure_title

UNSTARTED = frozenset({"not_started", "staged"})


def others_in_words(summary: Summary) -> str:
    """Return what became of the nodes that did not fail first; empty where that is not known, or has no connection."""
    failure = summary["first_failure"]
    others = [node for node in summary["nodes"] if failure and node["node"] != failure["node"]]
    if not failure or not others or summary.get("mode") == "single_node":
        return ""
    if nobody_is_blamed(failure):
        return _silent(summary)
    echoes: dict[str, list[str]] = {}
    for echo in failure["echoes"]:
        echoes.setdefault(echo["class"], []).append(echo["node"])
    if not echoes and all(node["state"] in UNSTARTED for node in others):
        return f"The other {counted(len(others), 'node')} could have started."
    echoing = {name for nodes in echoes.values() for name in nodes}
    stopped = [node["node"] for node in others if was_stopped(node) and node["node"] not in echoing]
    sentences = []
    if stopped:
        which = f"The other {counted(len(others), 'node')}" if len(stopped) == len(others) else folded(stopped)
        verb = "was" if len(stopped) == 1 else "were"
        sentences.append(f"{which} {verb} stopped because {failure['node']} failed.")
    if echoes:
        followed = (f"{folded(nodes)} ({failure_title(name)})" for name, nodes in echoes.items())
        sentences.append(f"Followed by {', '.join(followed)}.")
    return " ".join(sentences)


def _silent(summary: Summary) -> str:
    nodes = summary["nodes"]
    silent = sum(node["state"] == "stalled" for node in nodes)
    which = all_of(silent, "node") if silent == len(nodes) else f"{silent} of {len(nodes)} nodes"
    return f"{which} went silent; which one was first proves nothing."


def was_stopped(node: NodeSummary) -> bool:
    """Return whether a node's training was ended from outside, so that its own end says nothing."""
    return node["state"] == "stopped" or (node["state"] == "exited" and node["exit_code"] is None)
