# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of the nodes that did not fail first, and what kept a run from starting at all."""

from __future__ import annotations

from ..contracts import NodeSummary, Summary
from ..run.blame import nobody_is_blamed
from ..run.status import none_began
from ..text.catalogue import VERDICT
from ..text.folding import common
from ..text.nodes import folded
from ..text.problems import remedy_of
from ..text.words import all_of, counted
from .failure_titles import failure_title
from .messages import reasons_of


def never_began(summary: Summary) -> bool:
    """Return whether no node began to train: then there is nothing to say of a run but why."""
    return none_began((node["state"] for node in summary["nodes"]), bool(summary["started_at"]))


def causes_of_no_start(summary: Summary) -> list[tuple[str, str]]:
    """Return what kept a run from starting, each message with its code, that of the first failure first.

    Nodes with the same cause are named together. Empty unless that is why the run did not begin.
    """
    failure = summary["first_failure"]
    if not never_began(summary) or (failure and failure["class"] not in ("unreachable", "not_ready")):
        return []
    reasons = [reason for reason in summary["reasons"] if reason.get("verdict") in ("FAIL", "ERROR")]
    of_failure = {common(VERDICT, reason) for reason in reasons if failure and reason.get("node") == failure["node"]}
    first = [reason for reason in reasons if common(VERDICT, reason) in of_failure]
    return [*reasons_of(first), *reasons_of([reason for reason in reasons if reason not in first])]


def remedy_of_all(summary: Summary) -> str:
    """Return what to do where every node refused to start, so that none is at fault; empty otherwise."""
    if summary["first_failure"] or not causes_of_no_start(summary):
        return ""
    refused = (reason for reason in summary["reasons"] if reason.get("code") == "node_not_started")
    values = next((reason["values"] for reason in refused if "said" in reason.get("values", {})), None)
    return "" if values is None else remedy_of(values.get("problems", []))


def others_in_words(summary: Summary) -> str:
    """Return what became of the nodes that did not fail first; empty where that is not known, or has no connection."""
    failure = summary["first_failure"]
    others = [node for node in summary["nodes"] if failure and node["node"] != failure["node"]]
    if not failure or not others or summary.get("mode") == "single_node":
        return ""
    if nobody_is_blamed(failure):
        return _silent(summary)
    if never_began(summary):
        return _could_have_started(summary)
    echoes: dict[str, list[str]] = {}
    for echo in failure["echoes"]:
        echoes.setdefault(echo["class"], []).append(echo["node"])
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


def _could_have_started(summary: Summary) -> str:
    kept = {reason.get("node") for reason in summary["reasons"]}
    able = [node["node"] for node in summary["nodes"] if node["node"] not in kept]
    if not able:
        return ""
    which = f"The other {counted(len(able), 'node')}" if len(able) > 1 else able[0]
    return f"{which} could have started."


def _silent(summary: Summary) -> str:
    nodes = summary["nodes"]
    silent = sum(node["state"] == "stalled" for node in nodes)
    which = all_of(silent, "node") if silent == len(nodes) else f"{silent} of {len(nodes)} nodes"
    return f"{which} went silent; which one was first proves nothing."


def was_stopped(node: NodeSummary) -> bool:
    """Return whether a node's training was ended from outside, so that its own end says nothing."""
    return node["state"] == "stopped" or (node["state"] == "exited" and node["exit_code"] is None)
