# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of the section ``model`` of an NxDT training config.

Source: docs/general/config_overview.rst and examples/conf of aws-neuron/neuronx-distributed-training.
"""

from __future__ import annotations

import typing as t

from pydantic import BaseModel, ConfigDict, Field

from ...config.field_types import Boolean, Count, Natural, NotNegative, Positive, Probability, YamlText
from ...config.kinds import OneOf, Words
from .data_config import Names

OPTIMIZERS = (
    *("adamw", "adamw_fp32OptState", "sgd", "adam", "adadelta", "adamax"),
    *("adagrad", "rmsprop", "rprop", "novograd", "adafactor"),
)
SCHEDULERS = (
    *("LinearAnnealingWithWarmUp", "CosineAnnealing", "WarmupPolicy", "WarmupHoldPolicy", "SquareAnnealing"),
    *("NoamAnnealing", "WarmupAnnealing", "StepLR", "rprop", "ExponentialLR"),
)
# Every model of model_source megatron is built from these; model_source hf has them in its config.json.
MEGATRON_KEYS = ("ffn_hidden_size", "num_attention_heads", "num_kv_heads", "normalization", "layernorm_epsilon")

Betas = t.Annotated[list[Probability], Words("a list of two numbers from 0 to 1")]
Cuts = t.Annotated[list[YamlText], Words("a list of names of layers")]
Tolerance = t.Annotated[t.Any, Words("a number, or null")]
_STEPS: dict[str, t.Any] = {"unit": "steps"}
_TOKENS: dict[str, t.Any] = {"unit": "tokens"}


class FusionsConfig(BaseModel):
    """The section ``model.fusions``: kernels that do several operations at once."""

    softmax: Boolean = Field(
        description="Use the fused softmax.", examples=[True], json_schema_extra={"variable": "NEURON_FUSE_SOFTMAX"}
    )
    flash_attention: Boolean = Field(description="Use the flash attention kernel.", examples=[True])
    ring_attention: Boolean | None = Field(
        default=None,
        description="Use ring attention, which context parallelism needs.",
        json_schema_extra={"since": "1.3.0"},
    )
    do_layer_norm_weight_decay: Boolean | None = Field(
        default=None, description="Its place is model; NxDT's text prints it here."
    )


class SchedulerConfig(BaseModel):
    """The section ``model.optim.sched``: how the learning rate changes."""

    name: t.Annotated[str, OneOf(SCHEDULERS, strict=True)] = Field(
        description="Scheduler.", examples=["CosineAnnealing"]
    )
    warmup_steps: Natural | None = Field(
        default=None, description="Steps in which the learning rate grows.", json_schema_extra=_STEPS
    )
    constant_steps: Natural | None = Field(
        default=None, description="Steps at the end with the smallest learning rate.", json_schema_extra=_STEPS
    )
    max_steps: Count | None = Field(
        default=None,
        description="Step at which the schedule ends.",
        examples=["${trainer.max_steps}"],
        json_schema_extra=_STEPS,
    )
    min_lr: NotNegative | None = Field(default=None, description="Smallest learning rate.", examples=[3e-5])


class OptimizerConfig(BaseModel):
    """The section ``model.optim``: optimizer and learning rate."""

    name: t.Annotated[str, OneOf(OPTIMIZERS, strict=True)] = Field(
        description="Optimizer, as NeMo knows it.", examples=["adamw_fp32OptState"]
    )
    lr: Positive = Field(description="Learning rate. OmegaConf reads 3e-4 as a number.", examples=[3e-4])
    weight_decay: NotNegative | None = Field(default=None, description="Weight decay.", examples=[0.01])
    capturable: Boolean | None = Field(default=None, description="PyTorch's option of this name.")
    betas: Betas | None = Field(default=None, description="Decay of the two moments.", examples=[[0.9, 0.999]])
    sched: SchedulerConfig | None = Field(default=None, description="How the learning rate changes.")


class MoeConfig(BaseModel):
    """The section ``model.moe``: mixture of experts."""

    num_experts: Count = Field(description="Experts of a layer.", examples=[8])
    frequency: Count | None = Field(default=None, description="Every how many layers have experts.")
    dropout: Probability | None = Field(default=None, description="Dropout in the experts.")
    capacity_factor: t.Any = Field(
        default=None, description="Tokens that an expert takes, relative to an even share; null takes all."
    )
    dropless: Boolean | None = Field(default=None, description="Drop no token, with the blockwise kernel.")
    glu_mlp: Boolean | None = Field(default=None, description="Experts with gated linear units, which dropless needs.")
    routing_algorithm: t.Annotated[str, OneOf(("top_k", "sinkhorn"), strict=True)] | None = Field(
        default=None, description="How tokens find their experts."
    )
    router_activation: t.Annotated[str, OneOf(("sigmoid", "softmax"), strict=True)] | None = Field(
        default=None, description="Activation of the router."
    )
    top_k: Count | None = Field(default=None, description="Experts of each token; with sinkhorn 1.")
    output_router_logits: Boolean | None = Field(default=None, description="Put out what the router says.")
    router_aux_loss_coef: NotNegative | None = Field(default=None, description="Weight of the loss that balances it.")
    normalize_top_k_affinities: Boolean | None = Field(default=None, description="Let the weights of experts sum to 1.")
    sinkhorn_iterations: Count | None = Field(default=None, description="Iterations of sinkhorn.")
    sinkhorn_tol: Tolerance = Field(default=None, description="Tolerance at which sinkhorn ends.")


class ModelConfig(BaseModel):
    """The section ``model``: architecture and optimizer."""

    model_config = ConfigDict(protected_namespaces=(), populate_by_name=True)

    # pydantic keeps the name model_config for itself.
    config_file: YamlText | None = Field(
        default=None,
        alias="model_config",
        description="The model's config.json, on the node; model_source hf needs it.",
        examples=["/data/llama3_8b/config.json"],
    )
    encoder_seq_length: Count = Field(description="Length of a sequence.", examples=[4096], json_schema_extra=_TOKENS)
    max_position_embeddings: Count | None = Field(
        default=None,
        description="Longest sequence that positions are known for.",
        examples=["${.encoder_seq_length}"],
        json_schema_extra=_TOKENS,
    )
    num_layers: Count = Field(description="Layers; they win over those of model_config.", examples=[32])
    hidden_size: Count = Field(description="Width of a layer; it wins over that of model_config.", examples=[4096])
    ffn_hidden_size: Count | None = Field(default=None, description="Width of the feed-forward part.")
    num_attention_heads: Count | None = Field(default=None, description="Attention (query) heads.")
    num_kv_heads: Count | None = Field(default=None, description="Key/value heads; fewer than query heads for GQA.")
    kv_channels: Count | None = Field(
        default=None, description="Width of a head; null takes hidden_size / num_attention_heads."
    )
    qkv_linear: Boolean | None = Field(
        default=None, description="Use the layer that repeats key/value heads (GQAQKVColumnParallelLinear)."
    )
    fuse_qkv: Boolean = Field(default=True, description="One matrix for query, key and value, with qkv_linear.")
    transpose_nki_inputs: Boolean | None = Field(
        default=None, description="Transpose the inputs of the attention kernel."
    )
    rope_theta: Positive | None = Field(default=None, description="Base of rotary position embeddings.")
    use_cpu_initialization: Boolean = Field(
        description="Make the weights on the CPU and move them then; recommended.", examples=[True]
    )
    weight_init_only: Boolean | None = Field(
        default=None, description="Load only the weights of a checkpoint, as SFT and DPO do, not the optimizer's state."
    )
    pipeline_cuts: Cuts | None = Field(
        default=None,
        description="Layers after which a pipeline stage ends; one fewer than stages.",
        json_schema_extra={"since": "1.1.0"},
    )
    activations_checkpoint_granularity: t.Annotated[str, OneOf(("selective", "full"), strict=True)] | None = Field(
        description="What is computed again in the backward pass: parts of layers, whole layers, or nothing (null).",
        examples=["selective"],
    )
    activations_checkpoint_recompute: Names | None = Field(
        default=None, description="Which parts, with selective.", examples=[["CoreAttention"]]
    )
    fusions: FusionsConfig = Field(description="Kernels that do several operations at once.")
    do_layer_norm_weight_decay: Boolean = Field(description="Decay the weights of layer norms too.", examples=[False])
    init_method_std: Positive | None = Field(default=None, description="Standard deviation of the first weights.")
    use_scaled_init_method: Boolean | None = Field(default=None, description="Scale the first weights by depth.")
    hidden_dropout: Probability | None = Field(default=None, description="Dropout of the hidden state.")
    attention_dropout: Probability | None = Field(default=None, description="Dropout in attention.")
    ffn_dropout: Probability | None = Field(default=None, description="Dropout in the feed-forward part.")
    apply_query_key_layer_scaling: Boolean | None = Field(
        default=None, description="Scale Q·Kᵀ by 1 / number of the layer."
    )
    normalization: t.Annotated[str, OneOf(("rmsnorm", "layernorm"), strict=True)] | None = Field(
        default=None, description="Normalization."
    )
    layernorm_epsilon: Positive | None = Field(
        default=None, description="Epsilon of the normalization. OmegaConf reads 1e-5 as a number."
    )
    make_vocab_size_divisible_by: Count | None = Field(
        default=None, description="The vocabulary is padded to a multiple of this."
    )
    persist_layer_norm: Boolean | None = Field(default=None, description="Use the persistent layer norm kernel.")
    share_embeddings_and_output_weights: Boolean | None = Field(
        default=None, description="Use the weights of the embedding for the output as well."
    )
    position_embedding_type: t.Annotated[str, OneOf(("learned_absolute", "rope"), strict=True)] | None = Field(
        default=None, description="Position embedding."
    )
    rotary_percentage: Probability | None = Field(default=None, description="Part of a head that rope turns.")
    activation: t.Annotated[str, OneOf(("swiglu", "gelu"), strict=True)] | None = Field(
        default=None, description="Activation function."
    )
    transformer_block_type: YamlText | None = Field(
        default=None, description="Where a layer normalizes.", examples=["pre_ln"]
    )
    has_bias: Boolean | None = Field(default=None, description="Give linear layers a bias.")
    sliding_window_size: Count | None = Field(
        default=None, description="How far back attention looks.", json_schema_extra=_TOKENS
    )
    optim: OptimizerConfig = Field(description="Optimizer and learning rate.")
    moe: MoeConfig | None = Field(default=None, description="Mixture of experts.", json_schema_extra={"since": "1.1.0"})
