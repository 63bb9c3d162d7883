# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of the sections ``data`` and ``model_alignment_strategy`` of an NxDT training config.

Source: docs/general/config_overview.rst, examples/conf and the data modules of
aws-neuron/neuronx-distributed-training.
"""

from __future__ import annotations

import typing as t

from pydantic import BaseModel, ConfigDict, Field

from ...config.field_types import Boolean, Count, Natural, NotNegative, Positive, Probability, YamlText
from ...config.kinds import OneOf, Words

Prefixes = t.Annotated[t.Any, Words("a list of weights and paths, a path, or an object of them")]
Names = t.Annotated[list[YamlText], Words("a list of names")]
Truncation = t.Annotated[str, OneOf(("keep_start", "keep_end"), strict=True)]
_TOKENS: dict[str, t.Any] = {"unit": "tokens"}
_TRUNCATION = "Which end is kept of a prompt and response that are longer than data.seq_length together."


class DpoConfig(BaseModel):
    """The section ``dpo``: direct preference optimization."""

    kl_beta: NotNegative = Field(
        default=0.01, description="How strongly the model is held near the reference model (KL divergence)."
    )
    loss_type: t.Annotated[str, OneOf(("sigmoid",), strict=True)] = Field(
        default="sigmoid", description="Form of the loss."
    )
    max_prompt_length: Count | None = Field(
        default=None, description="Longest prompt.", examples=[2048], json_schema_extra=_TOKENS
    )
    max_dpo_prompt_length: Count | None = Field(
        default=None,
        description="The same as max_prompt_length, in older versions of NxDT.",
        examples=[2048],
        json_schema_extra=_TOKENS,
    )
    precompute_ref_log_probs: Boolean = Field(
        description="Compute the reference model's log-probabilities before training; NxDT cannot do without.",
        examples=[True],
    )
    truncation_mode: Truncation = Field(default="keep_start", description=_TRUNCATION)


class OrpoConfig(BaseModel):
    """The section ``orpo``: odds-ratio preference optimization."""

    beta: NotNegative | None = Field(default=None, description="Weight of the odds ratio in the loss.", examples=[0.1])
    max_prompt_length: Count | None = Field(
        default=None, description="Longest prompt.", examples=[2048], json_schema_extra=_TOKENS
    )
    truncation_mode: Truncation = Field(default="keep_start", description=_TRUNCATION)


class SftConfig(BaseModel):
    """The section ``sft``: supervised fine-tuning."""

    packing: Boolean = Field(
        default=False,
        description="Put several records into one sequence instead of padding each: faster, perhaps less accurate.",
    )


class PeftConfig(BaseModel):
    """The section ``peft``: LoRA, which trains a small addition to the layers."""

    lora_rank: Count = Field(description="Rank of the addition.", examples=[16])
    lora_alpha: Positive = Field(description="Factor of the addition.", examples=[32])
    lora_dropout: Probability = Field(default=0.0, description="Dropout in the addition.")
    lora_bias: t.Annotated[str, OneOf(("none", "all", "lora_only"), strict=True)] = Field(
        default="none", description="Which biases are trained."
    )
    lora_verbose: Boolean = Field(default=False, description="Log more about LoRA.")
    target_modules: Names = Field(description="Layers that get an addition.", examples=[["qkv_proj"]])
    load_lora_from_ckpt: Boolean = Field(default=False, description="Load the addition from a checkpoint.")
    save_lora_base: Boolean = Field(default=False, description="Save the base model as well.")
    merge_lora: Boolean = Field(default=False, description="Save the base model with the addition merged into it.")
    save_lora_config_adapter: Boolean = Field(default=False, description="Save LoRA's settings with the addition.")
    merge_sharded_lora: Boolean = Field(default=False, description="Merge the shards of the addition into one file.")


class AlignmentConfig(BaseModel):
    """The section ``model_alignment_strategy``: fine-tuning or alignment."""

    sft: SftConfig | None = Field(default=None, description="Supervised fine-tuning.")
    dpo: DpoConfig | None = Field(
        default=None, description="Direct preference optimization.", json_schema_extra={"since": "1.1.0"}
    )
    orpo: OrpoConfig | None = Field(
        default=None, description="Odds-ratio preference optimization.", json_schema_extra={"since": "1.3.0"}
    )
    peft: PeftConfig | None = Field(default=None, description="LoRA, beside sft.", json_schema_extra={"since": "1.2.0"})


class TokenizerConfig(BaseModel):
    """The section ``data.tokenizer``."""

    model_config = ConfigDict(protected_namespaces=())

    type: YamlText = Field(description="Path or name of the tokenizer.", examples=["/data/llama3_tokenizer"])
    library: YamlText | None = Field(default=None, description="Library of the tokenizer.", examples=["huggingface"])
    model: YamlText | None = Field(default=None, description="Model file of the tokenizer.")
    vocab_file: YamlText | None = Field(default=None, description="File of its vocabulary.")
    merge_file: YamlText | None = Field(default=None, description="File of its merges.")
    delimiter: YamlText | None = Field(default=None, description="Delimiter of a tabular tokenizer.")
    sentencepiece_legacy: Boolean | None = Field(
        default=None, description="Let special tokens be added to a SentencePiece tokenizer."
    )
    use_fast: Boolean | None = Field(default=None, description="Use the fast variant of the tokenizer.")


class DataConfig(BaseModel):
    """The section ``data``: dataset and batches."""

    micro_batch_size: Count = Field(
        description="Sequences that one data-parallel rank takes at once.",
        examples=[1],
        json_schema_extra={"unit": "sequences"},
    )
    global_batch_size: Count = Field(
        description="All sequences of one step; a DPO pair counts as one.",
        examples=[1024],
        json_schema_extra={"unit": "sequences"},
    )
    train_dir: YamlText | None = Field(
        default=None,
        description="Data to train on: for SFT and DPO a file .jsonl, .json or .arrow, else a folder of tokens.",
    )
    val_dir: YamlText | None = Field(default=None, description="Data to validate on, in the same form.")
    dev_choose_samples: Count | None = Field(
        default=None, description="Use only that many records from the head; null uses all."
    )
    seq_length: Count | None = Field(
        default=None,
        description="Length of a sequence; for DPO that of prompt and response together. Without it "
        "model.encoder_seq_length.",
        json_schema_extra=_TOKENS,
    )
    tokenizer: TokenizerConfig | None = Field(default=None, description="Tokenizer.")
    data_prefix: Prefixes = Field(
        default=None,
        description="Preprocessed Megatron datasets, for model_source megatron.",
        examples=[[1.0, "/data/book_text_document"]],
    )
    index_mapping_dir: YamlText | None = Field(
        default=None, description="Folder of the dataset's index; null takes that of the dataset."
    )
    data_impl: YamlText | None = Field(default=None, description="How a Megatron dataset is read.", examples=["mmap"])
    splits_string: YamlText | None = Field(
        default=None, description="Shares of training, validation and test.", examples=["980,10,10"]
    )
    skip_warmup: Boolean | None = Field(default=None, description="Do not read the dataset once beforehand.")
    num_workers: Natural | None = Field(
        default=None, description="Processes that load data, for each device.", json_schema_extra={"unit": "processes"}
    )
    dataloader_type: t.Annotated[str, OneOf(("single", "cyclic"), strict=True)] | None = Field(
        default=None, description="Go through the data once, or again and again."
    )
    reset_position_ids: Boolean | None = Field(default=None, description="Count positions anew after a document.")
    reset_attention_mask: Boolean | None = Field(default=None, description="Attend to no document before.")
    eod_mask_loss: Boolean | None = Field(default=None, description="Leave ends of documents out of the loss.")
    validation_drop_last: Boolean | None = Field(
        default=None, description="Leave an incomplete last batch of a validation out."
    )
    no_seqlen_plus_one_input_tokens: Boolean | None = Field(
        default=None, description="Fetch as many tokens as a sequence has, instead of one more."
    )
    pad_samples_to_global_batch_size: Boolean | None = Field(
        default=None, description="Fill an incomplete last batch up."
    )
    packing: Boolean | None = Field(default=None, description="The same as sft.packing, in older versions of NxDT.")
    use_sft_style_data_module: Boolean | None = Field(
        default=None, description="Read train_dir and val_dir with model_source megatron as well."
    )
    alignment_strategy: AlignmentConfig | None = Field(
        default=None, description="The same as model_alignment_strategy, in older versions of NxDT."
    )
