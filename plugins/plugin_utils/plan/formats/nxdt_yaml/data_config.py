# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed model of the sections ``data`` and ``model_alignment_strategy`` of an NxDT training config.

Source: docs/general/config_overview.rst, examples/conf and the data modules of
aws-neuron/neuronx-distributed-training.
"""

from __future__ import annotations

import typing as t

from ...config.field_types import Boolean, Count, YamlText
from ...config.key_tables import with_keys
from ...config.kinds import Words
from ...config.model import ConfigSection, key, optional
from .keys import KEYS

Names = t.Annotated[list[YamlText], Words("a list of names")]
Prefixes = t.Annotated[t.Any, Words("a list of weights and paths, a path, or an object of these")]
_TOKENS: dict[str, t.Any] = {"unit": "tokens"}


@with_keys(KEYS["model_alignment_strategy.dpo"], strict=True)
class DpoConfig(ConfigSection):
    """The section ``dpo``: direct preference optimization."""

    max_prompt_length: Count | None = optional("Maximum prompt length.", example=2048, unit="tokens")
    max_dpo_prompt_length: Count | None = optional(
        "Name of max_prompt_length in older versions of NxDT.", example=2048, unit="tokens"
    )
    precompute_ref_log_probs: Boolean = key(
        "Compute the reference model's log-probabilities before training; NxDT requires it.", example=True
    )


@with_keys(KEYS["model_alignment_strategy.orpo"], strict=True)
class OrpoConfig(ConfigSection):
    """The section ``orpo``: odds-ratio preference optimization."""

    max_prompt_length: Count | None = optional("Maximum prompt length.", example=2048, unit="tokens")


@with_keys(KEYS["model_alignment_strategy.sft"], strict=True)
class SftConfig(ConfigSection):
    """The section ``sft``: supervised fine-tuning."""


@with_keys(KEYS["model_alignment_strategy.peft"], strict=True)
class PeftConfig(ConfigSection):
    """The section ``peft``: LoRA, which trains small adapters on the layers."""

    target_modules: Names = key("Layers that get an adapter.", example=["qkv_proj"])


class AlignmentConfig(ConfigSection):
    """The section ``model_alignment_strategy``: fine-tuning or alignment."""

    sft: SftConfig | None = optional("Supervised fine-tuning.")
    dpo: DpoConfig | None = optional("Direct preference optimization.", since="1.1.0")
    orpo: OrpoConfig | None = optional("Odds-ratio preference optimization.", since="1.3.0")
    peft: PeftConfig | None = optional("LoRA, together with sft.", since="1.2.0")


@with_keys(KEYS["data.tokenizer"], strict=True)
class TokenizerConfig(ConfigSection):
    """The section ``data.tokenizer``."""

    type: YamlText = key("Path or name of the tokenizer.", example="/data/llama3_tokenizer")


@with_keys(KEYS["data"], strict=True)
class DataConfig(ConfigSection):
    """The section ``data``: dataset and batches."""

    micro_batch_size: Count = key(
        "Sequences that one data-parallel rank processes at a time.", example=1, unit="sequences"
    )
    global_batch_size: Count = key(
        "Sequences per step over all ranks; a DPO pair counts as one.", example=1024, unit="sequences"
    )
    train_dir: YamlText | None = optional(
        "Training data: for SFT and DPO a .jsonl, .json or .arrow file, otherwise a folder of tokens."
    )
    val_dir: YamlText | None = optional("Validation data, in the same form.")
    seq_length: Count | None = optional(
        "Sequence length; for DPO, of prompt and response together. By default model.encoder_seq_length.",
        unit="tokens",
    )
    tokenizer: TokenizerConfig | None = optional("Tokenizer.")
    data_prefix: Prefixes = optional(
        "Preprocessed Megatron datasets, for model_source megatron.", example=[1.0, "/data/book_text_document"]
    )
    use_sft_style_data_module: Boolean | None = optional(
        "Read train_dir and val_dir with model_source megatron as well."
    )
    alignment_strategy: AlignmentConfig | None = optional("Name of model_alignment_strategy in older versions of NxDT.")
