# SPDX-License-Identifier: GPL-3.0-or-later
"""Scaling a batch that was tuned for some number of nodes to the nodes at hand, so that each has as much to do."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..config.findings import Findings
from ..config.words import counted
from .options import RunOptions

OPTION = "training_scale_batch"
REFERENCE_NODES = "reference_nodes"


@dataclass(frozen=True)
class TunedBatch:
    """A global batch size (sequences) and the nodes it was tuned for, each with its key; None where not known."""

    size: int | None
    key: str
    nodes: int | None
    nodes_key: str


def scales_batch(options: RunOptions, mode: str) -> bool:
    """Return whether the batch was tuned for the config's number of nodes, rather than that of the run."""
    return options.training_scale_batch == REFERENCE_NODES and mode == "multi_node"


def scaled_batch(tuned: TunedBatch, nodes: int, at_once: int, findings: Findings) -> int | None:
    """Return the global batch size for the nodes at hand, with a note; None, and a fault, where there is none.

    ``at_once`` is what it has to be a multiple of: micro batch size × data parallelism with these nodes.
    """
    size, reference = tuned.size, tuned.nodes
    if not size or not reference or not nodes or nodes == reference:
        return size
    scaled, rest = divmod(size * nodes, reference)
    if rest or scaled % at_once:
        step = at_once * reference // math.gcd(at_once * reference, nodes)
        below = size // step * step
        nearby = " or ".join(str(near) for near in (below, below + step) if near)
        result = f"{size * nodes / reference:g}" if rest else str(scaled)
        findings.fault(
            tuned.key,
            size,
            f"Scaled from {counted(reference, 'node')} to {nodes}, the global batch size {size} becomes {result}, "
            f"which is no multiple of micro batch size × data parallelism = {at_once}.",
            f"Choose {nearby} for {counted(reference, 'node')}, another micro batch size, or another number of nodes.",
        )
        return None
    findings.note(
        f"The global batch size is scaled with the nodes: {size} for {counted(reference, 'node')} "
        f"({tuned.nodes_key}) becomes {scaled} for {nodes}."
    )
    return scaled


def check_scaling(options: RunOptions, mode: str, nodes: int | None, nodes_key: str, findings: Findings) -> None:
    """Note where scaling was asked for and there is nothing to scale, or nothing to scale by."""
    if options.training_scale_batch != REFERENCE_NODES:
        return
    if mode != "multi_node":
        reason, remedy = "in single-node mode every node runs a job of its own", "Leave it out."
    elif nodes is None:
        reason, remedy = f"{nodes_key} does not say for how many nodes the batch was tuned", f"Give {nodes_key}."
    else:
        return
    findings.warn(OPTION, REFERENCE_NODES, f"{OPTION} has no effect: {reason}.", remedy)
