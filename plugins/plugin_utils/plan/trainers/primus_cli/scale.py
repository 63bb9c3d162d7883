# SPDX-License-Identifier: GPL-3.0-or-later
"""How large a training of Primus is, by the keys of its backend.

Sources: the presets in primus/configs of AMD-AGI/Primus for the defaults; megatron/training/arguments.py of
Megatron-LM, torchtitan/distributed/parallel_dims.py of TorchTitan 0.2.2, and configs/base.yml of MaxText.
"""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass

from ....text.words import counted
from ...formats.primus_yaml.keys import COUNT, FLAG, INTEGER, POSITIVE, Keys
from ...job.sizes import Sizes, check_sizes
from .reading import PrimusReading


@dataclass(frozen=True)
class Scale:
    """The sizes of a job, its number of steps, its precision, and how many steps there are to a line of its log.

    ``shards`` is how many ranks share the weights, if axes of a mesh decide that.
    """

    sizes: Sizes
    steps: int | None
    precision: str
    steps_per_line: int | None = None
    shards: int = 1


def scale_of(reading: PrimusReading) -> Scale:
    """Return how large a training is, after reporting every size that does not divide."""
    return _OF_BACKEND[reading.backend](reading)


def _of_megatron(reading: PrimusReading) -> Scale:
    keys = reading.keys
    names = {
        "tensor_parallelism": "tensor_model_parallel_size",
        "pipeline_parallelism": "pipeline_model_parallel_size",
        "context_parallelism": "context_parallel_size",
        "expert_parallelism": "expert_model_parallel_size",
        "global_batch_size": "global_batch_size",
        "micro_batch_size": "micro_batch_size",
        "sequence_length": "seq_length",
    }
    unsaid = {name: None if reading.in_image or "parallelism" not in name else 1 for name in names}
    given = {name: keys.get(key, COUNT, unsaid[name]) for name, key in names.items()}
    given["expert_parallelism"] = given["expert_parallelism"] or 1
    parallel = keys.get("sequence_parallel", FLAG, False)
    sizes = Sizes(reading.nnodes, reading.options.training_gpus_per_node, sequence_parallel=parallel, **given)
    check_sizes(sizes, None, {name: keys.where(key) for name, key in names.items()}, reading.findings)
    _check_experts(sizes, names["expert_parallelism"], reading)
    return Scale(
        sizes,
        keys.get("train_iters", COUNT),
        _precision_of_megatron(keys),
        keys.get("log_interval", COUNT, 1),
    )


def _check_experts(sizes: Sizes, key: str, reading: PrimusReading) -> None:
    world, pipeline, expert = sizes.gpus, sizes.pipeline_parallelism, sizes.expert_parallelism
    if world and pipeline and expert and world % (pipeline * expert):
        reading.findings.fault(
            reading.keys.where(key),
            expert,
            f"The {counted(world, 'GPU')} cannot be divided into groups of expert parallelism {expert} × pipeline "
            f"parallelism {pipeline} = {pipeline * expert}.",
            f"Choose a product that divides {world}, or other nodes.",
        )


def _precision_of_megatron(keys: Keys) -> str:
    if keys.text("fp4"):
        return "mxfp4" if "mxfp4" in (keys.text("fp4"), keys.text("fp4_recipe")) else "nvfp4"
    if keys.text("fp8"):
        return "mxfp8" if keys.text("fp8_recipe") == "mxfp8" else "fp8"
    if keys.get("fp16", FLAG, False):
        return "fp16"
    return "fp32" if keys.get("bf16", FLAG, True) is False else "bf16"


def _of_titan(reading: PrimusReading) -> Scale:
    keys = reading.keys
    tensor, pipeline, context, expert = (
        keys.get(f"parallelism.{kind}_parallel_degree", COUNT, 1)
        for kind in ("tensor", "pipeline", "context", "expert")
    )
    local = keys.get("training.local_batch_size", COUNT)
    whole = keys.get("training.global_batch_size", INTEGER, -1)
    sizes = Sizes(
        reading.nnodes,
        reading.options.training_gpus_per_node,
        tensor,
        pipeline,
        None if whole is None or whole < 0 else whole,
        local,
        keys.get("training.seq_len", COUNT),
        context_parallelism=context,
        expert_parallelism=expert,
        sequence_parallel=False,
    )
    names = {
        "tensor_parallelism": "parallelism.tensor_parallel_degree",
        "global_batch_size": "training.global_batch_size",
        "sequence_length": "training.seq_len",
    }
    check_sizes(sizes, None, {name: keys.where(key) for name, key in names.items()}, reading.findings)
    _check_shards(sizes, reading)
    if whole is not None and whole < 0 and local and sizes.data_parallelism:
        sizes = _with_batch(sizes, local * sizes.data_parallelism)
    return Scale(
        sizes,
        keys.get("training.steps", COUNT),
        _precision_of_titan(keys),
        keys.get("metrics.log_freq", COUNT, 10),
    )


