# SPDX-License-Identifier: GPL-3.0-or-later
"""Every rule of an NxDT training config, broken by itself."""

from __future__ import annotations

import typing as t

import pytest
from nxdt_configs import DPO, HF, MEGATRON, REMOVED, SFT, planned_nxdt
from training_configs import keys, only

STRATEGY = "distributed_strategy."
LORA = {"sft": {"packing": True}, "peft": {"lora_rank": 16, "lora_alpha": 32, "target_modules": ["qkv_proj"]}}
ORPO = {"orpo": {"beta": 0.1, "max_prompt_length": 5000}}
MOE = {"num_experts": 8, "capacity_factor": 2.0, "top_k": 2}

FAULTS: list[tuple[str, dict[str, t.Any], str, str]] = [
    # Types are strict, and keys are known.
    (HF, {"trainer.max_steps": "200", "model.optim.sched.max_steps": 200}, "trainer.max_steps", "is text, not a whole"),
    (HF, {"trainer.max_steps": -1, "model.optim.sched.max_steps": 200}, "trainer.max_steps", "is too small"),
    (HF, {"model.fusions.softmax": 1}, "model.fusions.softmax", "is neither true nor false"),
    (HF, {"model_source": "Megatron"}, "model_source", "is not one of the allowed values"),
    (HF, {"async_exec_max_inflight_requests": 5}, "async_exec_max_inflight_requests", "is not a known key"),
    (HF, {"aync_exec_max_inflight_requests": REMOVED}, "aync_exec_max_inflight_requests", "is missing"),
    (HF, {"exp_manager.explicit_log_dir": REMOVED}, "exp_manager.explicit_log_dir", "is missing"),
    (HF, {"trainer.enable_progress_bar": False}, "trainer.enable_progress_bar", "judged by the progress bar's output"),
    (HF, {"trainer.enable_model_summary": True}, "trainer.enable_model_summary", "NxDT rejects it"),
    (HF, {"name": "a/b"}, "name", "a part of folder names"),
    (HF, {"defaults": ["base"]}, "defaults", "is not a known key"),
    # Interpolations.
    (HF, {"model.optim.sched.max_steps": "${trainer.steps}"}, "model.optim.sched.max_steps", "cannot be resolved"),
    (HF, {"data.train_dir": "${oc.env:HOME}/x"}, "data.train_dir", "oc.env would read HOME on the machine that runs"),
    (HF, {"trainer.max_steps": "${multiply:${oc.env:N,1},2}"}, "trainer.max_steps", "oc.env would read N"),
    (HF, {"data.train_dir": "???"}, "data.train_dir", "must be given"),
    # Sizes.
    (HF, {STRATEGY + "tensor_model_parallel_size": 12}, STRATEGY + "tensor_model_parallel_size", "128 devices"),
    (HF, {STRATEGY + "expert_model_parallel_size": 3}, STRATEGY + "expert_model_parallel_size", "expert 3 = 48"),
    (HF, {"data.global_batch_size": 500}, "data.global_batch_size", "silently train on a smaller one"),
    (HF, {"data.global_batch_size": 4}, "data.global_batch_size", "data parallelism 8 = 8"),
    (HF, {"model.encoder_seq_length": 8200}, "model.encoder_seq_length", "cannot divide 8200 tokens"),
    (HF, {STRATEGY + "kv_replicator": 3}, STRATEGY + "kv_replicator", "not a multiple of kv_replicator 3"),
    (HF, {STRATEGY + "pipeline_model_parallel_size": 64}, STRATEGY + "tensor_model_parallel_size", "= 1024"),
    (
        HF,
        {"model.num_layers": 7, STRATEGY + "pipeline_model_parallel_size": 8},
        STRATEGY + "pipeline_model_parallel_size",
        "7 layers",
    ),
    (
        MEGATRON,
        {"model.num_layers": 31, STRATEGY + "pipeline_model_parallel_size": 2},
        STRATEGY + "pipeline_model_parallel_size",
        "31 layers",
    ),
    (
        HF,
        {STRATEGY + "virtual_pipeline_model_parallel_size": 2},
        STRATEGY + "virtual_pipeline_model_parallel_size",
        "nothing to interleave",
    ),
    (HF, {"model.pipeline_cuts": ["a", "b"]}, "model.pipeline_cuts", "2 cuts for 1 pipeline stage"),
    (MEGATRON, {"model.num_attention_heads": 36}, "model.num_attention_heads", "36 attention heads"),
    (MEGATRON, {"model.num_kv_heads": 4}, "model.num_kv_heads", "4 key/value heads"),
    (MEGATRON, {"model.num_kv_heads": 24}, "model.num_kv_heads", "cannot be divided among 24 key/value heads"),
    (MEGATRON, {"model.hidden_size": 4100}, "model.hidden_size", "cannot be divided among 32 attention heads"),
    # Devices.
    (SFT, {"trainer.devices": 64}, "trainer.devices", "trn1.32xlarge offers 32 devices at lnc 1"),
    (HF, {"trainer.devices": 256, "trainer.lnc": 1}, "trainer.devices", "trn2.48xlarge offers 128 devices at lnc 1"),
    (HF, {"compiler_flags": "--model-type transformer --lnc=1"}, "compiler_flags", "trainer.lnc is 2"),
    (HF, {"trainops.instance_type": "p5.48xlarge"}, "trainops.instance_type", "is not one of the allowed values"),
    # Precision.
    (HF, {"precision.type": "mixed_precisionSR"}, "precision.type", "spelled as in NxDT's documentation"),
    (HF, {"precision.type": "bf16"}, "precision.type", "is not one of the allowed values"),
    (
        HF,
        {"precision": {"type": "manual", "xla_use_bf16": "0", "xla_downcast_bf16": "1"}},
        "precision.neuron_rt_stochastic_rounding_en",
        "type manual needs",
    ),
    # The needs of a model source.
    (HF, {"model.model_config": None}, "model.model_config", "model_source hf needs"),
    (HF, {"data.train_dir": None}, "data.train_dir", "nothing to train on"),
    (MEGATRON, {"data.data_prefix": None}, "data.data_prefix", "nothing to train on"),
    (MEGATRON, {"model.ffn_hidden_size": REMOVED}, "model.ffn_hidden_size", "model_source megatron needs"),
    (MEGATRON, {STRATEGY + "zero1": False}, STRATEGY + "zero1", "zero1 only"),
    # Context parallelism, experts.
    (
        HF,
        {STRATEGY + "context_parallel_size": 2, "model.fusions.flash_attention": False},
        "model.fusions.ring_attention",
        "needs ring attention",
    ),
    (
        HF,
        {STRATEGY + "context_parallel_size": 2, "model.fusions.ring_attention": True},
        "model.fusions.flash_attention",
        "in place of flash",
    ),
    (MEGATRON, {"model.moe": {**MOE, "dropless": True}, "model.activation": "gelu"}, "model.activation", "need swiglu"),
    (
        MEGATRON,
        {"model.moe": {**MOE, "dropless": True, "glu_mlp": False}},
        "model.moe.glu_mlp",
        "need gated linear units",
    ),
    (MEGATRON, {"model.moe": {**MOE, "dropless": True}, "model.activation": None}, "model.activation", "need swiglu"),
    (MEGATRON, {"model.moe": {**MOE, "capacity_factor": 0}}, "model.moe.capacity_factor", "no tokens"),
    (MEGATRON, {"model.moe": {**MOE, "capacity_factor": None}}, "model.moe.capacity_factor", "is not a number"),
    (MEGATRON, {"model.moe": {**MOE, "capacity_factor": "2"}}, "model.moe.capacity_factor", "is text"),
    (MEGATRON, {"model.moe": {"num_experts": 8}}, "model.moe.capacity_factor", "capacity_factor is missing"),
    (MEGATRON, {"model.moe": {**MOE, "routing_algorithm": "sinkhorn"}}, "model.moe.top_k", "one expert"),
    (
        MEGATRON,
        {"model.moe": {**MOE, "num_experts": 7}, STRATEGY + "expert_model_parallel_size": 2},
        "model.moe.num_experts",
        "7 experts",
    ),
    # Fine-tuning and alignment.
    (SFT, {"data.train_dir": "/shared/data/folder"}, "data.train_dir", "a records file"),
    (SFT, {"data.seq_length": None}, "data.seq_length", "alignment need"),
    (SFT, {"data.tokenizer": None}, "data.tokenizer", "alignment need"),
    (
        SFT,
        {"model_alignment_strategy": {**LORA, "orpo": {"beta": 0.1}}, STRATEGY + "zero1": False},
        "model_alignment_strategy",
        "are mutually exclusive",
    ),
    (
        DPO,
        {"model_alignment_strategy.dpo.max_prompt_length": REMOVED},
        "model_alignment_strategy.dpo.max_prompt_length",
        "not set",
    ),
    (
        DPO,
        {"model_alignment_strategy.dpo.max_prompt_length": 4096},
        "model_alignment_strategy.dpo.max_prompt_length",
        "no tokens for the response",
    ),
    (
        DPO,
        {"model_alignment_strategy.dpo.precompute_ref_log_probs": False},
        "model_alignment_strategy.dpo.precompute_ref_log_probs",
        "NxDT requires it",
    ),
    (
        DPO,
        {"model_alignment_strategy": ORPO},
        "model_alignment_strategy.orpo.max_prompt_length",
        "no tokens for the response",
    ),
    # How to run.
    (
        HF,
        {"exp_manager.checkpoint_callback_params": None},
        "exp_manager.checkpoint_callback_params",
        "create_checkpoint_callback needs",
    ),
    (HF, {"trainops.result_dict": {"tflops_per_gpu": 100}}, "trainops.result_dict.tflops_per_gpu", "does not report"),
    (HF, {"trainops.master_address": "10.0.0.11"}, "trainops.master_address", "which is rank 1"),
    (
        HF,
        {"trainops.container_config": {"env_dict": {"WANDB_API_KEY": "x"}}},
        "trainops.container_config.env_dict.WANDB_API_KEY",
        "looks like a secret",
    ),
    *(
        (
            HF,
            {"trainops.container_config": {"env_dict": {name: "1"}}},
            f"trainops.container_config.env_dict.{name}",
            "change NxDT's number of steps",
        )
        for name in ("COMPILE", "TRAIN_ITERS")
    ),
    (HF, {"compiler_cache_url": "hf_abcdefghijkl0123"}, "compiler_cache_url", "looks like a secret"),
]

