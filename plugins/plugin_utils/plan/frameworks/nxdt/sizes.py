# SPDX-License-Identifier: GPL-3.0-or-later
"""The sizes of an NxDT job, and which of them have to divide.

Sources: neuronx_distributed/parallel_layers/parallel_state.py (parallelism), lightning_modules/data/base.py
(micro batches) and models/megatron/transformer.py (heads, layers) of NxD and NxDT. Numbers of micro batches are cut
off there without a word, so nothing but this check reports a global batch size that does not divide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...config.words import counted
from .reading import NxdtReading

_TENSOR = "distributed_strategy.tensor_model_parallel_size"
_PIPELINE = "distributed_strategy.pipeline_model_parallel_size"
_VIRTUAL = "distributed_strategy.virtual_pipeline_model_parallel_size"
_CONTEXT = "distributed_strategy.context_parallel_size"
_EXPERT = "distributed_strategy.expert_model_parallel_size"
_REPLICATOR = "distributed_strategy.kv_replicator"


@dataclass(frozen=True)
class NxdtSizes:
    """Sizes of one job, None where one is not known. Batch sizes are in sequences, the sequence length in tokens."""

    nodes: int
    devices: int | None
    tensor: int | None
    pipeline: int | None
    context: int
    expert: int
    global_batch: int | None
    micro_batch: int | None
    sequence_length: int | None

    @property
    def world(self) -> int | None:
        """Return the devices of all nodes."""
        return self.nodes * self.devices if self.nodes and self.devices else None

    @property
    def data(self) -> int | None:
        """Return how many replicas of the model there are; None where the devices cannot be shared out to replicas."""
        if not self.world or not self.tensor or not self.pipeline:
            return None
        replica = self.tensor * self.pipeline * self.context
        return None if self.world % replica else self.world // replica

    @property
    def tokens_per_sequence_per_device(self) -> float | None:
        """Return the tokens of one sequence that one device accounts for."""
        return self.sequence_length / self.world if self.world and self.sequence_length else None

    @property
    def tokens_per_step_per_device(self) -> float | None:
        """Return the tokens that one device accounts for in one step."""
        of_sequence = self.tokens_per_sequence_per_device
        return self.global_batch * of_sequence if self.global_batch and of_sequence else None


def sizes_of(reading: NxdtReading) -> NxdtSizes:
    """Return the sizes of one job."""
    return NxdtSizes(
        nodes=reading.nnodes,
        devices=reading.get("trainer.devices"),
        tensor=reading.get(_TENSOR),
        pipeline=reading.get(_PIPELINE),
        context=reading.get(_CONTEXT) or 1,
        expert=reading.get(_EXPERT) or 1,
        global_batch=reading.get("data.global_batch_size"),
        micro_batch=reading.get("data.micro_batch_size"),
        sequence_length=reading.sequence_length,
    )


def check_sizes(sizes: NxdtSizes, reading: NxdtReading) -> None:
    """Note every size that does not divide."""
    _check_world(sizes, reading)
    _check_batch(sizes, reading)
    _check_sequence(sizes, reading)
    _check_heads(sizes, reading)
    _check_layers(sizes, reading)


def _check_world(sizes: NxdtSizes, reading: NxdtReading) -> None:
    if not sizes.world or not sizes.tensor or not sizes.pipeline:
        return
    groups = {
        _TENSOR: {"tensor": sizes.tensor, "pipeline": sizes.pipeline, "context": sizes.context},
        _EXPERT: {"tensor": sizes.tensor, "pipeline": sizes.pipeline, "expert": sizes.expert},
    }
    for key, factors in groups.items():
        product = math.prod(factors.values())
        if sizes.world % product and not (key == _EXPERT and sizes.expert == 1):
            described = " × ".join(f"{name} {size}" for name, size in factors.items())
            reading.fault(
                key,
                f"The {counted(sizes.world, 'device')} ({counted(sizes.nodes, 'node')} × {sizes.devices}) cannot be "
                f"divided into groups of {described} = {product}.",
                f"Choose a product that divides {sizes.world}, or other nodes.",
            )


def _check_batch(sizes: NxdtSizes, reading: NxdtReading) -> None:
    batch, micro, data = sizes.global_batch, sizes.micro_batch, sizes.data
    at_once = (micro or 1) * (data or 1)
    if batch is None or batch % at_once == 0:
        return
    below = batch // at_once * at_once
    nearby = " or ".join(str(size) for size in (below, below + at_once) if size)
    reading.findings.fault(
        "data.global_batch_size",
        batch,
        f"The global batch size {batch} is not a multiple of micro batch size {micro or 1} × data parallelism "
        f"{data or 1} = {at_once}; NxDT would train on a smaller one without a word.",
        f"Choose {nearby}, or another micro batch size.",
    )


def _check_sequence(sizes: NxdtSizes, reading: NxdtReading) -> None:
    length, parallel = reading.get("model.encoder_seq_length"), reading.get("distributed_strategy.sequence_parallel")
    if parallel and sizes.tensor == 1:
        reading.warn(
            "distributed_strategy.sequence_parallel",
            "sequence_parallel has no effect: NxDT switches it off where the tensor parallelism is 1.",
            "Set it to False.",
        )
    if length and parallel and sizes.tensor and length % (sizes.tensor * sizes.context):
        reading.fault(
            "model.encoder_seq_length",
            f"Sequence parallelism cannot divide {length} tokens among tensor {sizes.tensor} × context "
            f"{sizes.context} devices.",
            f"Choose a multiple of {sizes.tensor * sizes.context}.",
        )
    elif length and length % sizes.context:
        reading.fault(
            "model.encoder_seq_length",
            f"Context parallelism cannot divide {length} tokens among {counted(sizes.context, 'device')}.",
            f"Choose a multiple of {sizes.context}.",
        )


def _check_heads(sizes: NxdtSizes, reading: NxdtReading) -> None:
    heads, groups = reading.get("model.num_attention_heads"), reading.get("model.num_kv_heads")
    replicator = reading.get(_REPLICATOR) or 1
    if not sizes.tensor:
        return
    if replicator > 1 and not reading.get("model.qkv_linear") and reading.get("model_source") == "hf":
        reading.warn(
            _REPLICATOR,
            "kv_replicator has no effect without model.qkv_linear.",
            "Set model.qkv_linear to True, or leave kv_replicator out.",
        )
    elif sizes.tensor % replicator:
        reading.fault(
            _REPLICATOR,
            f"The tensor parallelism {sizes.tensor} is not a multiple of kv_replicator {replicator}.",
            f"Choose a divisor of {sizes.tensor}.",
        )
    # For model_source hf the heads stand in config.json, which lies on the nodes.
    if heads and heads % sizes.tensor:
        reading.fault(
            "model.num_attention_heads",
            f"The {counted(heads, 'attention head')} cannot be divided among "
            f"{counted(sizes.tensor, 'tensor-parallel device')}.",
            "Choose a tensor parallelism that divides them.",
        )
    if groups and groups * replicator % sizes.tensor:
        reading.fault(
            "model.num_kv_heads",
            f"The {counted(groups, 'key/value head')} × kv_replicator {replicator} cannot be divided among "
            f"{counted(sizes.tensor, 'tensor-parallel device')}.",
            f"A kv_replicator of {sizes.tensor // math.gcd(groups, sizes.tensor)} would do, with model.qkv_linear.",
        )


def _check_layers(sizes: NxdtSizes, reading: NxdtReading) -> None:
    layers, cuts = reading.get("model.num_layers"), reading.get("model.pipeline_cuts")
    virtual = reading.get(_VIRTUAL) or 1
    if not sizes.pipeline:
        return
    if virtual > 1 and sizes.pipeline == 1:
        reading.fault(_VIRTUAL, "There is nothing to interleave without pipeline parallelism.", "Set it to 1.")
    stages = sizes.pipeline * virtual
    # NxD shares the layers of model_source hf out unevenly where it has to; NxDT's Megatron model asserts.
    even = reading.get("model_source") != "hf"
    if layers and cuts is None and (layers % stages if even else layers < stages):
        reading.fault(
            _PIPELINE,
            f"The {counted(layers, 'layer')} cannot be divided among {counted(stages, 'pipeline stage')}.",
            f"Choose {f'a divisor of {layers}' if even else f'{layers} or fewer'}, or name model.pipeline_cuts.",
        )
    if cuts is not None and len(cuts) != stages - 1:
        reading.fault(
            "model.pipeline_cuts",
            f"There {'is' if len(cuts) == 1 else 'are'} {counted(len(cuts), 'cut')} for "
            f"{counted(stages, 'pipeline stage')}.",
            f"Name {counted(stages - 1, 'layer')}, one fewer than stages.",
        )
