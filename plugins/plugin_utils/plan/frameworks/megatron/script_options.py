# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of ROCm's Megatron-LM scripts, as keys of a branch; without a key the script's own default holds.

Sources: the tables of key options in AMD's guide "Training a model with Megatron-LM for ROCm" (v25.4), and the scripts
that `frameworks/megatron/generations` names. Each option becomes the variable that its field names.
"""

from __future__ import annotations

import typing as t

from pydantic import BaseModel, Field

from ...config.field_types import Flag, NaturalInteger, Path, PositiveInteger
from ...config.kinds import OneOf

Optimizer = t.Annotated[str, OneOf(("adam", "sgd"))]
TokenizerType = t.Annotated[str, OneOf(("HuggingFaceTokenizer", "Llama2Tokenizer"))]
Fp8Recipe = t.Annotated[str, OneOf(("delayed", "tensorwise", "mxfp8"))]
Fp4Recipe = t.Annotated[str, OneOf(("nvfp4", "mxfp4"))]
CrossEntropyFusion = t.Annotated[str, OneOf(("native", "te"))]
CheckpointFormat = t.Annotated[str, OneOf(("torch", "torch_dist"))]
Checkpointing = t.Annotated[str, OneOf(("none", "sel", "full"))]
TransformerImplementation = t.Annotated[str, OneOf(("transformer_engine", "local"))]


class ScriptOptions(BaseModel):
    """Options of the training scripts besides the sizes of a run."""

    context_parallelism: PositiveInteger | None = Field(
        default=None,
        description="How many GPUs share each sequence.",
        examples=[2],
        json_schema_extra={"unit": "GPUs", "variable": "CP"},
    )
    sequence_parallel: Flag | None = Field(
        default=None,
        description="Share the sequence among the tensor-parallel GPUs outside of the matrix products as well.",
        json_schema_extra={"variable": "SEQ_PARALLEL"},
    )
    gemm_tuning: Flag | None = Field(
        default=None,
        description="Let hipBLASLt try which kernels are fastest. It makes the first steps long.",
        json_schema_extra={"variable": "GEMM_TUNING"},
    )
    flash_attention: Flag | None = Field(
        default=None, description="Use Flash Attention.", json_schema_extra={"variable": "USE_FLASH_ATTN"}
    )
    rope_fusion: Flag | None = Field(
        default=None,
        description="Fuse the kernels of the rotary position embedding.",
        json_schema_extra={"variable": "ROPE_FUSION"},
    )
    mcore_models: Flag | None = Field(
        default=None,
        description="Use the models of Megatron Core rather than the older ones.",
        json_schema_extra={"variable": "MCORE"},
    )
    contiguous_parameters: Flag | None = Field(
        default=None,
        description="Keep the parameters of data-parallel ranks in one buffer.",
        json_schema_extra={"variable": "CONTI_PARAMS"},
    )
    optimizer: Optimizer | None = Field(
        default=None,
        description="Optimizer; with adam its state is shared out to the data-parallel ranks, unless fsdp is on.",
        examples=["adam"],
        json_schema_extra={"variable": "OPTIMIZER"},
    )
    tokenizer_type: TokenizerType | None = Field(
        default=None,
        description="Class of the tokenizer. Llama2Tokenizer is for train_llama2.sh.",
        examples=["HuggingFaceTokenizer"],
        json_schema_extra={"variable": "TOKENIZER_TYPE"},
    )
    profiling: Flag | None = Field(
        default=None,
        description="Write a trace of PyTorch's profiler to the run's folder on each node, for TensorBoard.",
        json_schema_extra={"variable": "ENABLE_PROFILING"},
    )
    tee_output: Flag | None = Field(
        default=None,
        description="Only True is allowed: the steps are read from the script's output.",
        json_schema_extra={"variable": "TEE_OUTPUT"},
    )
    transformer_impl: TransformerImplementation | None = Field(
        default=None,
        description="Only transformer_engine is allowed: AMD's guide names local as well, but no script passes it on.",
        examples=["transformer_engine"],
    )
    fp8_recipe: Fp8Recipe | None = Field(
        default=None,
        description="How FP8 numbers are scaled; needs precision TE_FP8.",
        examples=["delayed"],
        json_schema_extra={"variable": "TE_FP8_RECIPE"},
    )
    fp8_param_gather: Flag | None = Field(
        default=None,
        description="Gather the parameters in FP8; needs precision TE_FP8.",
        json_schema_extra={"variable": "FP8_PARAM_GATHER"},
    )
    fp8_transpose_cache: Flag | None = Field(
        default=None,
        description="Keep the transposed FP8 weights, which is faster and takes memory; needs precision TE_FP8.",
        json_schema_extra={"variable": "FP8_TRANSPOSE_CACHE"},
    )
    fp4_recipe: Fp4Recipe | None = Field(
        default=None,
        description="Format of FP4 numbers; needs precision TE_FP4.",
        examples=["nvfp4"],
        json_schema_extra={"variable": "TE_FP4_RECIPE"},
    )
    fp4_param_gather: Flag | None = Field(
        default=None,
        description="Gather the parameters in FP4; needs precision TE_FP4.",
        json_schema_extra={"variable": "FP4_PARAM_GATHER"},
    )
    fp4_selective_bf16: Flag | None = Field(
        default=None,
        description="Keep the first and the last layers in BF16; needs precision TE_FP4.",
        json_schema_extra={"variable": "FP4_SELECTIVE_BF16"},
    )
    fp4_bf16_start: NaturalInteger | None = Field(
        default=None,
        description="How many of the first layers fp4_selective_bf16 means.",
        examples=[2],
        json_schema_extra={"unit": "layers", "variable": "FP4_BF16_START"},
    )
    fp4_bf16_end: NaturalInteger | None = Field(
        default=None,
        description="How many of the last layers fp4_selective_bf16 means.",
        examples=[8],
        json_schema_extra={"unit": "layers", "variable": "FP4_BF16_END"},
    )
    megatron_fsdp: Flag | None = Field(
        default=None,
        description="Shard the parameters with Megatron's own FSDP. It goes with no tensor parallelism.",
        json_schema_extra={"variable": "MEGATRON_FSDP"},
    )
    hsdp_replicas: PositiveInteger | None = Field(
        default=None,
        description="How many groups of data-parallel ranks each hold a whole sharded copy; needs megatron_fsdp, and "
        "sets ENABLE_HSDP as well.",
        examples=[2],
        json_schema_extra={"unit": "groups", "variable": "HSDP_NUM_REPLICAS"},
    )
    gradient_accumulation_fusion: Flag | None = Field(
        default=None,
        description="Add up gradients within the matrix products; the script leaves it out with either FSDP.",
        json_schema_extra={"variable": "GRADIENT_ACCUMULATION_FUSION"},
    )
    grad_reduce_in_bf16: Flag | None = Field(
        default=None,
        description="Exchange gradients in BF16 instead of FP32.",
        json_schema_extra={"variable": "GRAD_REDUCE_IN_BF16"},
    )
    ddp_average_in_collective: Flag | None = Field(
        default=None,
        description="Average gradients while they are exchanged.",
        json_schema_extra={"variable": "DDP_AVERAGE_IN_COLLECTIVE"},
    )
    cross_entropy_loss_fusion: Flag | None = Field(
        default=None,
        description="Fuse the kernels of the loss.",
        json_schema_extra={"variable": "CROSS_ENTROPY_LOSS_FUSION"},
    )
    cross_entropy_fusion_impl: CrossEntropyFusion | None = Field(
        default=None,
        description="Whose fused loss: Megatron's (native) or that of Transformer Engine (te).",
        examples=["te"],
        json_schema_extra={"variable": "CROSS_ENTROPY_FUSION_IMPL"},
    )
    fused_single_qkv_rope: Flag | None = Field(
        default=None,
        description="Fuse queries, keys and values with the rotary position embedding.",
        json_schema_extra={"variable": "FUSED_SINGLE_QKV_ROPE"},
    )
    save_checkpoint_path: Path | None = Field(
        default=None,
        description="Folder for checkpoints, as the container sees it; nodes have to share it. Without it none are "
        "written.",
        examples=["/data/checkpoints"],
        json_schema_extra={"variable": "SAVE_CKPT_PATH"},
    )
    save_interval: PositiveInteger | None = Field(
        default=None,
        description="Steps between two checkpoints; needs save_checkpoint_path.",
        examples=[1000],
        json_schema_extra={"unit": "steps", "variable": "SAVE_INTERVAL"},
    )
    checkpoint_format: CheckpointFormat | None = Field(
        default=None,
        description="Format of the checkpoints; needs save_checkpoint_path.",
        examples=["torch"],
        json_schema_extra={"variable": "CKPT_FORMAT"},
    )
    activation_checkpointing: Checkpointing | None = Field(
        default=None,
        description="Which activations DeepSeek's script recomputes: none, selected ones (sel) or all (full). Without "
        "it, recompute tells (none or full), or else sel.",
        examples=["sel"],
        json_schema_extra={"variable": "AC"},
    )
    padding_length: PositiveInteger | None = Field(
        default=None,
        description="Length to which DeepSeek's script pads; without it sequence_length.",
        examples=[4096],
        json_schema_extra={"unit": "tokens", "variable": "PAD_LEN"},
    )
    moe_legacy_grouped_gemm: Flag | None = Field(
        default=None,
        description="Multiply the experts' matrices by the older grouped kernels. Without them DeepSeek's script "
        "leaves GEMM tuning out.",
        json_schema_extra={"variable": "MOE_USE_LEGACY_GROUPED_GEMM"},
    )
