# SPDX-License-Identifier: GPL-3.0-or-later
"""The sizes of an NxDT job, and which of them must divide.

Sources: neuronx_distributed/parallel_layers/parallel_state.py (parallelism), lightning_modules/data/base.py
(micro batches) and models/megatron/transformer.py (heads, layers) of NxD and NxDT. Numbers of micro batches are cut
off there without a word, so nothing but this check reports a global batch size that does not divide.
"""

from __future__ import annotations

import math

from ....text.words import counted
from ...job.sizes import Sizes, multiples_near
from .reading import NxdtReading

_TENSOR = "distributed_strategy.tensor_model_parallel_size"
_PIPELINE = "distributed_strategy.pipeline_model_parallel_size"
_VIRTUAL = "distributed_strategy.virtual_pipeline_model_parallel_size"
_CONTEXT = "distributed_strategy.context_parallel_size"
_EXPERT = "distributed_strategy.expert_model_parallel_size"
_REPLICATOR = "distributed_strategy.kv_replicator"


def sizes_of(reading: NxdtReading) -> Sizes:
    """Return the sizes of one job."""
    return Sizes(
        nodes=reading.nnodes,
        gpus_per_node=reading.get("trainer.devices"),
        tensor_parallelism=reading.get(_TENSOR),
        pipeline_parallelism=reading.get(_PIPELINE),
        context_parallelism=reading.get(_CONTEXT) or 1,
        expert_parallelism=reading.get(_EXPERT) or 1,
        global_batch_size=reading.get("data.global_batch_size"),
        micro_batch_size=reading.get("data.micro_batch_size"),
        sequence_length=reading.get("data.seq_length") or reading.get("model.encoder_seq_length"),
    )


def check_sizes(sizes: Sizes, reading: NxdtReading) -> None:
    """Report every size that does not divide."""
    _check_world(sizes, reading)
    _check_batch(sizes, reading)
    _check_sequence(sizes, reading)
    _check_heads(sizes, reading)
    _check_layers(sizes, reading)


def _check_world(sizes: Sizes, reading: NxdtReading) -> None:
    world, tensor, pipeline = sizes.gpus, sizes.tensor_parallelism, sizes.pipeline_parallelism
    context, expert = sizes.context_parallelism or 1, sizes.expert_parallelism
    if not world or not tensor or not pipeline:
        return
    groups = {
        _TENSOR: {"tensor": tensor, "pipeline": pipeline, "context": context},
        _EXPERT: {"tensor": tensor, "pipeline": pipeline, "expert": expert},
    }
    for key, factors in groups.items():
        product = math.prod(factors.values())
        if world % product and not (key == _EXPERT and expert == 1):
            described = " × ".join(f"{name} {size}" for name, size in factors.items())
            reading.fault(
                key,
                f"The {counted(world, 'device')} ({counted(sizes.nodes or 0, 'node')} × {sizes.gpus_per_node}) cannot "
                f"be divided into groups of {described} = {product}.",
                f"Choose a product that divides {world}, or other nodes.",
            )


def _check_batch(sizes: Sizes, reading: NxdtReading) -> None:
    batch, at_once = sizes.global_batch_size, sizes.sequences_at_once
    if batch is None or batch % at_once == 0:
        return
    reading.findings.fault(
        "data.global_batch_size",
        batch,
        f"The global batch size {batch} is not a multiple of micro batch size {sizes.micro_batch_size or 1} × data "
        f"parallelism {sizes.data_parallelism or 1} = {at_once}; NxDT would silently train on a smaller one.",
        f"Choose {multiples_near(batch, at_once)}, or another micro batch size.",
    )


def _check_sequence(sizes: Sizes, reading: NxdtReading) -> None:
    length, parallel = reading.get("model.encoder_seq_length"), reading.get("distributed_strategy.sequence_parallel")
    tensor, context = sizes.tensor_parallelism, sizes.context_parallelism or 1
    if parallel and tensor == 1:
        reading.warn(
            "distributed_strategy.sequence_parallel",
            "sequence_parallel has no effect: NxDT turns it off when tensor parallelism is 1.",
            "Set it to False.",
        )
    if length and parallel and tensor and length % (tensor * context):
        reading.fault(
            "model.encoder_seq_length",
            f"Sequence parallelism cannot divide {length} tokens among tensor {tensor} × context {context} devices.",
            f"Choose a multiple of {tensor * context}.",
        )
    elif length and length % context:
        reading.fault(
            "model.encoder_seq_length",
            f"Context parallelism cannot divide {length} tokens among {counted(context, 'device')}.",
            f"Choose a multiple of {context}.",
        )


def _check_heads(sizes: Sizes, reading: NxdtReading) -> None:
    heads, groups = reading.get("model.num_attention_heads"), reading.get("model.num_kv_heads")
    tensor, replicator = sizes.tensor_parallelism, reading.get(_REPLICATOR) or 1
    if not tensor:
        return
    if replicator > 1 and not reading.get("model.qkv_linear") and reading.get("model_source") == "hf":
        reading.warn(
            _REPLICATOR,
            "kv_replicator has no effect without model.qkv_linear.",
            "Set model.qkv_linear to True, or leave kv_replicator out.",
        )
    elif tensor % replicator:
        reading.fault(
            _REPLICATOR,
            f"The tensor parallelism {tensor} is not a multiple of kv_replicator {replicator}.",
            f"Choose a divisor of {tensor}.",
        )
    # For model_source hf the heads are in config.json, on the nodes.
    if heads and heads % tensor:
        reading.fault(
            "model.num_attention_heads",
            f"The {counted(heads, 'attention head')} cannot be divided among "
            f"{counted(tensor, 'tensor-parallel device')}.",
            "Choose a tensor parallelism that divides them.",
        )
    if heads and groups and heads % groups:
        reading.fault(
            "model.num_kv_heads",
            f"The {counted(heads, 'attention head')} cannot be divided among {counted(groups, 'key/value head')}.",
            f"Choose a divisor of {heads}.",
        )
    hidden = reading.get("model.hidden_size")
    if heads and hidden and hidden % heads and reading.get("model.kv_channels") is None:
        reading.fault(
            "model.hidden_size",
            f"It cannot be divided among {counted(heads, 'attention head')}, and kv_channels is not set.",
            f"Choose a multiple of {heads}, or set model.kv_channels.",
        )
    if groups and groups * replicator % tensor:
        reading.fault(
            "model.num_kv_heads",
            f"The {counted(groups, 'key/value head')} × kv_replicator {replicator} cannot be divided among "
            f"{counted(tensor, 'tensor-parallel device')}.",
            f"A kv_replicator of {tensor // math.gcd(groups, tensor)} would do, with model.qkv_linear.",
        )


def _check_layers(sizes: Sizes, reading: NxdtReading) -> None:
    layers, cuts = reading.get("model.num_layers"), reading.get("model.pipeline_cuts")
    pipeline, virtual = sizes.pipeline_parallelism, reading.get(_VIRTUAL) or 1
    if not pipeline:
        return
    if virtual > 1 and pipeline == 1:
        reading.fault(_VIRTUAL, "There is nothing to interleave without pipeline parallelism.", "Set it to 1.")
    stages = pipeline * virtual
    # NxD distributes the layers of model_source hf unevenly if necessary; NxDT's Megatron model asserts.
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
