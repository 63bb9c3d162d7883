# SPDX-License-Identifier: GPL-3.0-or-later
"""Models known by name, with their shapes.

Source: the ``config.json`` that is published with each model; for GPT-3 table 2.1 of arXiv 2005.14165.
"""

from __future__ import annotations

import re

from .architecture import Architecture, Experts, LatentAttention

_LLAMA3_8B = Architecture(32, 4096, 32, 8, 128, 14336, 128256)
_LLAMA3_70B = Architecture(80, 8192, 64, 8, 128, 28672, 128256)
_LLAMA3_405B = Architecture(126, 16384, 128, 8, 128, 53248, 128256)

KNOWN_MODELS = {
    "gpt3-175b": Architecture(96, 12288, 96, 96, 128, 49152, 50257, gated=False, tied=True),
    "llama2-7b": Architecture(32, 4096, 32, 32, 128, 11008, 32000),
    "llama2-13b": Architecture(40, 5120, 40, 40, 128, 13824, 32000),
    "llama2-70b": Architecture(80, 8192, 64, 8, 128, 28672, 32000),
    "llama3-8b": _LLAMA3_8B,
    "llama3-70b": _LLAMA3_70B,
    "llama3.1-8b": _LLAMA3_8B,
    "llama3.1-70b": _LLAMA3_70B,
    "llama3.1-405b": _LLAMA3_405B,
    "llama3.2-1b": Architecture(16, 2048, 32, 8, 64, 8192, 128256, tied=True),
    "llama3.2-3b": Architecture(28, 3072, 24, 8, 128, 8192, 128256, tied=True),
    "llama3.3-70b": _LLAMA3_70B,
    "mistral-7b": Architecture(32, 4096, 32, 8, 128, 14336, 32000),
    "mixtral-8x7b": Architecture(32, 4096, 32, 8, 128, 14336, 32000, experts=Experts(8, 2, 14336)),
    "mixtral-8x22b": Architecture(56, 6144, 48, 8, 128, 16384, 32768, experts=Experts(8, 2, 16384)),
    "deepseek2-16b": Architecture(
        *(27, 2048, 16, 16, 128, 10944, 102400),
        experts=Experts(64, 6, 1408, shared_size=2 * 1408, dense_layers=1),
        latent=LatentAttention(None, 512, rope_head_size=64, value_head_size=128),
    ),
    "deepseek2-236b": Architecture(
        *(60, 5120, 128, 128, 128, 12288, 102400),
        experts=Experts(160, 6, 1536, shared_size=2 * 1536, dense_layers=1),
        latent=LatentAttention(1536, 512, rope_head_size=64, value_head_size=128),
    ),
    "deepseek3-671b": Architecture(
        *(61, 7168, 128, 128, 128, 18432, 129280),
        experts=Experts(256, 8, 2048, shared_size=2048, dense_layers=3),
        latent=LatentAttention(1536, 512, rope_head_size=64, value_head_size=128),
    ),
}
_OTHER_NAMES = {
    "deepseek-v2-lite": "deepseek2-16b",
    "deepseek-v2-16b": "deepseek2-16b",
    "deepseek-v2-236b": "deepseek2-236b",
    "deepseek-v3": "deepseek3-671b",
    "llama3-405b": "llama3.1-405b",
    "llama3.0-8b": "llama3-8b",
    "llama3.0-70b": "llama3-70b",
}
_VOCABULARIES = {"llama2": 32000, "llama3": 128256}


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.casefold())


_BY_LETTERS = {
    _letters(name): model for name, model in [*((name, name) for name in KNOWN_MODELS), *_OTHER_NAMES.items()]
}


def known_model(text: str) -> str | None:
    """Return the known model in a text, or None: ``hf_Llama-3.1-8B`` means ``llama3.1-8b``.

    Only letters and digits count. An unknown size matches no model, as in ``llama2-700b``.
    """
    letters = _letters(text)
    return next((model for known, model in _BY_LETTERS.items() if re.search(f"{known}(?![0-9])", letters)), None)


def vocabulary_of(text: str) -> int | None:
    """Return the vocabulary size of the tokenizer in a text, in tokens without padding, or None."""
    letters = _letters(text)
    return next((size for family, size in _VOCABULARIES.items() if family in letters), None)
