# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of the sections ``data`` and ``model_alignment_strategy`` of an NxDT training config.

Source: docs/general/config_overview.rst, examples/conf and the data modules of
aws-neuron/neuronx-distributed-training.
"""

from __future__ import annotations

import typing as t

from pydantic import Field

from ...config.field_types import Boolean, Count, YamlText
from ...config.fields import ConfigSection
from ...config.key_tables import with_keys
from ...config.kinds import Words
from .keys import KEYS

Names = t.Annotated[list[YamlText], Words("a list of names")]
Prefixes = t.Annotated[t.Any, Words("a list of weights and paths, a path, or an object of them")]
_TOKENS: dict[str, t.Any] = {"unit": "tokens"}


@with_keys(KEYS["model_alignment_strategy.dpo"], strict=True)
class DpoConfig(ConfigSection):
    """The section ``dpo``: direct preference optimization."""

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


@with_keys(KEYS["model_alignment_strategy.orpo"], strict=True)
class OrpoConfig(ConfigSection):
    """The section ``orpo``: odds-ratio preference optimization."""

    max_prompt_length: Count | None = Field(
        default=None, description="Longest prompt.", examples=[2048], json_schema_extra=_TOKENS
    )


@with_keys(KEYS["model_alignment_strategy.sft"], strict=True)
class SftConfig(ConfigSection):
    """The section ``sft``: supervised fine-tuning."""


@with_keys(KEYS["model_alignment_strategy.peft"], strict=True)
class PeftConfig(ConfigSection):
    """The section ``peft``: LoRA, which trains a small addition to the layers."""

    target_modules: Names = Field(description="Layers that get an addition.", examples=[["qkv_proj"]])


class AlignmentConfig(ConfigSection):
    """The section ``model_alignment_strategy``: fine-tuning or alignment."""

    sft: SftConfig | None = Field(default=None, description="Supervised fine-tuning.")
    dpo: DpoConfig | None = Field(
        default=None, description="Direct preference optimization.", json_schema_extra={"since": "1.1.0"}
    )
    orpo: OrpoConfig | None = Field(
        default=None, description="Odds-ratio preference optimization.", json_schema_extra={"since": "1.3.0"}
    )
    peft: PeftConfig | None = Field(default=None, description="LoRA, beside sft.", json_schema_extra={"since": "1.2.0"})


@with_keys(KEYS["data.tokenizer"], strict=True)
class TokenizerConfig(ConfigSection):
    """The section ``data.tokenizer``."""

    type: YamlText = Field(description="Path or name of the tokenizer.", examples=["/data/llama3_tokenizer"])


@with_keys(KEYS["data"], strict=True)
class DataConfig(ConfigSection):
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
    use_sft_style_data_module: Boolean | None = Field(
        default=None, description="Read train_dir and val_dir with model_source megatron as well."
    )
    alignment_strategy: AlignmentConfig | None = Field(
        default=None, description="The same as model_alignment_strategy, in older versions of NxDT."
    )
