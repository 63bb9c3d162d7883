# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the sizes of a run divide: GPUs, parallelism, batch, and the model's own dimensions."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

if t.TYPE_CHECKING:
    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._faults import Findings


@dataclass(frozen=True)
class ModelDimensions:
    """What of a transformer has to divide: layers, attention heads, key/value heads (query groups)."""

    layers: int
    attention_heads: int
    query_groups: int


@dataclass(frozen=True)
class Sizes:
    """Sizes of one job. Batch sizes are in sequences, ``sequence_length`` in tokens, ``gpus`` counts all nodes."""

    gpus: int
    gpus_per_node: int
    tensor_parallelism: int
    pipeline_parallelism: int
    global_batch_size: int
    micro_batch_size: int
    sequence_length: int

    @property
    def data_parallelism(self) -> int:
        """Return how many replicas of the model there are; 0 where the GPUs do not suffice for one."""
        return self.gpus // (self.tensor_parallelism * self.pipeline_parallelism)

    @property
    def tokens_per_step_per_gpu(self) -> float:
        """Return the tokens that one GPU accounts for in one step."""
        return self.global_batch_size * self.sequence_length / self.gpus


def check_sizes(sizes: Sizes, dimensions: ModelDimensions | None, keys: dict[str, str], findings: Findings) -> None:
    """Note every size that does not divide as Megatron-LM demands.

    ``keys`` maps the field names of `Sizes` (and ``model_size``) to the key paths of the training config.
    Sources: megatron/training/arguments.py and megatron/core/num_microbatches_calculator.py of Megatron-LM.
    """
    tensor, pipeline = sizes.tensor_parallelism, sizes.pipeline_parallelism
    if sizes.gpus % (tensor * pipeline):
        findings.fault(
            keys["tensor_parallelism"],
            tensor,
            f"{sizes.gpus} GPUs ({sizes.gpus // sizes.gpus_per_node} nodes × {sizes.gpus_per_node}) cannot be shared "
            f"out by tensor parallelism {tensor} × pipeline parallelism {pipeline} = {tensor * pipeline}.",
            f"Take a product that divides {sizes.gpus}, other nodes, or correct training_gpus_per_node.",
        )
    else:
        _check_batch(sizes, keys, findings)
    if tensor > sizes.gpus_per_node:
        findings.warn(
            keys["tensor_parallelism"],
            tensor,
            f"tensor parallelism {tensor} reaches beyond one node of {sizes.gpus_per_node} GPUs: every layer waits for "
            "the network.",
            "Raise the pipeline parallelism instead.",
        )
    if tensor > 1 and sizes.sequence_length % tensor:
        findings.fault(
            keys["sequence_length"],
            sizes.sequence_length,
            f"sequence parallelism shares {sizes.sequence_length} tokens out to {tensor} tensor-parallel ranks, which "
            "does not divide.",
            f"Take a multiple of {tensor}.",
        )
    if dimensions:
        _check_model(sizes, dimensions, keys, findings)


def _check_batch(sizes: Sizes, keys: dict[str, str], findings: Findings) -> None:
    at_once = sizes.micro_batch_size * sizes.data_parallelism
    if sizes.global_batch_size % at_once == 0:
        return
    below = sizes.global_batch_size // at_once * at_once
    nearby = f"{below} or {below + at_once}" if below else str(at_once)
    findings.fault(
        keys["global_batch_size"],
        sizes.global_batch_size,
        f"the global batch size {sizes.global_batch_size} is not a multiple of micro batch size "
        f"{sizes.micro_batch_size} × data parallelism {sizes.data_parallelism} = {at_once}.",
        f"Take {nearby}, or another micro batch size.",
    )


def _check_model(sizes: Sizes, dimensions: ModelDimensions, keys: dict[str, str], findings: Findings) -> None:
    tensor, pipeline = sizes.tensor_parallelism, sizes.pipeline_parallelism
    counts = (("attention heads", dimensions.attention_heads), ("query groups", dimensions.query_groups))
    for what, count in counts:
        if count % tensor:
            findings.fault(
                keys["tensor_parallelism"],
                tensor,
                f"the model's {count} {what} cannot be shared out to {tensor} tensor-parallel ranks.",
                f"Take a divisor of {count}.",
            )
    if dimensions.layers % pipeline:
        findings.fault(
            keys["pipeline_parallelism"],
            pipeline,
            f"the model's {dimensions.layers} layers cannot be shared out to {pipeline} pipeline stages.",
            f"Take a divisor of {dimensions.layers}.",
        )
