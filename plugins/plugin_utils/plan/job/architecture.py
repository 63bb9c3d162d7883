# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a model's shape decides how many operations a token costs, and how many parameters there are.

``model_flops_per_token`` counts the matrix products of one training step, forward and twice that backward, for each
token: 6 FLOPs for each weight that the token meets, and attention, of which causal models need half of the matrix.
Nothing is counted twice that is computed twice (recomputation), nor anything but matrix products. The sources:

- ``num_floating_point_operations`` in megatron/training/training.py of Megatron-LM, which counts causal attention since
  March 2025; ROCm's forks of that year still count the whole matrix, so that the TFLOP/s which they print are higher,
- ``calculate_tflops_training_per_device`` in src/maxtext/utils/maxtext_utils.py of MaxText, likewise since April 2025;
  it counts the routers of experts as well,
- appendix B of "PaLM: Scaling Language Modeling with Pathways" (arXiv 2204.02311), 6 N + 12 L H Q T, for the others.
"""

from __future__ import annotations

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
    """Return how many of the parameters are those of experts, which expert parallelism divides."""
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
    """Return the weights of the feed-forward parts of all layers, or those of them that one token meets."""
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
