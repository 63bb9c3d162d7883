# SPDX-License-Identifier: GPL-3.0-or-later
"""The models that MaxText knows by name, with the dimensions of its presets.

Source: src/maxtext/configs/models/*.yml of MaxText 0.2.5. A preset goes before what stands in a training config
(``update_model_vars`` of pyconfig.py), except for ``default``, which has none.
"""

from __future__ import annotations

WITHOUT_PRESET = "default"
DIMENSIONS = (
    "base_emb_dim",
    "base_num_query_heads",
    "base_num_kv_heads",
    "base_num_decoder_layers",
    "base_mlp_dim",
    "head_dim",
    "vocab_size",
)
_LLAMA_8B = (4096, 32, 8, 32, 14336, 128, 128256)
_LLAMA_70B = (8192, 64, 8, 80, 28672, 128, 128256)
_LLAMA_405B = (16384, 128, 8, 126, 53248, 128, 128256)
_PRESETS = {
    "llama2-7b": (4096, 32, 32, 32, 11008, 128, 32000),
    "llama2-13b": (5120, 40, 40, 40, 13824, 128, 32000),
    "llama2-70b": (8192, 64, 8, 80, 28672, 128, 32000),
    "llama3-8b": _LLAMA_8B,
    "llama3-70b": _LLAMA_70B,
    "llama3-405b": _LLAMA_405B,
    "llama3.1-8b": _LLAMA_8B,
    "llama3.1-70b": _LLAMA_70B,
    "llama3.1-405b": _LLAMA_405B,
    "llama3.3-70b": _LLAMA_70B,
    "mistral-7b": (4096, 32, 8, 32, 14336, 128, 32000),
    "mixtral-8x7b": (4096, 32, 8, 32, 14336, 128, 32000),
    "mixtral-8x22b": (6144, 48, 8, 56, 16384, 128, 32768),
    "gemma2-2b": (2304, 8, 4, 13, 9216, 256, 256128),
    "gemma2-9b": (3584, 16, 8, 21, 14336, 256, 256128),
    "gemma2-27b": (4608, 32, 16, 23, 36864, 128, 256128),
    "gemma3-4b": (2560, 8, 4, 34, 10240, 256, 262144),
    "gemma3-12b": (3840, 16, 8, 48, 15360, 256, 262144),
    "gemma3-27b": (5376, 32, 16, 62, 21504, 128, 262144),
}
PRESETS = {model: dict(zip(DIMENSIONS, sizes, strict=True)) for model, sizes in _PRESETS.items()}


def model_with(dimensions: dict[str, int]) -> str | None:
    """Return the last model of the list whose preset has all of these dimensions; None where none has."""
    matches = [name for name, preset in PRESETS.items() if dimensions.items() <= preset.items()]
    return matches[-1] if matches else None
