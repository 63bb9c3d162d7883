# SPDX-License-Identifier: GPL-3.0-or-later
"""How many bytes a node of a job must send over the network at least, by the plan's parallelism.

Data parallel replicas exchange their gradients in each step. For S bytes of gradients, no algorithm on n nodes lets a
node send less than (n - 1) / n x S in the reduce-scatter alone, and a ring all-reduce sends twice that (Patarasu and
Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", J. Parallel Distrib. Comput. 69, 2009).
Sharded optimizers (Megatron's distributed optimizer, FSDP) do the reduce-scatter too. What else is sent comes on top:
parameters, activations between pipeline stages, tokens between experts.

Which gradients a node holds follows from the order of Megatron-LM's ranks, tensor parallel ones innermost, pipeline
stages outermost (megatron/core/parallel_state.py, order tp-cp-ep-dp-pp), which is also how MaxText lays out its axes.
"""

from __future__ import annotations

from ...contracts import Parameters, Workload

# What any training exchanges in a step: no model that is trained on several nodes has fewer gradients.
LEAST_OF_A_STEP = 1 << 20
# Pipeline stages differ in size, since the embedding is in the first and the last one; some layers may be frozen.
_SURELY = 0.5
_FULL_PRECISION = "fp32"


def least_bytes_sent(workload: Workload | None, parameters: Parameters, nodes: int, steps: int) -> int:
    """Return the bytes that each of the ``nodes`` of one job must have sent at least after so many ``steps``.

    0 for a job on one node. Where the exchange of gradients is not known to cross nodes, or its size is not known, it
    is what any training exchanges (1 MiB in a step).
    """
    if nodes < 2 or steps < 1:
        return 0
    return steps * max(LEAST_OF_A_STEP, int(_SURELY * _gradient_bytes(workload, parameters, nodes)))


def _gradient_bytes(workload: Workload | None, parameters: Parameters, nodes: int) -> float:
    """Return what the reduce-scatter of a step sends from a node; 0 where that is not known to cross nodes."""
    size = workload.get("parameters") if workload else None
    tensor, pipeline = parameters.get("tensor_parallelism"), parameters.get("pipeline_parallelism")
    of_node = parameters.get("gpus_per_node")
    if not workload or not size or not tensor or not pipeline or not of_node:
        return 0.0
    if (parameters.get("expert_parallelism") or 1) > 1:
        # The gradients of experts need not cross nodes, and how many others there are is not known.
        return 0.0
    of_stage = nodes * of_node / pipeline
    if of_stage <= of_node or of_stage <= tensor or tensor > of_node:
        return 0.0
    nodes_of_stage = of_stage / of_node
    element = 4 if workload["precision"] == _FULL_PRECISION else 2
    return size / pipeline * element * (nodes_of_stage - 1) / nodes_of_stage