WARNINGS: list[tuple[str, dict[str, t.Any], str, str]] = [
    (HF, {"trainer.num_nodes": 16}, "trainer.num_nodes", "the run has 2 inventory hosts"),
    (HF, {"trainer.devices": 32}, "trainer.devices", "32 of them stay idle"),
    (HF, {"trainops.result_dict": {}}, "trainops.result_dict", "NO THRESHOLD IS SET"),
    (MEGATRON, {"model.moe": {**MOE, "dropless": True}}, "model.moe.capacity_factor", "NxDT sets it to 0.0"),
    (SFT, {"trainer.lnc": 2}, "trainer.lnc", "always one physical core"),
    (HF, {"trainops.instance_type": None}, "trainops.instance_type", "cannot be checked"),
    (HF, {"precision.type": "mixed_precision_SR"}, "precision.type", "neither FP32 master weights"),
    (HF, {"precision.type": "autocast"}, "precision.type", "not supported"),
    (HF, {"precision.xla_use_bf16": "1"}, "precision.xla_use_bf16", "only with precision.type manual"),
    (HF, {"model.qkv_linear": False}, STRATEGY + "kv_replicator", "no effect without model.qkv_linear"),
    (
        HF,
        {STRATEGY + "tensor_model_parallel_size": 1, STRATEGY + "kv_replicator": 1},
        STRATEGY + "sequence_parallel",
        "turns it off",
    ),
    (SFT, {"model_alignment_strategy": LORA}, STRATEGY + "zero1", "LoRA does not work with zero1"),
    (SFT, {"exp_manager.resume_from_checkpoint": None}, "exp_manager.resume_from_checkpoint", "random weights"),
    (HF, {"exp_manager.explicit_log_dir": None}, "exp_manager.explicit_log_dir", "its own run folder"),
]


