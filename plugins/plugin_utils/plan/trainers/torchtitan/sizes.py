# SPDX-License-Identifier: GPL-3.0-or-later
"""The sizes of a TorchTitan job, and which of them must divide.

Sources: torchtitan/distributed/parallel_dims.py and torchtitan/train.py of pytorch/torchtitan 0.2.2.
"""

from __future__ import annotations

import math

from ....text.words import counted
from ...job.architecture import Architecture
from ...job.sizes import ModelDimensions, Sizes
from ...job.sizes import check_sizes as check_division
from .architecture import architecture_of
from .reading import TorchTitanReading

_SHARD = "parallelism.data_parallel_shard_degree"
_REPLICATE = "parallelism.data_parallel_replicate_degree"
_EXPERT = "parallelism.expert_parallel_degree"
_EXPERT_TENSOR = "parallelism.expert_tensor_parallel_degree"
_MICROBATCH = "parallelism.pipeline_parallel_microbatch_size"
KEYS = {
    "tensor_parallelism": "parallelism.tensor_parallel_degree",
    "pipeline_parallelism": "parallelism.pipeline_parallel_degree",
    "context_parallelism": "parallelism.context_parallel_degree",
    "global_batch_size": "training.global_batch_size",
    "micro_batch_size": "training.local_batch_size",
    "sequence_length": "training.seq_len",
}


def sizes_of(reading: TorchTitanReading) -> Sizes:
    """Return the sizes of one job; a global batch size of -1 means as many sequences as all GPUs take at once."""
    given = {name: reading.get(path) for name, path in KEYS.items()}
    batch = given.pop("global_batch_size")
    sizes = Sizes(
        nodes=reading.nnodes if reading.nodes else None,
        gpus_per_node=reading.options.training_gpus_per_node,
        expert_parallelism=reading.get(_EXPERT) or 1,
        global_batch_size=batch if batch and batch > 0 else None,
        **given,
    )
    if batch == -1 and sizes.data_parallelism and sizes.micro_batch_size:
        return Sizes(**{**vars(sizes), "global_batch_size": sizes.sequences_at_once})
    return sizes


def check_sizes(sizes: Sizes, reading: TorchTitanReading) -> None:
    """Report every size that does not divide."""
    shape = architecture_of(reading)
    dimensions = None
    if isinstance(shape, Architecture) and sizes.pipeline_parallelism:
        # Layers need not divide: stages may have one more or less.
        dimensions = ModelDimensions(sizes.pipeline_parallelism, shape.attention_heads, shape.query_groups)
    check_division(sizes, dimensions, KEYS, reading.findings)
    _check_mesh(sizes, reading)
    _check_experts(sizes, reading)
    batch, shard = reading.get(KEYS["global_batch_size"]), reading.get(_SHARD)
    for path, value in ((KEYS["global_batch_size"], batch), (_SHARD, shard)):
        if value is not None and value < 1 and value != -1:
            reading.fault(path, f"{value} is neither -1 nor a number of 1 or more.", "Set -1 to have it computed.")
    microbatch, local = reading.get(_MICROBATCH), sizes.micro_batch_size
    if (sizes.pipeline_parallelism or 1) > 1 and microbatch and local and local % microbatch:
        reading.fault(
            KEYS["micro_batch_size"],
            f"The pipeline cannot divide {counted(local, 'sequence')} into micro batches of {microbatch}.",
            f"Choose a multiple of {microbatch}, or another {_MICROBATCH}.",
        )


def _check_mesh(sizes: Sizes, reading: TorchTitanReading) -> None:
    replicate, shard, data = reading.get(_REPLICATE), reading.get(_SHARD), sizes.data_parallelism
    if not data or not replicate or shard is None:
        return
    if data % replicate:
        reading.fault(
            _REPLICATE,
            f"The data parallelism {data} cannot be divided among {replicate} copies.",
            f"Choose a divisor of {data}.",
        )
    elif shard > 0 and replicate * shard != data:
        reading.fault(
            _SHARD,
            f"Of {counted(sizes.gpus or 0, 'GPU')}, {data} are data-parallel, but data_parallel_replicate_degree "
            f"{replicate} × data_parallel_shard_degree {shard} = {replicate * shard}.",
            f"Set it to {data // replicate}, or to -1.",
        )


def _check_experts(sizes: Sizes, reading: TorchTitanReading) -> None:
    expert, of_expert = sizes.expert_parallelism, reading.get(_EXPERT_TENSOR)
    tensor, context, replicate = sizes.tensor_parallelism, sizes.context_parallelism, reading.get(_REPLICATE)
    if expert == 1 or not tensor or not context or not of_expert:
        return
    if of_expert not in (1, tensor):
        reading.fault(_EXPERT_TENSOR, f"It must be 1, or tensor_parallel_degree, {tensor}.", "Set it to one of them.")
        return
    own = context if of_expert == tensor else context * tensor
    if expert % own:
        reading.fault(_EXPERT, f"{expert} is not a multiple of {own}.", f"Choose a multiple of {own}.")
    elif sizes.data_parallelism and replicate:
        shared = math.floor(sizes.data_parallelism / replicate) * own
        if shared % expert:
            reading.fault(
                _EXPERT, f"{shared} GPUs cannot be divided into groups of {expert}.", f"Choose a divisor of {shared}."
            )