def _check_shards(sizes: Sizes, reading: PrimusReading) -> None:
    """Report copies and shards that are not as many as there is data parallelism; -1 shards are as many as fit."""
    keys, data = reading.keys, sizes.data_parallelism
    key = "parallelism.data_parallel_shard_degree"
    copies, shards = keys.get("parallelism.data_parallel_replicate_degree", INTEGER, 1), keys.get(key, INTEGER, -1)
    if not data or not copies or not shards or copies < 0:
        return
    wrong = data % copies if shards < 0 else copies * shards != data
    if wrong:
        reading.findings.fault(
            keys.where(key),
            shards,
            f"The {counted(sizes.gpus or 0, 'GPU')} have {data} parts of data parallelism, not {copies} × {shards} "
            "(data_parallel_replicate_degree × data_parallel_shard_degree).",
            f"Set it to -1, or choose a product of {data}.",
        )


def _precision_of_titan(keys: Keys) -> str:
    converters = keys.text("model.converters")
    if "mx" in converters:
        return "mxfp8"
    return "fp8" if "float8" in converters else "bf16"


_AXES = ("data", "fsdp", "fsdp_transpose", "sequence", "context", "tensor", "tensor_transpose", "tensor_sequence")
_OTHER_AXES = ("expert", "autoregressive", "pipeline", "context_autoregressive")
# The axes whose length may be -1, for the rest.
_REST = {"ici": "fsdp", "dcn": "data"}


def _of_maxtext(reading: PrimusReading) -> Scale:
    keys, gpus = reading.keys, reading.options.training_gpus_per_node
    within = _axes("ici", gpus, "GPUs of a node", reading)
    between = _axes("dcn", reading.nnodes, "nodes", reading)
    of_gpu = keys.get("per_device_batch_size", POSITIVE)
    accumulated = keys.get("gradient_accumulation_steps", COUNT, 1)
    world = reading.nnodes * gpus
    sizes = Sizes(
        reading.nnodes,
        gpus,
        within["tensor"] * between["tensor"],
        within["pipeline"] * between["pipeline"],
        round(of_gpu * world * accumulated) if of_gpu and accumulated and world else None,
        of_gpu,
        keys.get("max_target_length", COUNT),
        context_parallelism=within["context"] * between["context"],
        expert_parallelism=within["expert"] * between["expert"],
    )
    named = keys.text("quantization") or keys.text("dtype") or "bfloat16"
    precision = {"bfloat16": "bf16", "float32": "fp32"}.get(named, named)
    shards = math.prod(within[axis] * between[axis] for axis in ("fsdp", "fsdp_transpose", "expert"))
    return Scale(sizes, keys.get("steps", COUNT), precision, shards=shards)


def _axes(kind: str, available: int, what: str, reading: PrimusReading) -> dict[str, int]:
    """Return the length of each axis of the mesh, and report lengths that do not fill it; -1 takes the rest."""
    keys, rest = reading.keys, _REST[kind]
    given = {
        axis: keys.get(f"{kind}_{axis}_parallelism", INTEGER, -1 if axis == rest else 1) or 1
        for axis in (*_AXES, *_OTHER_AXES)
    }
    open_axes = [axis for axis, length in given.items() if length < 0]
    product = math.prod(length for length in given.values() if length > 0)
    if available and (available % product if open_axes else available != product):
        key = f"{kind}_{open_axes[0] if open_axes else rest}_parallelism"
        reading.findings.fault(
            keys.where(key),
            given[key.removeprefix(f"{kind}_").removesuffix("_parallelism")],
            f"The {kind}_ axes of the mesh are {product} long together, but there are {available} {what}.",
            f"Set {kind}_{rest}_parallelism to -1, or choose a product of {available}.",
        )
        return dict.fromkeys(given, 1)
    left = available // product if available else 1
    return {axis: length if length > 0 else left if axis == open_axes[0] else 1 for axis, length in given.items()}


def _with_batch(sizes: Sizes, batch: int) -> Sizes:
    return Sizes(**{**vars(sizes), "global_batch_size": batch})


_OF_BACKEND: dict[str, t.Callable[[PrimusReading], Scale]] = {
    "megatron": _of_megatron,
    "megatron_bridge": _of_megatron,
    "torchtitan": _of_titan,
    "maxtext": _of_maxtext,
}
