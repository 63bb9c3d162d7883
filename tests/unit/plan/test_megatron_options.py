"""The options of AMD's guide to Megatron-LM, and options that only the scripts mention."""

from __future__ import annotations

import typing as t

import pytest
from training_configs import BRANCH, DISTRIBUTED, deepseek, filled, keys, only, planned

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.megatron.config import (
    MegatronConfig,
    MegatronModelParameters,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.megatron.script_options import (
    ScriptOptions,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.trainers.rocm_scripts.environment import (
    DEEPSEEK_NAMES,
)

KEY = BRANCH.replace("/", ".")
NEWEST = {"config/container_image": "rocm/megatron-lm:v26.1"}

# The rows of the guide's tables "Key options": the guide's name, the key here, a value, and the script's value. None:
# only the value that the script has anyway is allowed.
OF_LLAMA = [
    ("TEE_OUTPUT", "tee_output", "1", {"TEE_OUTPUT": "1"}),
    ("TE_FP8", "precision", "TE_BF16", {"TE_FP8": "0"}),
    ("GEMM_TUNING", "gemm_tuning", "0", {"GEMM_TUNING": "0"}),
    ("USE_FLASH_ATTN", "flash_attention", "False", {"USE_FLASH_ATTN": "0"}),
    ("FSDP", "fsdp", "1", {"FSDP": "1"}),
    ("ENABLE_PROFILING", "profiling", True, {"ENABLE_PROFILING": "1"}),
    ("transformer-impl", "transformer_impl", "transformer_engine", {}),
    ("MODEL_SIZE", "model_size", "8B", {"MODEL_SIZE": "8"}),
    ("TOTAL_ITERS", "config/training_iterations", "7", {"TOTAL_ITERS": "7"}),
    ("MOCK_DATA", "config/mock_data", "True", {"MOCK_DATA": "1"}),
    ("MBS", "micro_batch_size", "4", {"MBS": "4"}),
    ("BS", "batch_size", "256", {"BS": "256"}),
    ("TP", "tensor_parallelism", "2", {"TP": "2"}),
    ("SEQ_LENGTH", "sequence_length", "4096", {"SEQ_LENGTH": "4096"}),
]
OF_DEEPSEEK = [
    ("PR", "precision", "TE_FP8", {"PR": "fp8"}),
    ("GEMM_TUNING", "gemm_tuning", "0", {"GEMM_TUNING": "0"}),
    ("TRAIN_ITERS", "config/training_iterations", "20", {"TRAIN_ITERS": "20"}),
    ("MOCK_DATA", "config/mock_data", "True", {"MOCK_DATA": "1"}),
    ("MBS", "micro_batch_size", "2", {"MBS": "2"}),
    ("GBS", "batch_size", "64", {"GBS": "64"}),
    ("SEQ_LEN", "sequence_length", "2048", {"SEQ_LEN": "2048", "PAD_LEN": "2048"}),
    ("AC", "activation_checkpointing", "full", {"AC": "full"}),
]
# Options that the guide mentions outside of its tables.
IN_ITS_TEXT = [
    ("NCCL_SOCKET_IFNAME", "config/nccl_socket_ifname", "eth1", {"NCCL_SOCKET_IFNAME": "eth1"}),
    ("GLOO_SOCKET_IFNAME", "config/gloo_socket_ifname", "eth1", {"GLOO_SOCKET_IFNAME": "eth1"}),
    ("NCCL_IB_HCA", "config/nccl_ib_hca_list", "rdma0,rdma1", {"NCCL_IB_HCA": "rdma0,rdma1"}),
    ("DATA_CACHE_PATH", "config/data_cache_dir", "/home/{user-id}/c", {"DATA_CACHE_PATH": "/home/amd/c"}),
    ("TOKENIZER_MODEL", "tokenizer_model", "meta-llama/Llama-3.1-8B", {"TOKENIZER_MODEL": "meta-llama/Llama-3.1-8B"}),
    ("RECOMPUTE", "recompute", "1", {"RECOMPUTE": "1"}),
    ("MASTER_ADDR", "config/master_address", "10.0.0.10", {"MASTER_ADDR": "10.0.0.10"}),
]
# Options that the guide does not mention, but the scripts of v26.1 all read.
OF_THE_SCRIPTS = [
    ("context_parallelism", "2", {"CP": "2"}),
    ("sequence_parallel", "0", {"SEQ_PARALLEL": "0"}),
    ("rope_fusion", "0", {"ROPE_FUSION": "0"}),
    ("mcore_models", "1", {"MCORE": "1"}),
    ("contiguous_parameters", "1", {"CONTI_PARAMS": "1"}),
    ("optimizer", "sgd", {"OPTIMIZER": "sgd"}),
    ("tokenizer_type", "HuggingFaceTokenizer", {"TOKENIZER_TYPE": "HuggingFaceTokenizer"}),
    ("fp8_recipe", "mxfp8", {"TE_FP8_RECIPE": "mxfp8"}),
    ("fp8_param_gather", "1", {"FP8_PARAM_GATHER": "1"}),
    ("fp8_transpose_cache", "1", {"FP8_TRANSPOSE_CACHE": "1"}),
    ("megatron_fsdp", "1", {"MEGATRON_FSDP": "1"}),
    ("gradient_accumulation_fusion", "0", {"GRADIENT_ACCUMULATION_FUSION": "0"}),
    ("grad_reduce_in_bf16", "0", {"GRAD_REDUCE_IN_BF16": "0"}),
    ("ddp_average_in_collective", "0", {"DDP_AVERAGE_IN_COLLECTIVE": "0"}),
    ("cross_entropy_loss_fusion", "0", {"CROSS_ENTROPY_LOSS_FUSION": "0"}),
    ("cross_entropy_fusion_impl", "native", {"CROSS_ENTROPY_FUSION_IMPL": "native"}),
    ("fused_single_qkv_rope", "0", {"FUSED_SINGLE_QKV_ROPE": "0"}),
    ("save_checkpoint_path", "/home/{user-id}/k", {"SAVE_CKPT_PATH": "/home/amd/k"}),
]
TOGETHER = [
    ({"precision": "TE_FP4"}, {"TE_FP4": "1", "TE_FP8": "0"}),
    (
        {"precision": "TE_FP4", "fp4_recipe": "mxfp4", "fp4_param_gather": "1"},
        {"TE_FP4_RECIPE": "mxfp4", "FP4_PARAM_GATHER": "1"},
    ),
    (
        {"precision": "TE_FP4", "fp4_selective_bf16": "1", "fp4_bf16_start": "0", "fp4_bf16_end": "4"},
        {"FP4_SELECTIVE_BF16": "1", "FP4_BF16_START": "0", "FP4_BF16_END": "4"},
    ),
    ({"megatron_fsdp": "1", "hsdp_replicas": "4"}, {"ENABLE_HSDP": "1", "HSDP_NUM_REPLICAS": "4"}),
    (
        {"save_checkpoint_path": "/home/{user-id}/x", "save_interval": "5", "checkpoint_format": "torch_dist"},
        {"SAVE_CKPT_PATH": "/home/amd/x", "SAVE_INTERVAL": "5", "CKPT_FORMAT": "torch_dist"},
    ),
]


def llama(changes: dict[str, object], **options: object) -> dict[str, object]:
    paths = {path if "/" in path else f"{BRANCH}/{path}": value for path, value in changes.items()}
    return planned(filled(DISTRIBUTED, paths), **options)


def of_options(plan: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    """The warnings except the whole branch's: the GPU has no FP4."""
    return [warning for warning in plan["warnings"] if warning["key"] != KEY]


def check_given(plan: dict[str, object], variables: dict[str, str]) -> None:
    assert (plan["faults"], of_options(plan)) == ([], [])
    for node in plan["nodes"]:
        assert {name: node["env"][name] for name in variables} == variables


@pytest.mark.parametrize(("option", "key", "value", "variables"), [*OF_LLAMA, *IN_ITS_TEXT])
def test_every_option_of_the_guide_to_llama(option: str, key: str, value: object, variables: dict[str, str]) -> None:
    check_given(llama({key: value}), variables)
    assert option in variables or option == "transformer-impl"


@pytest.mark.parametrize(("option", "key", "value", "variables"), OF_DEEPSEEK)
def test_every_option_of_the_guide_to_deepseek(option: str, key: str, value: object, variables: dict[str, str]) -> None:
    plan = deepseek({key: value}, training_megatron_release="v26.1")
    check_given(plan, variables)
    assert option in variables
    for node in plan["nodes"]:
        assert node["argv"] == ["bash", "examples/deepseek_v2/train_deepseekv2.sh"]


def test_every_option_of_the_guide_has_a_key_with_type_and_meaning() -> None:
    fields = {**MegatronConfig.model_fields, **MegatronModelParameters.model_fields}
    for _, key, *_ in [*OF_LLAMA, *IN_ITS_TEXT, *OF_DEEPSEEK]:
        assert fields[key.rpartition("/")[2]].description


@pytest.mark.parametrize(("key", "value", "variables"), OF_THE_SCRIPTS)
def test_options_that_the_guide_does_not_name(key: str, value: object, variables: dict[str, str]) -> None:
    plan = llama({key: value, **NEWEST})
    check_given(plan, variables)
    for name, text in variables.items():
        assert f"{name}={text}" in plan["nodes"][0]["argv"]


@pytest.mark.parametrize(("changes", "variables"), TOGETHER)
def test_options_that_belong_together(changes: dict[str, object], variables: dict[str, str]) -> None:
    check_given(llama({**changes, **NEWEST}), variables)


def test_no_option_goes_untested() -> None:
    tested = {key for _, key, *_ in [*OF_LLAMA, *OF_DEEPSEEK]} | {key for key, *_ in OF_THE_SCRIPTS}
    tested |= {key for changes, _ in TOGETHER for key in changes}
    assert set(ScriptOptions.model_fields) - tested == {"padding_length", "moe_legacy_grouped_gemm"}


def test_an_option_that_is_not_given_is_left_to_the_script() -> None:
    environment = llama(NEWEST)["nodes"][0]["env"]
    assert not {"CP", "GEMM_TUNING", "USE_FLASH_ATTN", "OPTIMIZER", "TE_FP8_RECIPE", "ENABLE_HSDP"} & set(environment)


@pytest.mark.parametrize(
    ("key", "value", "variable", "is_fault"),
    [
        ("fp8_recipe", "mxfp8", "TE_FP8_RECIPE", False),
        ("gradient_accumulation_fusion", "0", "GRADIENT_ACCUMULATION_FUSION", False),
        ("megatron_fsdp", "1", "MEGATRON_FSDP", True),
        ("save_checkpoint_path", "/home/{user-id}/x", "SAVE_CKPT_PATH", True),
        ("activation_checkpointing", "full", "AC", False),
        ("padding_length", "4096", "PAD_LEN", False),
    ],
)
def test_what_the_script_does_not_read_is_told(key: str, value: object, variable: str, is_fault: bool) -> None:
    plan = llama({key: value})
    found = only(plan["faults"] if is_fault else plan["warnings"])
    assert found["key"] == f"{KEY}.{key}"
    assert found["message"] == (
        f"{key} has no effect: examples/llama/train_llama3.sh of generation v25.5 does not read {variable}."
    )
    assert "training_megatron_release" in found["remedy"]


@pytest.mark.parametrize("key", ["fsdp", "recompute"])
def test_v25_3_has_neither_fsdp_nor_recomputation(key: str) -> None:
    image = {"config/container_image": "rocm/megatron-lm:v25.3", "tokenizer_model": "meta-llama/Llama-3.1-8B"}
    image["config/container_config/volume_dict"] = {"/nfs/cache": "/root/cache", "/home/{user-id}": "/home/{user-id}"}
    plan = llama({key: "1", **image})
    assert keys(plan["faults"] + plan["warnings"]) == [f"{KEY}.{key}"]
    assert bool(plan["faults"]) is (key == "fsdp")
    assert llama({key: "0", **image})["warnings"] == []


@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"tee_output": "0"}, "tee_output", "the script prints no step"),
        ({"transformer_impl": "local"}, "transformer_impl", "No training script passes"),
        ({"fsdp": "1", "megatron_fsdp": "1"}, "megatron_fsdp", "rejects the combination"),
        ({"megatron_fsdp": "1", "tensor_parallelism": "2"}, "tensor_parallelism", "silently sets it to 1"),
        ({"hsdp_replicas": "2"}, "hsdp_replicas", "only with megatron_fsdp"),
        ({"hsdp_replicas": "1", "megatron_fsdp": "1"}, "hsdp_replicas", "only with megatron_fsdp, and at least two"),
        ({"hsdp_replicas": "5", "megatron_fsdp": "1"}, "hsdp_replicas", "The 32 data-parallel ranks cannot be divided"),
        ({"fp8_param_gather": "1", "optimizer": "sgd"}, "fp8_param_gather", "only with its distributed optimizer"),
        ({"fsdp": "1", "save_checkpoint_path": "/home/{user-id}/x"}, "checkpoint_format", "as torch_dist"),
        ({"precision": "TE_FP4", "fp4_bf16_start": "24"}, "fp4_bf16_start", "The first 24 and the last 8 layers stay"),
        (
            {"precision": "TE_FP4", "fp4_bf16_end": "30"},
            "fp4_bf16_end",
            "none of the model's 32 layers is left for FP4",
        ),
    ],
)
def test_options_that_do_not_go_together(changes: dict[str, object], key: str, words: str) -> None:
    fault = only(llama({**changes, **NEWEST})["faults"])
    assert fault["key"] == f"{KEY}.{key}"
    assert words in fault["message"]


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"precision": "TE_BF16", "fp8_recipe": "delayed"}, "fp8_recipe"),
        ({"fp4_recipe": "nvfp4"}, "fp4_recipe"),
        ({"precision": "TE_FP4", "fp4_selective_bf16": "0", "fp4_bf16_end": "40"}, "fp4_bf16_end"),
        ({"precision": "TE_FP4", "fp4_recipe": "mxfp4", "fp4_bf16_start": "40"}, "fp4_bf16_start"),
        ({"precision": "TE_FP4", "fp4_recipe": "mxfp4", "grad_reduce_in_bf16": "0"}, "grad_reduce_in_bf16"),
        ({"cross_entropy_loss_fusion": "0", "cross_entropy_fusion_impl": "te"}, "cross_entropy_fusion_impl"),
        ({"save_interval": "5"}, "save_interval"),
        ({"save_checkpoint_path": "/lost"}, "save_checkpoint_path"),
        ({"fsdp": "1", "sequence_parallel": "1"}, "sequence_parallel"),
        ({"fsdp": "1", "gradient_accumulation_fusion": "1"}, "gradient_accumulation_fusion"),
    ],
)
def test_options_without_effect_are_warnings(changes: dict[str, object], key: str) -> None:
    plan = llama({**changes, **NEWEST})
    assert plan["faults"] == []
    assert only(of_options(plan))["key"] == f"{KEY}.{key}"


