# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rank of Primus keeps in memory, by the keys of its backend.

Source of the defaults: the presets in primus/configs of AMD-AGI/Primus.
"""

from __future__ import annotations

import typing as t

from ...formats.primus_yaml.keys import COUNT, FLAG, INTEGER
from ...job.architecture import Architecture
from ...job.memory import ALL, INPUT, OF_POLICY, SELECTIVE, XLA_LOGIT, Keeping
from .reading import PrimusReading
from .scale import Scale

# These options keep states in other formats, or on the host.
_NOT_ESTIMATED = ("use_precision_aware_optimizer", "optimizer_cpu_offload", "cpu_offloading")
_SHARDED = ("use_torch_fsdp2", "use_megatron_fsdp")
_KEPT_OF_TITAN = {"none": ALL, "full": INPUT}


def keeping_of(reading: PrimusReading, scale: Scale, shape: Architecture | str) -> Keeping | None:
    """Return the content of a rank's memory; None, without an estimate, if an image's experiment decides most of it."""
    return None if reading.in_image else _OF_BACKEND[reading.backend](reading, scale, shape)


def _of_megatron(reading: PrimusReading, scale: Scale, shape: Architecture | str) -> Keeping | None:
    keys, sizes = reading.keys, scale.sizes
    if any(keys.get(key, FLAG, False) for key in _NOT_ESTIMATED):
        return None
    whole = 4.0 if keys.get("grad_reduce_in_bf16", FLAG, False) else 6.0
    states = (0.0, whole + 12.0) if any(keys.get(key, FLAG, False) for key in _SHARDED) else (whole, 12.0)
    shards = (sizes.data_parallelism or 1) * (sizes.context_parallelism or 1)
    if keys.get("use_distributed_optimizer", FLAG, True) is False and states[0]:
        shards = 1
    return Keeping(*states, shards, _kept_layers(reading, sizes.pipeline_parallelism or 1, shape))


def _kept_layers(reading: PrimusReading, stages: int, shape: Architecture | str) -> float:
    """Return the part of the layers whose activations are not computed again."""
    keys = reading.keys
    if keys.text("recompute_granularity") != "full":
        return ALL
    again = keys.get("recompute_num_layers", INTEGER, 0) or 0
    if keys.text("recompute_method") != "block" or not isinstance(shape, Architecture):
        return INPUT
    return max(INPUT, ALL - again * stages / shape.layers)


def _of_titan(reading: PrimusReading, scale: Scale, _shape: Architecture | str) -> Keeping:
    copies = reading.keys.get("parallelism.data_parallel_replicate_degree", COUNT, 1) or 1
    shards = (scale.sizes.data_parallelism or 1) * (scale.sizes.context_parallelism or 1) // copies
    mode = reading.keys.text("activation_checkpoint.mode")
    return Keeping(0.0, 16.0, max(1, shards), _KEPT_OF_TITAN.get(mode, SELECTIVE))


def _of_maxtext(reading: PrimusReading, scale: Scale, _shape: Architecture | str) -> Keeping:
    weight = 4.0 if reading.keys.text("weight_dtype") == "float32" else 2.0
    kept = OF_POLICY.get(reading.keys.text("remat_policy"), INPUT)
    return Keeping(0.0, 4 * weight, scale.shards, kept, XLA_LOGIT)


_OF_BACKEND: dict[str, t.Callable[[PrimusReading, Scale, Architecture | str], Keeping | None]] = {
    "megatron": _of_megatron,
    # Its recipes, which the file does not show, decide.
    "megatron_bridge": lambda _reading, _scale, _shape: None,
    "torchtitan": _of_titan,
    "maxtext": _of_maxtext,
}
