# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape of the model that NxDT trains, as far as its YAML has it; for model_source hf it is on the nodes."""

from __future__ import annotations

from ...formats.nxdt_yaml.devices import INSTANCES, lnc_of
from ...job.architecture import KNOWN_MODELS, Architecture, Experts, known_model, vocabulary_of
from .reading import NxdtReading


def architecture_of(reading: NxdtReading) -> Architecture | str:
    """Return the shape of the model, or why it or its FLOPs are unknown."""
    alignment = reading.alignment
    if alignment and (alignment.dpo or alignment.orpo or alignment.peft):
        return "Alignment runs a second model, or trains only a few weights; its FLOPs are not known."
    if reading.config.model_source == "megatron":
        return _of_keys(reading)
    model = reading.config.model
    for text in (model.config_file, reading.get("data.tokenizer.type"), reading.config.name):
        known = KNOWN_MODELS.get(known_model(text or "") or "")
        if known and (known.layers, known.hidden_size) == (model.num_layers, model.hidden_size):
            return known
    return "The dimensions of the model are in its config.json, on the nodes."


def chips_per_device(reading: NxdtReading) -> float:
    """Return the fraction of a Trainium chip that one device of the job uses."""
    instance = INSTANCES.get(reading.config.trainops.instance_type or "")
    return lnc_of(instance, reading.config.trainer.lnc) / instance.cores_per_chip if instance else 1.0


def _of_keys(reading: NxdtReading) -> Architecture | str:
    model = reading.config.model
    vocabulary = vocabulary_of(reading.get("data.tokenizer.type") or "")
    if not model.ffn_hidden_size or not model.num_attention_heads:
        return "The config lacks the model's ffn_hidden_size or num_attention_heads."
    if vocabulary is None:
        return "The vocabulary size is not known."
    # BaseDataModule._build_vocab pads it so.
    unit = (reading.get("model.make_vocab_size_divisible_by") or 128) * (
        reading.get("distributed_strategy.tensor_model_parallel_size") or 1
    )
    experts = None
    if model.moe:
        experts = Experts(model.moe.num_experts, model.moe.top_k or 1, model.ffn_hidden_size)
        if (model.moe.frequency or 1) != 1:
            return "Only some layers of the model have experts; its FLOPs are not known."
    return Architecture(
        layers=model.num_layers,
        hidden_size=model.hidden_size,
        attention_heads=model.num_attention_heads,
        query_groups=model.num_kv_heads or model.num_attention_heads,
        head_size=model.kv_channels or model.hidden_size // model.num_attention_heads,
        feed_forward_size=model.ffn_hidden_size,
        vocabulary_size=-(-vocabulary // unit) * unit,
        gated=model.activation == "swiglu",
        # NxDT's own default is to share them.
        tied=reading.get("model.share_embeddings_and_output_weights") is not False,
        experts=experts,
    )