@pytest.mark.parametrize(("name", "changes", "key", "words"), FAULTS)
def test_faults(name: str, changes: dict[str, t.Any], key: str, words: str) -> None:
    plan = planned_nxdt(name, changes)
    found = {fault["key"]: fault["message"] for fault in plan["faults"]}
    assert words in found.get(key, ""), found


@pytest.mark.parametrize(("name", "changes", "key", "words"), WARNINGS)
def test_warnings(name: str, changes: dict[str, t.Any], key: str, words: str) -> None:
    plan = planned_nxdt(name, changes)
    assert plan["faults"] == []
    warning = only(plan["warnings"])
    assert (warning["key"], words in warning["message"]) == (key, True), warning


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("bf16SR", {"XLA_USE_BF16": "1", "XLA_DOWNCAST_BF16": "0", "NEURON_RT_STOCHASTIC_ROUNDING_EN": "1"}),
        ("mixed_precision", {"XLA_USE_BF16": "0", "XLA_DOWNCAST_BF16": "1", "NEURON_RT_STOCHASTIC_ROUNDING_EN": "0"}),
        (
            "mixed_precision_SR",
            {"XLA_USE_BF16": "0", "XLA_DOWNCAST_BF16": "1", "NEURON_RT_STOCHASTIC_ROUNDING_EN": "1"},
        ),
        ("fp32", {"XLA_USE_BF16": "0", "XLA_DOWNCAST_BF16": "0"}),
        ("autocast", {"XLA_USE_BF16": "0", "XLA_DOWNCAST_BF16": "0", "NEURON_RT_STOCHASTIC_ROUNDING_EN": "0"}),
    ],
)
def test_every_precision_becomes_its_variables(kind: str, expected: dict[str, str]) -> None:
    environment = planned_nxdt(HF, {"precision.type": kind})["nodes"][0]["env"]
    names = ("XLA_USE_BF16", "XLA_DOWNCAST_BF16", "NEURON_RT_STOCHASTIC_ROUNDING_EN")
    assert {name: environment[name] for name in names if name in environment} == expected