def test_a_sequence_that_is_not_shared_out_need_not_divide() -> None:
    sizes = {"tensor_parallelism": "8", "sequence_length": "4100"}
    assert keys(llama(sizes)["faults"]) == [f"{KEY}.sequence_length"]
    assert llama({**sizes, "sequence_parallel": "0"})["faults"] == []


@pytest.mark.parametrize(
    ("changes", "connections", "image", "told"),
    [
        ({"tensor_parallelism": "2"}, "8", "v26.1", "faults"),
        ({"context_parallelism": "2"}, "8", "v26.1", "faults"),
        ({"tensor_parallelism": "2"}, "1", "v26.1", None),
        ({}, "8", "v26.1", None),
        ({"megatron_fsdp": "1", "context_parallelism": "2"}, "8", "v26.1", None),
        ({"fsdp": "1"}, "1", "v25.9", "notes"),
        ({"fsdp": "1"}, "8", "v25.9", None),
    ],
)
def test_the_connections_of_a_device_are_what_megatron_takes(
    changes: dict[str, str], connections: str, image: str, told: str | None
) -> None:
    variable = "CUDA_DEVICE_MAX_CONNECTIONS"
    given = {"config/container_config/env_dict": {variable: connections}}
    plan = llama({**changes, **given, "config/container_image": f"rocm/megatron-lm:{image}"})
    assert plan["warnings"] == []
    assert [fault["key"].endswith(variable) for fault in plan["faults"]] == [True] * (told == "faults")
    assert any(variable in note for note in plan["notes"]) is (told == "notes")


