# SPDX-License-Identifier: GPL-3.0-or-later
"""The dimensions of models in general, and of known models.

The part of a model's shape that decides how many operations a token costs, and how many parameters there are.

``model_flops_per_token`` counts the matrix products of one training step, forward and twice that backward, for each
token: 6 FLOPs for each weight that the token meets, and attention; causal models need only half of its matrix.
Recomputed products count once, and only matrix products count. The sources:

- ``num_floating_point_operations`` in megatron/training/training.py of Megatron-LM, which counts causal attention since
  March 2025; ROCm's forks of that year still count the whole matrix, so that the TFLOP/s which they print are higher,
- ``calculate_tflops_training_per_device`` in src/maxtext/utils/maxtext_utils.py of MaxText, likewise since April 2025;
  it counts the routers of experts as well,
- appendix B of "PaLM: Scaling Language Modeling with Pathways" (arXiv 2204.02311), 6 N + 12 L H Q T, for the others.

Models known by name, with their shapes.

Source: the ``config.json`` that is published with each model; for GPT-3 table 2.1 of arXiv 2005.14165.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FORMULA = (
    "6 FLOPs for each matrix weight that a token passes (without the embedding table), and for each layer 6 × "
    "sequence length × attention heads × head size for causal attention; recomputation is not counted"
)


@dataclass(frozen=True)
class Experts:
    """The feed-forward parts of the layers that have experts.

    Each token meets ``per_token`` of the ``count`` experts of a layer, all of ``feed_forward_size``, and the
    shared ones, which together are ``shared_size`` wide. The first ``dense_layers`` layers have none.
    """

    count: int
    per_token: int
    feed_forward_size: int
    shared_size: int = 0
    dense_layers: int = 0


@dataclass(frozen=True)
class LatentAttention:
    """Multi-head latent attention: ranks of the compressed queries (None: not compressed), keys and values."""

    query_rank: int | None
    key_value_rank: int
    rope_head_size: int
    value_head_size: int


@dataclass(frozen=True)
class Architecture:
    """The shape of a transformer.

    ``query_groups`` are the key/value heads. A ``gated`` feed-forward part (SwiGLU and its like) has three matrices,
    any other two. The output matrix is one of its own unless ``tied`` to the embedding table.
    """

    layers: int
    hidden_size: int
    attention_heads: int
    query_groups: int
    head_size: int
    feed_forward_size: int
    vocabulary_size: int
    gated: bool = True
    tied: bool = False
    experts: Experts | None = None
    latent: LatentAttention | None = None


def model_flops_per_token(shape: Architecture, sequence_length: int, *, counts_routers: bool) -> float:
    """Return the FLOPs of a training step for each of its tokens; ``sequence_length`` is in tokens."""
    weights = shape.layers * _attention_weights(shape) + _feed_forward_weights(shape, active=True)
    weights += shape.hidden_size * shape.vocabulary_size
    if counts_routers:
        weights += _router_weights(shape)
    products = shape.head_size * 2
    if shape.latent:
        products = shape.head_size + shape.latent.rope_head_size + shape.latent.value_head_size
    # Scores and their product with the values, 2 FLOPs each, three times, over half of the matrix.
    attention = 3.0 * shape.layers * shape.attention_heads * products * sequence_length
    return 6.0 * weights + attention


def parameters_of(shape: Architecture) -> int:
    """Return how many parameters the matrices of a model have, with its embedding table; norms and biases are left out.

    They are less than a thousandth of a model of a billion parameters.
    """
    tables = 1 if shape.tied else 2
    weights = shape.layers * _attention_weights(shape) + _feed_forward_weights(shape, active=False)
    return weights + _router_weights(shape) + tables * shape.hidden_size * shape.vocabulary_size


def expert_parameters_of(shape: Architecture) -> int:
    """Return how many parameters belong to experts, which expert parallelism divides."""
    if not shape.experts:
        return 0
    of_layer = shape.experts.count * shape.experts.feed_forward_size
    return (3 if shape.gated else 2) * shape.hidden_size * (shape.layers - shape.experts.dense_layers) * of_layer


def _attention_weights(shape: Architecture) -> int:
    hidden, heads = shape.hidden_size, shape.attention_heads
    latent = shape.latent
    if latent is None:
        return 2 * hidden * shape.head_size * (heads + shape.query_groups)
    queries = heads * (shape.head_size + latent.rope_head_size)
    rank = latent.query_rank
    return (
        (hidden * queries if rank is None else rank * (hidden + queries))
        + hidden * (latent.key_value_rank + latent.rope_head_size)
        + latent.key_value_rank * heads * (shape.head_size + latent.value_head_size)
        + heads * latent.value_head_size * hidden
    )


def _feed_forward_weights(shape: Architecture, *, active: bool) -> int:
    """Return the weights of the feed-forward parts of all layers, or only the weights that one token meets."""
    widths = shape.layers * shape.feed_forward_size
    if shape.experts:
        experts = shape.experts
        met = experts.per_token if active else experts.count
        of_layer = met * experts.feed_forward_size + experts.shared_size
        widths = experts.dense_layers * shape.feed_forward_size + (shape.layers - experts.dense_layers) * of_layer
    return (3 if shape.gated else 2) * shape.hidden_size * widths


def _router_weights(shape: Architecture) -> int:
    if not shape.experts:
        return 0
    return (shape.layers - shape.experts.dense_layers) * shape.hidden_size * shape.experts.count


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
