# SPDX-License-Identifier: GPL-3.0-or-later
"""Scaling a batch that was tuned for some number of nodes to the nodes of the run, keeping the load per node."""

from __future__ import annotations

import dataclasses
import math
import typing as t

from ...text.words import counted
from ..config.findings import Findings
from .reading import ConfigReading
from .sizes import Sizes, multiples_near

OPTION = "training_scale_batch"
REFERENCE_NODES = "reference_nodes"


def scales_batch(scale: str | None, mode: str) -> bool:
    """Return whether the batch is tuned for the config's number of nodes rather than that of the run."""
    return scale == REFERENCE_NODES and mode == "multi_node"


def for_nodes_at_hand(
    sizes: Sizes, key: str, reference: int | None, nodes_key: str, reading: ConfigReading[t.Any, t.Any]
) -> Sizes:
    """Return the sizes with the global batch size scaled to their nodes, if it should be, and note it.

    The original is under ``key``, tuned for ``reference`` nodes (under ``nodes_key``; None if unknown). If it cannot be
    scaled, it becomes None, with a fault.
    """
    size, nodes, at_once = sizes.global_batch_size, sizes.nodes, sizes.sequences_at_once
    if (
        not scales_batch(reading.options.training_scale_batch, reading.mode)
        or not size
        or not reference
        or not nodes
        or nodes == reference
    ):
        return sizes
    scaled, rest = divmod(size * nodes, reference)
    if rest or scaled % at_once:
        step = at_once * reference // math.gcd(at_once * reference, nodes)
        result = f"{size * nodes / reference:g}" if rest else str(scaled)
        reading.findings.fault(
            key,
            size,
            f"Scaled from {counted(reference, 'node')} to {nodes}, the global batch size {size} becomes {result}, "
            f"not a multiple of micro batch size × data parallelism = {at_once}.",
            f"Choose {multiples_near(size, step)} for {counted(reference, 'node')}, another micro batch size, or "
            "another number of nodes.",
        )
        return dataclasses.replace(sizes, global_batch_size=None)
    reading.findings.note(
        f"The global batch size is scaled with the nodes: {size} for {counted(reference, 'node')} "
        f"({nodes_key}) becomes {scaled} for {nodes}."
    )
    return dataclasses.replace(sizes, global_batch_size=scaled)


def check_scaling(scale: str | None, mode: str, nodes: int | None, nodes_key: str, findings: Findings) -> None:
    """Warn if scaling was requested but there is nothing to scale, or no reference to scale by."""
    if scale != REFERENCE_NODES:
        return
    if mode != "multi_node":
        reason, remedy = "in single-node mode every node runs its own job", "Leave it out."
    elif nodes is None:
        reason, remedy = f"{nodes_key} does not say for how many nodes the batch was tuned", f"Give {nodes_key}."
    else:
        return
    findings.warn(OPTION, REFERENCE_NODES, f"{OPTION} has no effect: {reason}.", remedy)
