# SPDX-License-Identifier: GPL-3.0-or-later
"""How much of a GPU's memory a training takes.

The part of a layer's activations that stays in memory when the backward pass recomputes the rest.

A part is 1 where all activations are kept, and 0 where only the layer's input is. For policies by name, it is the share
of the saved products in a layer with a gated feed-forward part and few key/value heads, such as Llama 3's.

How much memory a training takes on each accelerator: weights, gradients, optimizer, activations and logits.

The activations of a layer are the ones that a backward pass needs, with attention that keeps no matrix of scores, as in
"Reducing Activation Recomputation in Large Transformer Models" (arXiv 2205.05198). docs/memory.md compares the
estimates with published figures: they are 1 % higher to 33 % lower, because allocators, kernels and communication
libraries take memory as well. So a training that is estimated not to fit does not fit, and one that is estimated to fit
may not.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...contracts import Parameters
from ..config.findings import Findings
from .architecture import Architecture, expert_parameters_of, parameters_of
from .peaks import accelerator_of

ALL, INPUT = 1.0, 0.0
# Every second product: selective activation checkpointing of operators keeps it.
SELECTIVE = 0.5

# Policies of jax.checkpoint, by the products that get_remat_policy saves (layers/decoders.py of the trainer that
# defines them). The policy "none" saves nothing, like "full".
OF_POLICY = {
    "minimal": 0.68,
    **dict.fromkeys(("minimal_flash", "minimal_with_context"), 0.74),
    "save_dot_with_context_except_mlp": 0.25,
    "save_dot_except_mlpwi": 0.25,
    "save_dot_except_mlp": 0.2,
    "save_qkv_proj": 0.1,
    "save_out_proj": 0.1,
}
# XLA fuses a logit's copies: measured are 4.6 to 4.7 bytes.
XLA_LOGIT = 5.0


# In GiB for one chip, or one die of MI250 and MI250X, of the same sources as the peaks.
_MEMORY_GIB = {
    "mi210": 64.0,
    "mi250": 64.0,
    "mi250x": 64.0,
    "mi300x": 192.0,
    "mi325x": 256.0,
    "mi350x": 288.0,
    "mi355x": 288.0,
    "a100": 80.0,
    "h100": 80.0,
    "h100pcie": 80.0,
    "h200": 141.0,
    "b200": 180.0,
    "gb200": 186.0,
    "v4": 32.0,
    "v5e": 16.0,
    "v5p": 95.0,
    "v6e": 32.0,
    "trn1": 32.0,
    "trn2": 96.0,
}
_GIB = 1024.0**3
# Each logit is kept in 16 bits, in 32 bits, and as a gradient.
_LOGIT_BYTES = 10.0
# An estimate this far above the memory certainly does not fit: no estimate is this far above a published figure.
_CERTAIN = 1.1


@dataclass(frozen=True)
class Keeping:
    """What a rank keeps.

    ``whole`` and ``sharded`` are the bytes of a parameter's weight, gradient and optimizer state, the latter divided
    among ``shards`` ranks. ``activations`` is the part of a layer's activations that is not computed again: 1 for all,
    0 where only the layer's input is kept. ``logit`` is the bytes of each logit of a micro batch.
    """

    whole: float
    sharded: float
    shards: int
    activations: float
    logit: float = _LOGIT_BYTES


class Estimate(t.NamedTuple):
    """GiB on one accelerator: of weights, gradients and optimizer, of activations, and of logits."""

    states: float
    activations: float
    logits: float

    @property
    def total(self) -> float:
        """Return the sum."""
        return sum(self)


def estimated(shape: Architecture, parameters: Parameters, keeping: Keeping, narrow: bool) -> Estimate:
    """Return how much a training takes; ``narrow`` tells whether inputs of matrix products are kept in FP8."""
    tensor, pipeline = parameters["tensor_parallelism"] or 1, parameters["pipeline_parallelism"] or 1
    context = parameters.get("context_parallelism") or 1
    tokens = (parameters["micro_batch_size"] or 0) * (parameters["sequence_length"] or 0) / context
    states = _state_bytes(shape, keeping, parameters.get("expert_parallelism") or 1) / (tensor * pipeline)
    # The first stage of a pipeline keeps as many micro batches as there are stages.
    layer, inputs = _layer_bytes(shape, narrow) / tensor, 2.0 * shape.hidden_size / tensor
    kept = shape.layers * (inputs + keeping.activations * (layer - inputs)) + (1 - keeping.activations) * layer
    logits = keeping.logit * shape.vocabulary_size / tensor if pipeline == 1 else 0.0
    return Estimate(*(size / _GIB for size in (states, tokens * kept, tokens * logits)))


def _state_bytes(shape: Architecture, keeping: Keeping, expert_parallelism: int) -> float:
    """Return the bytes of weights, gradients and optimizer; ranks with different experts share none of theirs."""
    of_experts = expert_parameters_of(shape)
    shards = max(1.0, keeping.shards / expert_parallelism)
    of_others = (parameters_of(shape) - of_experts) * (keeping.whole + keeping.sharded / keeping.shards)
    return of_others + of_experts / expert_parallelism * (keeping.whole + keeping.sharded / shards)


def _layer_bytes(shape: Architecture, narrow: bool) -> float:
    """Return the bytes that one token leaves in one layer for the backward pass."""
    product, hidden = 1.0 if narrow else 2.0, shape.hidden_size
    width = shape.attention_heads * shape.head_size
    attention = product * hidden + 2.0 * (width + 2 * shape.query_groups * shape.head_size) + product * width
    forward = shape.feed_forward_size
    if shape.experts:
        forward = shape.experts.per_token * shape.experts.feed_forward_size + shape.experts.shared_size
    matrices = 2 if shape.gated else 1
    # The inputs of both norms and of the products, and the values between them.
    return 2 * 2.0 * hidden + attention + product * hidden + 2.0 * matrices * forward + product * forward


def warn_of_memory(
    shape: Architecture | str,
    parameters: Parameters,
    keeping: Keeping | None,
    gpu: str,
    chips: float,
    key: str,
    findings: Findings,
) -> None:
    """Warn of a training that certainly does not fit into the memory of its accelerators; ``key`` is its branch."""
    known = accelerator_of(gpu)
    if keeping is None or not isinstance(shape, Architecture) or known is None:
        return
    there = _MEMORY_GIB[known] * chips
    found = estimated(shape, parameters, keeping, "fp8" in parameters["precision"])
    if found.total <= _CERTAIN * there:
        return
    findings.warn(
        key,
        None,
        f"It will not fit: a training needs about {found.total:,.0f} GiB on each GPU, but {gpu} has {there:g}: "
        f"{found.states:,.0f} for weights, gradients and optimizer, {found.activations:,.0f} for activations, "
        f"{found.logits:,.0f} for logits.",
        _remedy(found, keeping),
    )


def _remedy(found: Estimate, keeping: Keeping) -> str:
    if found.states > found.activations + found.logits:
        return "Shard it further: raise tensor or pipeline parallelism, or use FSDP or more nodes."
    recompute = ", compute activations again (recompute, remat_policy)" if keeping.activations else ""
    return f"Lower the micro batch size{recompute}, or raise tensor or context parallelism."
