# SPDX-License-Identifier: GPL-3.0-or-later
"""FLOPs and parameters of models, compared with numbers that others published or printed."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.maxtext.models import (
    DIMENSIONS,
    PRESETS,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.architecture import (
    KNOWN_MODELS,
    Architecture,
    known_model,
    model_flops_per_token,
    parameters_of,
    vocabulary_of,
)

# Parameters, and how many of them are in norms, in biases of routers and in buffers, which are not counted here.
# Sources: ``safetensors.total`` of the Hugging Face hub's API for Llama-2-*-hf (which counts the 64 rotary frequencies
# of each layer), Meta-Llama-3, Llama-3.1 and 3.2, Mistral-7B-v0.1, Mixtral-8x7B-v0.1, Mixtral-8x22B-Instruct-v0.1,
# DeepSeek-V2-Lite and DeepSeek-V2; the main model of DeepSeek-V3, without the layer that predicts a second token, by
# its config.json (its model card rounds to 671B); for GPT-3 table D.1 of arXiv 2005.14165, which rounds to 174,600
# million, with the positions of 2,048 tokens, the biases and the norms of GPT-2, whose shape it has according to its
# section 2.1.
PUBLISHED = {
    "gpt3-175b": (174_604_259_328, 2048 * 12288 + 96 * 13 * 12288 + 2 * 12288),
    "llama2-7b": (6_738_417_664, 65 * 4096 + 32 * 64),
    "llama2-13b": (13_015_866_880, 81 * 5120 + 40 * 64),
    "llama2-70b": (68_976_653_312, 161 * 8192 + 80 * 64),
    "llama3-8b": (8_030_261_248, 65 * 4096),
    "llama3-70b": (70_553_706_496, 161 * 8192),
    "llama3.1-8b": (8_030_261_248, 65 * 4096),
    "llama3.1-70b": (70_553_706_496, 161 * 8192),
    "llama3.1-405b": (405_853_388_800, 253 * 16384),
    "llama3.2-1b": (1_235_814_400, 33 * 2048),
    "llama3.2-3b": (3_212_749_824, 57 * 3072),
    "llama3.3-70b": (70_553_706_496, 161 * 8192),
    "mistral-7b": (7_241_732_096, 65 * 4096),
    "mixtral-8x7b": (46_702_792_704, 65 * 4096),
    "mixtral-8x22b": (140_630_071_296, 113 * 6144),
    "deepseek2-16b": (15_706_484_224, 27 * (2 * 2048 + 512) + 2048),
    "deepseek2-236b": (235_741_434_880, 60 * (2 * 5120 + 1536 + 512) + 5120),
    "deepseek3-671b": (671_026_419_200, 61 * (2 * 7168 + 1536 + 512) + 7168 + 58 * 256),
}


def test_the_parameters_of_every_known_model_are_those_that_were_published() -> None:
    assert set(PUBLISHED) == set(KNOWN_MODELS)
    for model, (published, left_out) in PUBLISHED.items():
        assert parameters_of(KNOWN_MODELS[model]) + left_out == published, model
    assert round(PUBLISHED["gpt3-175b"][0], -8) == 174_600_000_000


class Run(t.NamedTuple):
    """A published run: TFLOP/s and tokens/s of a device, and the trainer's way of counting."""

    model: str
    sequence_length: int
    tflops: float
    tokens: float
    whole_attention: bool = False
    counts_routers: bool = False


RUNS = {
    # hisohara/ai-scripts, training/02_megatron/README.md: ROCm/Megatron-LM at 38fc8307 on eight MI300X, FP8, as its
    # train_llama2.sh printed it: the whole matrix.
    "megatron rocm": Run("llama2-7b", 4096, 589.331914893617, 12786.891099, whole_attention=True),
    # NVIDIA-NeMo/Megatron-Bridge, docs/performance-summary-archive.md, 25.11 NeMo Container, tables DGX-H100 (the first
    # two) and DGX-GB300, columns FP8-CS (DeepSeekV3 w/o MTP: BF16): causal attention.
    "megatron 8b": Run("llama3-8b", 8192, 744, 14451),
    "megatron 70b": Run("llama3-70b", 8192, 719, 1602),
    "megatron 405b": Run("llama3.1-405b", 8192, 2522, 999),
    "megatron deepseek": Run("deepseek3-671b", 4096, 961, 3848),
    # AI-Hypercomputer/maxtext, docs/guides/monitoring_and_debugging/understand_logs_and_metrics.md, step 9, v5p with 24
    # sequences: causal attention, and routers.
    "maxtext deepseek": Run("deepseek2-16b", 2048, 134.924, 8672.758, counts_routers=True),
    # AI-Hypercomputer/tpu-recipes, training/trillium/Llama2-70B-MaxText/README.md at 5f538666 and
    # Llama3-8B-MaxText/README.md at 5bf4ddd9, on v6e: the whole matrix.
    "maxtext 70b": Run("llama2-70b", 4096, 419.193, 943.086, whole_attention=True, counts_routers=True),
    "maxtext 8b": Run("llama3.1-8b", 8192, 449.171, 7755.989, whole_attention=True, counts_routers=True),
}


def causal_half(shape: Architecture, sequence_length: int) -> float:
    """Return the cost of the half of the attention matrix that a causal model does not need, in FLOPs per token."""
    return 6.0 * shape.layers * shape.attention_heads * shape.head_size * sequence_length


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_the_flops_are_those_of_published_runs(run: Run) -> None:
    shape = KNOWN_MODELS[run.model]
    counted = model_flops_per_token(shape, run.sequence_length, counts_routers=run.counts_routers)
    counted += causal_half(shape, run.sequence_length) if run.whole_attention else 0
    assert counted == pytest.approx(run.tflops * 1e12 / run.tokens, rel=0.001)


@pytest.mark.parametrize(("model", "sequence_length"), [("llama2-7b", 4096), ("llama3-8b", 8192)])
def test_the_flops_are_those_of_nxdt_but_for_what_is_no_product_of_weights(model: str, sequence_length: int) -> None:
    """NxDT prints no TFLOP/s. Its estimator (utils/llama_perf_estimate.py) counts three things more.

    These are the whole attention matrix, a softmax of six operations for each of its elements, and a product with the
    embedding table.
    """
    shape = KNOWN_MODELS[model]
    hidden, key_value = shape.hidden_size, shape.query_groups * shape.head_size
    attention = 4 * hidden**2 + 4 * hidden * key_value + 4 * hidden * sequence_length
    softmax = 6 * shape.attention_heads * sequence_length
    layer = attention + softmax + 6 * hidden * shape.feed_forward_size
    of_nxdt = 3 * (shape.layers * layer + 4 * shape.vocabulary_size * hidden)
    more = causal_half(shape, sequence_length) + 3 * shape.layers * softmax + 6 * shape.vocabulary_size * hidden
    assert model_flops_per_token(shape, sequence_length, counts_routers=False) + more == of_nxdt


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
