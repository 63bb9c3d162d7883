# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a failed run is retried, and on which hosts: only if a node was at fault, and without that node."""

from __future__ import annotations

import textwrap
import typing as t
from collections.abc import Callable, Collection, Mapping, Sequence

from ..contracts import Echo, Finding, FirstFailure, LeftOut, Plan, Retry, Summary

if t.TYPE_CHECKING:
    from .quarantine import Fault, Held

# Classes of failures that another node would not have had. Failures that a config, a model or the network of healthy
# nodes can cause do not belong here. Neither does a hang, whose node is only a guess, or running out of memory, which
# happens on any node.
NODE_FAULTS = frozenset(
    {
        *(
            "not_ready",
            "unreachable",
            "bad_answer",
            "rebooted",
            "node_failure",
            "engine_stopped",
            "container_removed",
            "killed",
        ),
        *("disk_full", "io_error", "memlock"),
        *("gpu_hang", "gpu_memory_fault", "gpu_ecc", "gpu_error", "no_gpu", "driver_mismatch", "neuron"),
        *("rdma_devices", "rdma_abi_mismatch"),
    }
)
# A launcher kills the healthy ranks of other nodes as well, so being killed is not a second fault.
_SECOND_FAULTS = NODE_FAULTS - {"killed"}
# Of the sizes that a run may go on at, so many are tried; each takes as long as a plan.
_MOST_SIZES = 64
_MOST_SHOWN = 160


def node_faults(summary: Summary) -> dict[str, str]:
    """Return the nodes that made a run fail, each with its failure; empty if none is known to be at fault."""
    first = summary["first_failure"]
    if summary["verdict"] == "PASS" or first is None or first["class"] not in NODE_FAULTS:
        return {}
    return {one["node"]: _in_short(one) for one in _node_failures(first)}


def _node_failures(first: FirstFailure) -> list[Echo]:
    """Return the failures of nodes that are at fault, the first one of the run last."""
    return [*second_faults(first["echoes"]), t.cast("Echo", first)]


def _in_short(failure: Echo) -> str:
    return textwrap.shorten(f"{failure['class']}: {failure['message']}", width=_MOST_SHOWN, placeholder=" …")


def faults_of(summary: Summary) -> dict[str, Fault]:
    """Return the result of `node_faults` as data: the class of each failure, and its log line."""
    first = summary["first_failure"]
    if not node_faults(summary) or first is None:
        return {}
    return {
        one["node"]: {
            "code": one["class"],
            "case": "",
            "values": {"logged": one["message"]},
            "message": _in_short(one),
        }
        for one in _node_failures(first)
    }


def second_faults(echoes: Sequence[Echo]) -> list[Echo]:
    """Return the failures after the first one that cannot have followed from it."""
    return [echo for echo in echoes if echo["class"] in _SECOND_FAULTS]


def why_not_again(plan: Plan, summary: Summary, retries: int, interrupted: bool) -> str | None:
    """Return why a run is not retried, as a sentence; None if it is."""
    first, done = summary["first_failure"], attempt_of(plan) - 1
    if interrupted:
        return "it was stopped"
    if first is None:
        return "none of its nodes is known to have failed"
    if not node_faults(summary):
        return f"{first['class']} could happen on any other node as well"
    if plan["mode"] != "multi_node":
        return "its nodes train separately"
    if done >= retries:
        return f"training_retries is {retries}"
    return None


def attempt_of(plan: Mapping[str, t.Any]) -> int:
    """Return which attempt a run is: 1 for a run that is not a retry."""
    retry = plan.get("retry")
    return retry["attempt"] if retry else 1


def without(
    hosts: Sequence[str], out: Collection[str], spares: Sequence[str]
) -> tuple[list[str], dict[str, str | None]]:
    """Return hosts with a spare in the place of each that is ``out``, and which spare that is.

    If no spare is left, the place is left out and the spare is None.
    """
    free = iter([spare for spare in spares if spare not in out and spare not in hosts])
    taken = {host: next(free, None) for host in hosts if host in out}
    chosen = [taken.get(host, host) for host in hosts]
    return [host for host in chosen if host is not None], taken


def left_out(held: Mapping[str, Held], taken: Mapping[str, str | None]) -> list[Finding]:
    """Return a warning for each host that is in quarantine, with the spare that takes its place."""
    return [
        {
            "key": "quarantine",
            "value": host,
            "message": f"{host} is left out{f', and {spare} takes its place' if spare else ''}: "
            f"{held[host].in_words().rstrip('.')}.",
            "remedy": held[host].release_in_words(),
        }
        for host, spare in taken.items()
    ]


def next_attempt(
    plan: Plan, out: Mapping[str, str], spares: Sequence[str], make: Callable[[str, list[str]], Plan]
) -> Plan:
    """Return the plan of the next attempt at a run, without the nodes that are ``out``, each with the reason.

    It has spares in their places, or else as many of the other nodes as it can be planned on. ``make`` returns the plan
    of a run_id on hosts in rank order. ValueError if no plan can be made.
    """
    hosts, taken = without([node["node"] for node in plan["nodes"]], out, spares)
    before, attempt = plan.get("retry"), attempt_of(plan) + 1
    first = before["first"] if before else plan["run_id"]
    why = "none is left"
    for size in range(len(hosts), max(0, len(hosts) - _MOST_SIZES), -1):
        tried = make(f"{first}-{attempt}", hosts[:size])
        if not tried["faults"]:
            tried["retry"] = {
                "attempt": attempt,
                "first": first,
                "before": plan["run_id"],
                "nodes": size,
                "nodes_of_first": before["nodes_of_first"] if before else len(plan["nodes"]),
                "left_out": [
                    *(before["left_out"] if before else []),
                    *(LeftOut(node=node, reason=out[node], spare=spare) for node, spare in taken.items()),
                ],
                "checkpoints": plan.get("checkpoints"),
            }
            return tried
        if size == len(hosts):
            why = tried["faults"][0]["message"].rstrip(".")
    raise ValueError(f"without {', '.join(taken)} it cannot be planned on the remaining {len(hosts)} nodes: {why}")


def beginning_of(retry: Retry, began_with: int | None, first_step: int) -> str:
    """Return the case of how a retry began; ``began_with`` is the first step of its log, None where it has none."""
    fewer = "_on_fewer_nodes" if retry["nodes"] < retry["nodes_of_first"] else ""
    if not retry["checkpoints"]:
        return f"no_checkpoints{fewer}"
    if began_with is None:
        return f"may_resume{fewer}"
    return f"resumed{fewer}" if began_with > first_step else f"no_checkpoint_found{fewer}"
