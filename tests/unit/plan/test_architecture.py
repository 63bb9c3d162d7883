# SPDX-License-Identifier: GPL-3.0-or-later
"""FLOPs and parameters of models, held against numbers that others published or printed."""

from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks.maxtext.models import DIMENSIONS, PRESETS
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.architecture import (
    Architecture,
    model_flops_per_token,
    parameters_of,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.known_models import (
    KNOWN_MODELS,
    known_model,
    vocabulary_of,
)

# In billions, as the models' cards and papers say; norms are less than a thousandth.
PUBLISHED = {
    "gpt3-175b": 174.6,
    "llama2-7b": 6.74,
    "llama2-13b": 13.0,
    "llama2-70b": 69.0,
    "llama3-8b": 8.03,
    "llama3-70b": 70.6,
    "llama3.1-405b": 405.9,
    "mistral-7b": 7.24,
    "mixtral-8x7b": 46.7,
    "mixtral-8x22b": 140.6,
    "deepseek2-16b": 15.7,
    "deepseek2-236b": 235.7,
    "deepseek3-671b": 671.0,
}


@pytest.mark.parametrize(("model", "billions"), PUBLISHED.items())
def test_the_parameters_of_known_models_are_those_that_were_published(model: str, billions: float) -> None:
    assert parameters_of(KNOWN_MODELS[model]) / 1e9 == pytest.approx(billions, rel=0.003)


def test_the_flops_are_those_that_megatron_printed_but_for_its_full_attention() -> None:
    """ROCm Megatron-LM of August 2025: Llama 2 7B, 4096 tokens: 589.33 TFLOP/s at 12786.89 tokens/s, on each GPU."""
    shape = KNOWN_MODELS["llama2-7b"]
    other_half_of_attention = 3.0 * 32 * 32 * 2 * 128 * 4096
    counted = model_flops_per_token(shape, 4096, counts_routers=False) + other_half_of_attention
    assert counted == pytest.approx(589.331914893617e12 / 12786.891099, rel=1e-4)


def test_the_flops_follow_appendix_b_of_palm() -> None:
    """6 N + 12 L H Q T, half of the latter for causal attention, where N does not count the embedding table."""
    shape = Architecture(2, 64, 4, 4, 16, 256, 1000, gated=False, tied=True)
    weights = 2 * (4 * 64 * 64 + 2 * 64 * 256) + 64 * 1000
    assert parameters_of(shape) == weights
    assert model_flops_per_token(shape, 128, counts_routers=False) == 6 * weights + 12 * 2 * 4 * 16 * 128 / 2


def test_only_the_experts_that_a_token_meets_cost_it_anything() -> None:
    mixtral, mistral = KNOWN_MODELS["mixtral-8x7b"], KNOWN_MODELS["mistral-7b"]
    one_more_expert = 6 * 32 * 3 * 4096 * 14336
    without_routers = model_flops_per_token(mixtral, 4096, counts_routers=False)
    assert without_routers - model_flops_per_token(mistral, 4096, counts_routers=False) == one_more_expert
    assert model_flops_per_token(mixtral, 4096, counts_routers=True) - without_routers == 6 * 32 * 4096 * 8


def test_deepseek_v3_activates_37_billion_parameters() -> None:
    shape = KNOWN_MODELS["deepseek3-671b"]
    table = shape.hidden_size * shape.vocabulary_size
    active = model_flops_per_token(shape, 0, counts_routers=True) / 6 + table
    assert active / 1e9 == pytest.approx(37.5, rel=0.01)


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("llama3_1_8b", "llama3.1-8b"),
        ("Llama-2-70B", "llama2-70b"),
        ("/data/llama3_8b/config.json", "llama3-8b"),
        ("DeepSeek-V2-Lite", "deepseek2-16b"),
        ("llama3_1_405b", "llama3.1-405b"),
        ("mixtral_8x22b", "mixtral-8x22b"),
        ("llama2-700b", None),
        ("llama3-tinyb", None),
        ("", None),
    ],
)
def test_a_model_is_known_however_its_name_is_written(text: str, model: str | None) -> None:
    assert known_model(text) == model


def test_a_tokenizer_tells_its_vocabulary_by_its_family() -> None:
    assert [vocabulary_of(text) for text in ("NousResearch/Meta-Llama-3-8B", "/data/llama2/tokenizer", "gpt2")] == [
        128256,
        32000,
        None,
    ]


@pytest.mark.parametrize("model", [name for name in KNOWN_MODELS if name in PRESETS])
def test_the_presets_of_maxtext_have_the_same_dimensions(model: str) -> None:
    shape = KNOWN_MODELS[model]
    own = (
        *(shape.hidden_size, shape.attention_heads, shape.query_groups, shape.layers, shape.feed_forward_size),
        *(shape.head_size, shape.vocabulary_size),
    )
    assert PRESETS[model] == dict(zip(DIMENSIONS, own, strict=True))
