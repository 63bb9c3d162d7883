# SPDX-License-Identifier: GPL-3.0-or-later
"""The failures and reasons of a summary in words: titles, each message once, and the state of other nodes."""

from __future__ import annotations

import itertools
import json
import typing as t
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..contracts import NodeSummary, Reason, Summary
from ..run.blame import nobody_is_blamed, origin_of
from ..run.status import none_began
from ..text.catalogue import VERDICT
from ..text.folding import Told, common, told
from ..text.nodes import folded
from ..text.problems import remedy_of
from ..text.words import all_of, counted

_SPELLED = {
    "abi": "ABI",
    "ecc": "ECC",
    "gloo": "Gloo",
    "gpu": "GPU",
    "io": "I/O",
    "jax": "JAX",
    "nan": "NaN",
    "nccl": "NCCL",
    "python": "Python",
    "rdma": "RDMA",
    "xla": "XLA",
}
# Titles for classes whose name alone does not show what went wrong.
_TITLES = {
    "bad_answer": "Unusable answer",
    "checkpoint": "Checkpoint error",
    "child_failed": "Training process failed",
    "compile": "Compilation failed",
    "container": "Container error",
    "container_removed": "Container removed",
    "coordinator_died": "Coordinator died",
    "data": "Data error",
    "data_cache": "Data cache error",
    "data_corrupt": "Corrupt data",
    "driver_mismatch": "Driver mismatch",
    "elastic": "torchrun error",
    "exit_status": "Training failed",
    "gloo": "Gloo error",
    "host_memory": "Host memory ran out",
    "hub_rate_limit": "Rate limit of the model hub",
    "hub_unreachable": "Model hub unreachable",
    "image_pull": "Image could not be pulled",
    "jax_start": "JAX could not start",
    "killed": "Training killed",
    "log_moved": "Log moved away",
    "memlock": "Locked-memory limit too low",
    "nan": "NaN value",
    "nccl": "NCCL error",
    "network_interface": "Wrong network interface",
    "neuron": "Neuron error",
    "no_gpu": "No GPU found",
    "not_found": "File not found",
    "not_ready": "Node not ready",
    "open_files": "Limit of open files reached",
    "process_limit": "Limit of processes reached",
    "rdma_devices": "RDMA device error",
    "rebooted": "Node rebooted",
    "run_folder_gone": "Run folder gone",
    "scheduler": "Ended by the scheduler",
    "settings_refused": "Trainer refused its settings",
    "sigterm": "Training terminated (SIGTERM)",
    "sizes": "Sizes do not fit",
    "slurm_start": "Slurm could not start the job",
    "stalled": "Training hung",
    "tokenizer": "Tokenizer error",
    "training_script": "Training script failed",
    "unnamed": "Training failed",
    "unreachable": "Node unreachable",
    "watchdog": "Collective timed out",
    "xla_flags": "XLA refused its flags",
}


def failure_title(failure_class: str) -> str:
    """Return the title of a class; without one, the class name in words."""
    if failure_class in _TITLES:
        return _TITLES[failure_class]
    words = [_SPELLED.get(word, word) for word in failure_class.split("_")]
    text = " ".join(words)
    return text[:1].upper() + text[1:]


# Limits of a finding for programs: AWX keeps these with each job.
_MOST_NODES, _MOST_CHARACTERS = 16, 800


def reasons_of(reasons: Sequence[Reason]) -> list[tuple[str, str]]:
    """Return each message and its code, gravest first; messages that several nodes share come once."""
    return [(one.message, one.code) for _verdict, one in _told(reasons)]


def findings_of(reasons: Sequence[Reason], most: int) -> list[dict[str, t.Any]]:
    """Return the first of `reasons_of` for programs: each with verdict, code, case, nodes, values and message.

    ``nodes`` are at most 16 of the ``node_count``, and ``values`` the first node's values, if they are short.
    """
    return [
        {
            "verdict": verdict,
            "code": one.code,
            "case": one.case,
            "nodes": list(one.nodes[:_MOST_NODES]),
            "node_count": len(one.nodes),
            "values": one.values if len(json.dumps(one.values)) <= _MOST_CHARACTERS else {},
            "message": one.message,
        }
        for verdict, one in itertools.islice(_told(reasons), most)
    ]


def _told(reasons: Sequence[Reason]) -> Iterator[tuple[str | None, Told]]:
    for verdict, group in itertools.groupby(reasons, lambda reason: reason.get("verdict")):
        yield from ((verdict, one) for one in told(VERDICT, group))


def messages_of(reasons: Sequence[Reason]) -> list[str]:
    """Return the messages of `reasons_of`."""
    return [message for message, _code in reasons_of(reasons)]


def echoes_of(echoes: Iterable[Mapping[str, t.Any]], *names: str) -> list[tuple[str, ...]]:
    """Return the failures that followed: the folded nodes, and the values under ``names`` that they share."""
    nodes: dict[tuple[str, ...], list[str]] = {}
    for echo in echoes:
        nodes.setdefault(tuple(echo[name] for name in names), []).append(echo["node"])
    return [(folded(found), *same) for same, found in nodes.items()]


def never_began(summary: Summary) -> bool:
    """Return whether no node began to train, so that only the cause matters."""
    return none_began((node["state"] for node in summary["nodes"]), bool(summary["started_at"]))


def causes_of_no_start(summary: Summary) -> list[tuple[str, str]]:
    """Return what kept a run from starting, each message with its code, the first failure's first.

    Nodes with the same cause share a message. Empty unless this is why the run did not begin.
    """
    failure = summary["first_failure"]
    if not never_began(summary) or (failure and failure["class"] not in ("unreachable", "not_ready")):
        return []
    reasons = [reason for reason in summary["reasons"] if reason.get("verdict") in ("FAIL", "ERROR")]
    of_failure = {common(VERDICT, reason) for reason in reasons if failure and reason.get("node") == failure["node"]}
    first = [reason for reason in reasons if common(VERDICT, reason) in of_failure]
    return [*reasons_of(first), *reasons_of([reason for reason in reasons if reason not in first])]


def remedy_of_all(summary: Summary) -> str:
    """Return what to do if every node refused to start, so that none is at fault; empty otherwise."""
    if summary["first_failure"] or not causes_of_no_start(summary):
        return ""
    refused = (reason for reason in summary["reasons"] if reason.get("code") == "node_not_started")
    values = next((reason["values"] for reason in refused if "said" in reason.get("values", {})), None)
    return "" if values is None else remedy_of(values.get("problems", []))


def others_in_words(summary: Summary) -> str:
    """Return the fate of the nodes that did not fail first; empty if unknown or unrelated."""
    failure = summary["first_failure"]
    others = [node for node in summary["nodes"] if failure and node["node"] != failure["node"]]
    if not failure or not others or summary.get("mode") == "single_node":
        return ""
    if summary.get("interrupted"):
        # Whoever stopped the run stopped them all.
        return ""
    if nobody_is_blamed(failure):
        return _silent(summary) if origin_of(failure) == "unknown" else ""
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
    """Return whether something outside ended a node's training, so that its own end proves nothing."""
    return node["state"] == "stopped" or (node["state"] == "exited" and node["exit_code"] is None)
