# SPDX-License-Identifier: GPL-3.0-or-later
"""The models that MaxText knows by name, with the dimensions of their presets.

Source: src/maxtext/configs/models/*.yml of MaxText 0.2.5. A preset wins over the training config (``update_model_vars``
of pyconfig.py), except for ``default``, which has none.
"""

from __future__ import annotations

from ....job.architecture import KNOWN_MODELS, Architecture, known_model

WITHOUT_PRESET = "default"
# MaxText's keys, each with its name in `Architecture`.
DIMENSIONS = {
    "base_emb_dim": "hidden_size",
    "base_num_query_heads": "attention_heads",
    "base_num_kv_heads": "query_groups",
    "base_num_decoder_layers": "layers",
    "base_mlp_dim": "feed_forward_size",
    "head_dim": "head_size",
    "vocab_size": "vocabulary_size",
}
# The presets of these have the model's published shape.
_AS_PUBLISHED = (
    *("llama2-7b", "llama2-13b", "llama2-70b", "llama3-8b", "llama3-70b", "llama3-405b"),
    *("llama3.1-8b", "llama3.1-70b", "llama3.1-405b", "llama3.3-70b"),
    *("mistral-7b", "mixtral-8x7b", "mixtral-8x22b"),
)
_SHAPES = {name: KNOWN_MODELS[known_model(name) or ""] for name in _AS_PUBLISHED} | {
    "gemma2-2b": Architecture(13, 2304, 8, 4, 256, 9216, 256128),
    "gemma2-9b": Architecture(21, 3584, 16, 8, 256, 14336, 256128),
    "gemma2-27b": Architecture(23, 4608, 32, 16, 128, 36864, 256128),
    "gemma3-4b": Architecture(34, 2560, 8, 4, 256, 10240, 262144),
    "gemma3-12b": Architecture(48, 3840, 16, 8, 256, 15360, 262144),
    "gemma3-27b": Architecture(62, 5376, 32, 16, 128, 21504, 262144),
}
PRESETS: dict[str, dict[str, int]] = {
    model: {key: getattr(shape, dimension) for key, dimension in DIMENSIONS.items()} for model, shape in _SHAPES.items()
}


def model_with(dimensions: dict[str, int]) -> str | None:
    """Return the last model in the list whose preset has all of these dimensions, or None."""
    matches = [name for name, preset in PRESETS.items() if dimensions.items() <= preset.items()]
    return matches[-1] if matches else None
