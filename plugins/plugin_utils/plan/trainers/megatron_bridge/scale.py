# SPDX-License-Identifier: GPL-3.0-or-later
"""How large the training of a recipe is, as far as the file and the recipe's name say: the recipe itself is Python."""

from __future__ import annotations

from ...config.kinds import Kind
from ...job.architecture import KNOWN_MODELS, Architecture, known_model
from ...job.reading import COUNT
from ...job.sizes import Sizes, check_sizes
from .reading import FLAG, BridgeReading

# Paths in Bridge's ConfigContainer.
STEPS, INTERVAL, BATCH = "train.train_iters", "logger.log_interval", "train.global_batch_size"
EXIT, UNLOGGED = "train.exit_interval", "logger.skip_train_metrics_log"
_LENGTHS = ("dataset.seq_length", "dataset.sequence_length", "model.seq_length")
_SIZES = {
    "tensor_parallelism": "model.tensor_model_parallel_size",
    "pipeline_parallelism": "model.pipeline_model_parallel_size",
    "context_parallelism": "model.context_parallel_size",
    "global_batch_size": BATCH,
    "micro_batch_size": "train.micro_batch_size",
}
_EXPERTS, _SEQUENCE_PARALLEL = "model.expert_model_parallel_size", "model.sequence_parallel"
# Values that are written with their type, however the file has them.
KINDS: dict[str, Kind] = {
    **dict.fromkeys((STEPS, INTERVAL, EXIT, _EXPERTS, *_SIZES.values(), *_LENGTHS), COUNT),
    **dict.fromkeys((_SEQUENCE_PARALLEL, UNLOGGED), FLAG),
}
_SHAPE = ("num_layers", "hidden_size", "ffn_hidden_size", "num_attention_heads", "num_query_groups", "num_moe_experts")
# The names of Bridge's mixed precisions contain these (src/megatron/bridge/training/mixed_precision.py).
_PRECISIONS = {"nvfp4": "nvfp4", "mxfp8": "mxfp8", "fp8": "fp8", "fp16": "fp16", "bf16": "bf16"}


def sizes_of(reading: BridgeReading) -> Sizes:
    """Return the sizes of one job, None if only the recipe has them, after reporting sizes that do not divide."""
    given = {name: reading.given(path) for name, path in _SIZES.items()}
    length = next((path for path in _LENGTHS if path in reading.overrides), _LENGTHS[0])
    sizes = Sizes(
        nodes=reading.nnodes if reading.nodes else None,
        gpus_per_node=reading.options.training_gpus_per_node,
        sequence_length=reading.given(length),
        expert_parallelism=reading.given(_EXPERTS) or 1,
        sequence_parallel=reading.given(_SEQUENCE_PARALLEL, FLAG) or False,
        **given,
    )
    keys = {name: reading.where(path) for name, path in {**_SIZES, "sequence_length": length}.items()}
    check_sizes(sizes, None, keys, reading.findings)
    return sizes


def precision_of(reading: BridgeReading) -> str:
    """Return the precision: from ``mixed_precision``, else from the recipe's name, else BF16."""
    named = reading.text("mixed_precision").replace("_", "").casefold()
    found = next((precision for part, precision in _PRECISIONS.items() if part in named), "")
    return found or reading.name.precision or "bf16"


def architecture_of(reading: BridgeReading) -> Architecture | str:
    """Return the shape of the model, or why it is unknown."""
    if changed := [key for key in _SHAPE if f"model.{key}" in reading.overrides]:
        return f"The file changes the shape of {reading.name.model} ({', '.join(changed)})."
    known = known_model(reading.name.model)
    return KNOWN_MODELS[known] if known else f"The dimensions of the model {reading.name.model} are not known."