@pytest.mark.parametrize("on", ["1", 1, True])
def test_manual_precision_takes_what_the_config_says(on: t.Any) -> None:
    manual = {"type": "manual", "xla_use_bf16": "0", "xla_downcast_bf16": on, "neuron_rt_stochastic_rounding_en": on}
    plan = planned_nxdt(HF, {"precision": {**manual, "master_weights": True}})
    assert (plan["faults"], plan["warnings"]) == ([], [])
    environment = plan["nodes"][0]["env"]
    assert (environment["XLA_USE_BF16"], environment["XLA_DOWNCAST_BF16"]) == ("0", "1")
    assert environment["NEURON_RT_STOCHASTIC_ROUNDING_EN"] == "1"


def test_lora_trains_with_autocast() -> None:
    changes = {"model_alignment_strategy": LORA, STRATEGY + "zero1": False, "precision.type": "autocast"}
    plan = planned_nxdt(SFT, changes)
    assert (plan["faults"], plan["warnings"], plan["parameters"]["task"]) == ([], [], "sft+lora")


def test_the_alignment_of_older_versions_stands_in_data() -> None:
    older = {"dpo": {"kl_beta": 0.01, "max_dpo_prompt_length": 2048, "precompute_ref_log_probs": True}}
    plan = planned_nxdt(DPO, {"model_alignment_strategy": REMOVED, "data.alignment_strategy": older})
    assert (plan["faults"], plan["warnings"], plan["parameters"]["task"]) == ([], [], "dpo")


def test_context_parallelism_divides_the_devices() -> None:
    fusions = {"softmax": True, "flash_attention": False, "ring_attention": True}
    changes = {STRATEGY + "context_parallel_size": 2, "model.fusions": fusions}
    assert planned_nxdt(HF, changes)["parameters"]["data_parallelism"] == 4
    fault = only(planned_nxdt(HF, {**changes, "data.seq_length": 4096})["faults"])
    assert fault["key"] == "data.seq_length"


def test_an_option_that_is_for_other_configs_has_no_effect() -> None:
    assert keys(planned_nxdt(HF, training_gpu="mi300x")["warnings"]) == ["training_gpu"]


def test_keys_of_ones_own_need_an_option() -> None:
    changes = {"data.my_key": 1}
    assert keys(planned_nxdt(HF, changes)["faults"]) == ["data.my_key"]
    plan = planned_nxdt(HF, changes, training_unknown_keys="warn")
    assert (plan["faults"], keys(plan["warnings"])) == ([], ["data.my_key"])


def test_a_file_of_nxdts_own_runs_on_the_hosts_and_is_recorded() -> None:
    """Some of AWS's examples leave out keys that NxDT reads with a default, or distribute 126 layers to 32 stages."""
    own = {
        "trainops": REMOVED,
        "model.do_layer_norm_weight_decay": REMOVED,
        "model.fusions.softmax": REMOVED,
        "model.num_layers": 31,
        STRATEGY + "pipeline_model_parallel_size": 4,
    }
    plan = planned_nxdt(HF, own, container_engine="auto")
    assert (plan["faults"], plan["container_engine"], plan["record_only"]) == ([], "none", True)
    assert len(plan["nodes"]) == 2
    assert "NEURON_FUSE_SOFTMAX" not in plan["nodes"][0]["env"]
    assert any("directly on the hosts" in note for note in plan["notes"])
    named = planned_nxdt(HF, {"trainops.container_image": "nxdt:1"}, container_engine="auto")
    assert (named["faults"], named["container_engine"]) == ([], "auto")


def test_in_a_container_an_image_is_needed_and_paths_have_to_be_mounted() -> None:
    plan = planned_nxdt(SFT, container_engine="docker")
    assert keys(plan["faults"]) == ["trainops.container_image"]
    assert keys(plan["warnings"]) == ["model.model_config", "data.train_dir", "data.tokenizer.type"]


def test_one_wrong_value_hides_no_other() -> None:
    changes = {"trainer.max_steps": "x", "precision.type": "fp8", "data.global_batch_size": 500, "seed": "${none}"}
    found = keys(planned_nxdt(HF, changes)["faults"])
    assert {"trainer.max_steps", "precision.type", "data.global_batch_size", "seed"} <= set(found)
    assert found.count("seed") == 1
