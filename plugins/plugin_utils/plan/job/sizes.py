# SPDX-License-Identifier: GPL-3.0-or-later
"""Batch and parallel sizes of a job, its steps, and a batch that is scaled to its nodes.

Whether the sizes of a run divide: GPUs, parallelism, batch, and model dimensions.

Each rule is checked separately, if the sizes it needs are known.
"""

from __future__ import annotations

import dataclasses
import math
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

from ...text.words import counted, listed
from ..config.findings import Findings
from .reading import ConfigReading


@dataclass(frozen=True)
class ModelDimensions:
    """The transformer dimensions that must divide: layers, attention heads, key/value heads (query groups)."""

    layers: int
    attention_heads: int
    query_groups: int


@dataclass(frozen=True)
class Sizes:
    """Sizes of one job, None if unknown. Batch sizes are in sequences, the sequence length in tokens."""

    nodes: int | None
    gpus_per_node: int | None
    tensor_parallelism: int | None
    pipeline_parallelism: int | None
    global_batch_size: int | None
    micro_batch_size: int | None
    sequence_length: int | None
    context_parallelism: int | None = 1
    expert_parallelism: int = 1
    sequence_parallel: bool | None = True

    @property
    def gpus(self) -> int | None:
        """Return the GPUs of all nodes."""
        return self.nodes * self.gpus_per_node if self.nodes and self.gpus_per_node else None

    @property
    def model_parallelism(self) -> int | None:
        """Return how many GPUs share one replica of the model."""
        if not self.tensor_parallelism or not self.pipeline_parallelism or not self.context_parallelism:
            return None
        return self.tensor_parallelism * self.pipeline_parallelism * self.context_parallelism

    @property
    def data_parallelism(self) -> int | None:
        """Return the number of model replicas; None if the GPUs cannot be divided into replicas."""
        if not self.gpus or not self.model_parallelism or self.gpus % self.model_parallelism:
            return None
        return self.gpus // self.model_parallelism

    @property
    def sequences_at_once(self) -> int:
        """Return the number that the global batch size must be a multiple of, as far as known."""
        return (self.micro_batch_size or 1) * (self.data_parallelism or 1)

    @property
    def tokens_per_sequence_per_gpu(self) -> float | None:
        """Return the tokens per GPU of one sequence."""
        return self.sequence_length / self.gpus if self.gpus and self.sequence_length else None

    @property
    def tokens_per_step_per_gpu(self) -> float | None:
        """Return the tokens per GPU in one step."""
        if not self.gpus or not self.global_batch_size or not self.sequence_length:
            return None
        return self.global_batch_size * self.sequence_length / self.gpus


def check_sizes(sizes: Sizes, dimensions: ModelDimensions | None, keys: Mapping[str, str], findings: Findings) -> None:
    """Report every size that does not divide as Megatron-LM requires.

    ``keys`` maps the field names of `Sizes` to the key paths of the training config.
    Sources: megatron/training/arguments.py and megatron/core/num_microbatches_calculator.py of Megatron-LM.
    """
    _check_gpus(sizes, keys, findings)
    _check_batch(sizes, keys, findings)
    _check_sequence(sizes, keys, findings)
    if dimensions:
        _check_model(sizes, dimensions, keys, findings)


def _check_gpus(sizes: Sizes, keys: Mapping[str, str], findings: Findings) -> None:
    gpus, tensor, pipeline = sizes.gpus, sizes.tensor_parallelism, sizes.pipeline_parallelism
    context = f" × context parallelism {sizes.context_parallelism}" if sizes.context_parallelism != 1 else ""
    if gpus and sizes.model_parallelism and not sizes.data_parallelism:
        findings.fault(
            keys["tensor_parallelism"],
            tensor,
            f"The {counted(gpus, 'GPU')} ({counted(sizes.nodes or 0, 'node')} × {sizes.gpus_per_node}) cannot be "
            f"divided into groups of tensor parallelism {tensor} × pipeline parallelism {pipeline}{context} = "
            f"{sizes.model_parallelism}.",
            f"Choose a product that divides {gpus}, or other nodes, or fix training_gpus_per_node.",
        )
    if tensor and sizes.gpus_per_node and tensor > sizes.gpus_per_node:
        findings.warn(
            keys["tensor_parallelism"],
            tensor,
            f"Tensor parallelism {tensor} spans more than one node of {counted(sizes.gpus_per_node, 'GPU')}: every "
            "layer waits for the network.",
            "Raise the pipeline parallelism instead.",
        )


