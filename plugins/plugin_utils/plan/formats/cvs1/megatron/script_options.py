# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of ROCm's Megatron-LM scripts as keys of a branch; without a key the script's default applies.

Sources: the tables of key options in AMD's guide "Training a model with Megatron-LM for ROCm" (v25.4), and the scripts
in `trainers/rocm_scripts/generations`. Each option becomes the variable in its field. Options that matter only to the
script are in ``script_options.json``.
"""

from __future__ import annotations

import typing as t

from ....config.field_types import Flag, Path, PositiveInteger
from ....config.key_tables import read_tables, with_keys
from ....config.kinds import OneOf
from ....config.model import ConfigSection, optional

TokenizerType = t.Annotated[str, OneOf(("HuggingFaceTokenizer", "Llama2Tokenizer"))]
Checkpointing = t.Annotated[str, OneOf(("none", "sel", "full"))]
TransformerImplementation = t.Annotated[str, OneOf(("transformer_engine", "local"))]


@with_keys(read_tables(__file__)["script_options"])
class ScriptOptions(ConfigSection):
    """Options of the training scripts in addition to the sizes of a run."""

    context_parallelism: PositiveInteger | None = optional(
        "Number of GPUs that share each sequence.", example=2, unit="GPUs", variable="CP"
    )
    sequence_parallel: Flag | None = optional(
        "Also split the sequence among the tensor-parallel GPUs outside the matrix multiplications.",
        variable="SEQ_PARALLEL",
    )
    tokenizer_type: TokenizerType | None = optional(
        "Tokenizer class. Llama2Tokenizer is for train_llama2.sh.",
        example="HuggingFaceTokenizer",
        variable="TOKENIZER_TYPE",
    )
    tee_output: Flag | None = optional(
        "Only True is allowed: the steps are read from the script's output.", variable="TEE_OUTPUT"
    )
    transformer_impl: TransformerImplementation | None = optional(
        "Only transformer_engine is allowed: AMD's guide names local as well, but no script passes it on.",
        example="transformer_engine",
    )
    megatron_fsdp: Flag | None = optional(
        "Shard the parameters with Megatron's own FSDP. Does not work with tensor parallelism.",
        variable="MEGATRON_FSDP",
    )
    hsdp_replicas: PositiveInteger | None = optional(
        "Number of groups of data-parallel ranks that each have a complete sharded copy; needs megatron_fsdp, and "
        "also sets ENABLE_HSDP.",
        example=2,
        unit="groups",
        variable="HSDP_NUM_REPLICAS",
    )
    gradient_accumulation_fusion: Flag | None = optional(
        "Accumulate gradients within the matrix multiplications; the script turns this off with either FSDP.",
        variable="GRADIENT_ACCUMULATION_FUSION",
    )
    save_checkpoint_path: Path | None = optional(
        "Folder for checkpoints, by its path in the container; the nodes must share it. Without it none are written.",
        example="/data/checkpoints",
        variable="SAVE_CKPT_PATH",
    )
    activation_checkpointing: Checkpointing | None = optional(
        "Which activations DeepSeek's script recomputes: none, selected ones (sel) or all (full). Without "
        "it, recompute decides (none or full); without both it is sel.",
        example="sel",
        variable="AC",
    )
    padding_length: PositiveInteger | None = optional(
        "Length that DeepSeek's script pads to; by default sequence_length.",
        example=4096,
        unit="tokens",
        variable="PAD_LEN",
    )
