# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of the section ``model`` of an NxDT training config.

Source: docs/general/config_overview.rst and examples/conf of aws-neuron/neuronx-distributed-training.
"""

from __future__ import annotations

import typing as t

from pydantic import ConfigDict, Field

from ...config.field_types import Boolean, Count, NotNegative, Positive, Probability, YamlText
from ...config.key_tables import with_keys
from ...config.kinds import OneOf, Words
from ...config.model import ConfigSection, key, optional
from .data_config import Names
from .keys import KEYS

# model_source megatron builds every model from these; model_source hf has them in its config.json.
MEGATRON_KEYS = ("ffn_hidden_size", "num_attention_heads", "num_kv_heads", "normalization", "layernorm_epsilon")

Betas = t.Annotated[list[Probability], Words("a list of two numbers from 0 to 1")]
Cuts = t.Annotated[list[YamlText], Words("a list of layer names")]
Tolerance = t.Annotated[t.Any, Words("a number, or null")]


@with_keys(KEYS["model.fusions"], strict=True)
class FusionsConfig(ConfigSection):
    """The section ``model.fusions``: fused kernels."""

    softmax: Boolean | None = optional("Use the fused softmax.", example=True, variable="NEURON_FUSE_SOFTMAX")
    flash_attention: Boolean = key("Use the flash attention kernel.", example=True)
    ring_attention: Boolean | None = optional("Use ring attention; context parallelism needs it.", since="1.3.0")


@with_keys(KEYS["model.optim.sched"], strict=True)
class SchedulerConfig(ConfigSection):
    """The section ``model.optim.sched``: the learning rate schedule."""


@with_keys(KEYS["model.optim"], strict=True)
class OptimizerConfig(ConfigSection):
    """The section ``model.optim``: optimizer and learning rate."""

    betas: Betas | None = optional("Decay rates of the two moments.", example=[0.9, 0.999])
    sched: SchedulerConfig | None = optional("How the learning rate changes.")


@with_keys(KEYS["model.moe"], strict=True)
class MoeConfig(ConfigSection):
    """The section ``model.moe``: mixture of experts."""

    num_experts: Count = key("Experts per layer.", example=8)
    frequency: Count | None = optional("Every how many layers there is one with experts.")
    capacity_factor: NotNegative = key(
        "Maximum tokens per expert, relative to an even share; 0.0 with dropless.", example=2.0
    )
    dropless: Boolean | None = optional("Drop no token, with the blockwise kernel.")
    glu_mlp: Boolean | None = optional("Experts with gated linear units; dropless needs them.")
    routing_algorithm: t.Annotated[str, OneOf(("top_k", "sinkhorn"), strict=True)] | None = optional(
        "How tokens are routed to experts."
    )
    top_k: Count | None = optional("Experts per token; 1 with sinkhorn.")
    sinkhorn_tol: Tolerance = optional("Tolerance at which sinkhorn stops.")


@with_keys(KEYS["model"], strict=True)
class ModelConfig(ConfigSection):
    """The section ``model``: architecture and optimizer."""

    model_config = ConfigDict(populate_by_name=True)

    # pydantic keeps the name model_config for itself.
    config_file: YamlText | None = Field(
        default=None,
        alias="model_config",
        description="The model's config.json, on the node; model_source hf needs it.",
        examples=["/data/llama3_8b/config.json"],
    )
    encoder_seq_length: Count = key("Length of a sequence.", example=4096, unit="tokens")
    num_layers: Count = key("Number of layers; overrides model_config.", example=32)
    hidden_size: Count = key("Width of a layer; overrides model_config.", example=4096)
    ffn_hidden_size: Count | None = optional("Width of the feed-forward part.")
    num_attention_heads: Count | None = optional("Attention (query) heads.")
    num_kv_heads: Count | None = optional("Key/value heads; fewer than query heads for GQA.")
    kv_channels: Count | None = optional("Width of a head; null uses hidden_size / num_attention_heads.")
    qkv_linear: Boolean | None = optional("Use the layer that repeats key/value heads (GQAQKVColumnParallelLinear).")
    pipeline_cuts: Cuts | None = optional("Layers that end a pipeline stage; one fewer than stages.", since="1.1.0")
    activations_checkpoint_recompute: Names | None = optional(
        "Which parts are recomputed, with selective.", example=["CoreAttention"]
    )
    fusions: FusionsConfig = key("Kernels that do several operations at once.")
    normalization: t.Annotated[str, OneOf(("rmsnorm", "layernorm"), strict=True)] | None = optional("Normalization.")
    layernorm_epsilon: Positive | None = optional("Epsilon of the normalization. OmegaConf reads 1e-5 as a number.")
    activation: t.Annotated[str, OneOf(("swiglu", "gelu"), strict=True)] | None = optional("Activation function.")
    optim: OptimizerConfig = key("Optimizer and learning rate.")
    moe: MoeConfig | None = optional("Mixture of experts.", since="1.1.0")