def _check_batch(sizes: Sizes, keys: Mapping[str, str], findings: Findings) -> None:
    batch, micro_batch, data = sizes.global_batch_size, sizes.micro_batch_size, sizes.data_parallelism
    # Whatever the data parallelism, the batch must be a multiple of the micro batch.
    at_once = sizes.sequences_at_once
    if batch is None or batch % at_once == 0:
        return
    factors = [f"micro batch size {micro_batch}"] if micro_batch else []
    factors += [f"data parallelism {data}"] if data else []
    product = f"{' × '.join(factors)} = {at_once}" if len(factors) > 1 else factors[0]
    findings.fault(
        keys["global_batch_size"],
        batch,
        f"The global batch size {batch} is not a multiple of {product}.",
        f"Choose {multiples_near(batch, at_once)}, or another micro batch size.",
    )


def multiples_near(size: int, unit: int) -> str:
    """Return, in words, the multiples of a unit around a size that is not one."""
    below = size // unit * unit
    return " or ".join(str(near) for near in (below, below + unit) if near)


def _check_sequence(sizes: Sizes, keys: Mapping[str, str], findings: Findings) -> None:
    sequence, tensor, context = sizes.sequence_length, sizes.tensor_parallelism, sizes.context_parallelism
    if sequence and context and context > 1 and sequence % (2 * context):
        # Each rank takes a piece from the front and one from the back, to balance the cost of causal attention.
        findings.fault(
            keys["sequence_length"],
            sequence,
            f"Context parallelism cannot divide {sequence} tokens into 2 × {context} pieces.",
            f"Choose a multiple of {2 * context}, or another context parallelism.",
        )
    elif sizes.sequence_parallel is not False and sequence and tensor and sequence % (tensor * (context or 1)):
        findings.fault(
            keys["sequence_length"],
            sequence,
            f"Sequence parallelism cannot divide {sequence // (context or 1)} tokens among {tensor} tensor-parallel "
            "ranks.",
            f"Choose a multiple of {tensor * (context or 1)}, or another tensor parallelism.",
        )


def _check_model(sizes: Sizes, dimensions: ModelDimensions, keys: Mapping[str, str], findings: Findings) -> None:
    tensor, pipeline = sizes.tensor_parallelism, sizes.pipeline_parallelism
    heads, groups, layers = dimensions.attention_heads, dimensions.query_groups, dimensions.layers
    if tensor and math.gcd(heads, groups) % tensor:
        findings.fault(
            keys["tensor_parallelism"],
            tensor,
            f"The model's {counted(heads, 'attention head')} and {counted(groups, 'query group')} cannot be divided "
            f"among {counted(tensor, 'tensor-parallel rank')}.",
            f"Choose one of {_divisors(math.gcd(heads, groups))}.",
        )
    if pipeline and layers % pipeline:
        findings.fault(
            keys["pipeline_parallelism"],
            pipeline,
            f"The model's {counted(layers, 'layer')} cannot be divided among {counted(pipeline, 'pipeline stage')}.",
            f"Choose one of {_divisors(layers)}.",
        )


def _divisors(number: int) -> str:
    return listed(str(divisor) for divisor in range(1, min(number, 1024) + 1) if number % divisor == 0)


OPTION = "training_scale_batch"
REFERENCE_NODES = "reference_nodes"


def scales_batch(scale: str | None, mode: str) -> bool:
    """Return whether the batch is tuned for the config's number of nodes rather than the run's."""
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


# A mean of fewer says nothing.
MIN_SAMPLES = 3
# What does not count of a run that is too short to find its steady pace.
ASSUMED_WARM_UP = 2
_FEWEST = ASSUMED_WARM_UP + MIN_SAMPLES
# Kernels of attention work on blocks of so many tokens; MaxText itself chooses none for less (attention_op.py).
_SHORTEST = 128


def warn_of_few_steps(steps: int | None, key: str, findings: Findings) -> None:
    """Warn of a run that cannot PASS, because too few steps would be left after the warm-up."""
    if steps is None or steps >= _FEWEST:
        return
    left = max(0, steps - ASSUMED_WARM_UP)
    findings.warn(
        key,
        steps,
        f"This run can never PASS: of {counted(steps, 'step')} {left or 'none'} would be left after a warm-up of "
        f"{ASSUMED_WARM_UP}, and at least {MIN_SAMPLES} have to count.",
        f"Train {_FEWEST} steps or more, ideally 30.",
    )


def warn_of_short_sequences(length: int | None, key: str, findings: Findings) -> None:
    """Warn of sequences that are shorter than an accelerator's kernels process at once."""
    if length is None or length >= _SHORTEST:
        return
    findings.warn(
        key,
        length,
        f"No model is trained with sequences of {counted(length, 'token')}: the attention kernels of accelerators work "
        f"on blocks of {_SHORTEST}.",
        "Choose a power of 2, such as 4096 or 8192.",
    )