@pytest.mark.parametrize("image", ["rocm/megatron-lm:v25.5", "rocm/megatron-lm:v26.1"])
def test_fp4_is_for_the_newest_script_of_llama_3_only(image: str) -> None:
    plan = llama({"precision": "TE_FP4", "config/container_image": image})
    assert keys(plan["faults"]) == ([] if image.endswith("v26.1") else [f"{KEY}.precision"])
    if not plan["faults"]:
        assert (plan["parameters"]["precision"], plan["workload"]["precision"]) == ("nvfp4", "fp4")


def test_context_parallelism_counts_in_the_sizes() -> None:
    plan = llama({"context_parallelism": "4", "tensor_parallelism": "2"})
    assert plan["parameters"]["context_parallelism"] == 4
    assert plan["parameters"]["data_parallelism"] == 4
    assert "context_parallelism" not in llama({"context_parallelism": "1"})["parameters"]
    fault = only(llama({"context_parallelism": "4", "sequence_length": "8188"})["faults"])
    assert fault["message"] == "Context parallelism cannot divide 8188 tokens into 2 × 4 pieces."
    found = only(llama({"context_parallelism": "3", "sequence_length": "8190"})["faults"])
    assert "× context parallelism 3 = 3." in found["message"]


def test_a_rehearsal_has_no_context_parallelism() -> None:
    plan = llama({"context_parallelism": "4"}, training_rehearsal=True)
    assert plan["nodes"][0]["env"]["CP"] == "1"
    assert "CP=1" in plan["nodes"][0]["argv"]
    assert "CP=4" not in plan["nodes"][0]["argv"]


def test_a_script_that_nothing_is_known_about_gets_everything() -> None:
    scripts = {"config/training_scripts": {"Llama": "my/own.sh"}, "fp8_recipe": "mxfp8", "padding_length": "5"}
    plan = llama(scripts)
    assert plan["nodes"][0]["env"]["TE_FP8_RECIPE"] == "mxfp8"
    assert plan["nodes"][0]["env"]["PAD_LEN"] == "5"
    assert keys(plan["warnings"]) == ["config.training_scripts.Llama"]


def test_the_names_of_deepseek_are_those_that_its_script_reads() -> None:
    environment = deepseek({"moe_legacy_grouped_gemm": "0"}, training_megatron_release="v26.1")["nodes"][0]["env"]
    assert set(DEEPSEEK_NAMES.values()) < set(environment)
    assert environment["MOE_USE_LEGACY_GROUPED_GEMM"] == "false"
