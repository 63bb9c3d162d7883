"""Configs that are valid, but whose run cannot pass: each says so, with a remedy."""

from __future__ import annotations

import typing as t

import pytest
from maxtext_configs import BRANCH as MAXTEXT_BRANCH
from maxtext_configs import filled as filled_maxtext
from maxtext_configs import planned as planned_maxtext
from nxdt_configs import HF, planned_nxdt
from training_configs import BRANCH, DISTRIBUTED, filled, keys, only, planned

CONTAINER = "config/container_config"
MONITOR = "exp_manager.checkpoint_callback_params.monitor"
HCAS = "bnxt_re0,bnxt_re1,bnxt_re2,bnxt_re3,bnxt_re4,bnxt_re5,bnxt_re6,bnxt_re7"


def warned(changes: dict[str, t.Any], **options: t.Any) -> t.Any:
    plan = planned(filled(DISTRIBUTED, changes), **options)
    assert plan["faults"] == []
    return only(plan["warnings"])


@pytest.mark.parametrize("steps", ["1", "4"])
def test_fewer_steps_than_count_after_the_warm_up(steps: str) -> None:
    warning = warned({"config/training_iterations": steps})
    assert warning["key"] == "config.training_iterations"
    assert "never PASS" in warning["message"]
    assert planned(filled(DISTRIBUTED, {"config/training_iterations": "5"}))["warnings"] == []


def test_fewer_steps_in_the_other_formats() -> None:
    plan = planned_maxtext(filled_maxtext(changes={"config/training_steps": "2"}))
    assert "config.training_steps" in keys(plan["warnings"])
    assert "trainer.max_steps" in keys(planned_nxdt(HF, {"trainer.max_steps": 3})["warnings"])


@pytest.mark.parametrize("devices", [[], ["/dev/dri"]])
def test_a_hardened_container_without_a_gpu(devices: list[str]) -> None:
    config = filled(DISTRIBUTED, {f"{CONTAINER}/device_list": devices})
    fault = only(planned(config, container_profile="hardened")["faults"])
    assert fault["key"] == "config.container_config.device_list"
    assert "/dev/kfd" in fault["remedy"]
    assert planned(config)["faults"] == []


@pytest.mark.parametrize("size", ["64K", "1", "63m"])
def test_too_little_shared_memory(size: str) -> None:
    assert warned({"config/shm_size": size})["key"] == "config.shm_size"
    assert planned(filled(DISTRIBUTED, {"config/shm_size": "1G"}))["warnings"] == []


def test_a_mount_over_what_the_image_needs() -> None:
    config = filled(DISTRIBUTED)
    config["config"]["container_config"]["volume_dict"]["/tmp/x"] = "/usr"
    warning = only(planned(config)["warnings"])
    assert (warning["key"], warning["value"]) == ('config.container_config.volume_dict["/tmp/x"]', "/usr")


@pytest.mark.parametrize("folder", ["/", "/usr/", "//etc"])
def test_logs_in_a_folder_of_the_system(folder: str) -> None:
    assert warned({"config/log_dir": folder})["key"] == "config.log_dir"


def with_gpu(gpu: str, precision: str) -> t.Any:
    config = filled(DISTRIBUTED)
    models = config["model_params"]["multi_node"]
    branch = {**models["llama3_1_8b"]["mi300x"], "precision": precision, "result_dict": {"tokens_per_gpu": "10"}}
    models["llama3_1_8b"] = {gpu: branch}
    plan = planned(config, training_gpu="")
    assert plan["faults"] == []
    return plan


def test_a_precision_that_the_gpu_does_not_have() -> None:
    warning = next(one for one in with_gpu("mi250", "TE_FP8")["warnings"] if one["value"] == "fp8")
    assert "does not compute in FP8" in warning["message"]
    assert with_gpu("mi300x", "TE_BF16")["warnings"] == []


def test_a_gpu_that_nobody_makes() -> None:
    assert only(with_gpu("banana", "TE_FP8")["warnings"])["value"] == "banana"
    assert "Did you mean mi300x?" in only(with_gpu("m300x", "TE_FP8")["warnings"])["remedy"]


def test_one_device_whose_name_is_that_of_its_siblings_but_for_a_letter() -> None:
    warning = warned({"config/nccl_ib_hca_list": HCAS.replace("bnxt_re1", "bnt_re1")})
    assert (warning["value"], warning["remedy"]) == ("bnt_re1", "Did you mean bnxt_re1?")
    assert planned(filled(DISTRIBUTED, {"config/nccl_ib_hca_list": "bnxt_re0,mlx5_1"}))["faults"] == []


def test_devices_of_other_cards_than_the_nic_type() -> None:
    warning = warned({"config/nccl_ib_hca_list": "mlx5_0,mlx5_1"})
    assert (warning["key"], "of cx7" in warning["message"]) == ("nic_type", True)
    assert warned({"config/nic_type": "connectx-8"})["value"] == "connectx-8"
    renamed = filled(DISTRIBUTED, {"config/nccl_ib_hca_list": "rdma0,rdma1,rdma2,rdma3"})
    assert planned(renamed)["warnings"] == []


@pytest.mark.parametrize("value", ["Ture", "{{ 7*7 }}", "7" * 5000])
def test_a_flag_that_is_neither_true_nor_false_though_nothing_else_could_be_meant(value: str) -> None:
    fault = only(planned(filled(DISTRIBUTED, {"config/distributed_training": value}))["faults"])
    assert fault["key"] == "config.distributed_training"


def maxtext_with(changes: dict[str, t.Any]) -> t.Any:
    return planned_maxtext(filled_maxtext(changes={f"{MAXTEXT_BRANCH}/{key}": value for key, value in changes.items()}))


@pytest.mark.parametrize(
    ("key", "value"), [("remat_policy", "banana"), ("quantization", "fp7"), ("attention", "falsh")]
)
def test_what_is_not_in_a_closed_list_of_the_trainer(key: str, value: str) -> None:
    assert only(maxtext_with({key: value})["faults"])["key"].endswith(f".{key}")


def test_an_autotune_level_that_xla_does_not_have() -> None:
    assert maxtext_with({"xla_flags": {"xla_gpu_autotune_level": "40"}})["faults"]
    assert maxtext_with({"xla_flags": {"xla_gpu_autotune_level": "4"}})["faults"] == []


@pytest.mark.parametrize(("quantization", "doubtful"), [("fp8", True), ("te_mxfp8", True), ("nanoo_fp8", False)])
def test_the_fp8_of_another_generation_of_gpus(quantization: str, doubtful: bool) -> None:
    warnings = [found["key"] for found in maxtext_with({"quantization": quantization})["warnings"]]
    assert any(key.endswith(".quantization") for key in warnings) is doubtful


def test_sequences_that_are_shorter_than_a_block_of_an_attention_kernel() -> None:
    assert warned({f"{BRANCH}/sequence_length": "64"})["key"] == f"{BRANCH.replace('/', '.')}.sequence_length"
    for length, doubtful in (("4", True), ("128", False)):
        warnings = keys(maxtext_with({"max_target_length": length})["warnings"])
        assert any(key.endswith(".max_target_length") for key in warnings) is doubtful
    assert "data.seq_length" in keys(planned_nxdt(HF, {"data.seq_length": 4})["warnings"])


@pytest.mark.parametrize(
    ("attention", "doubtful"), [("flash", True), ("cudnn_flash_jax", True), ("cudnn_flash_te", False)]
)
def test_an_attention_that_is_not_for_this_gpu(attention: str, doubtful: bool) -> None:
    warnings = keys(maxtext_with({"attention": attention})["warnings"])
    assert any(key.endswith(".attention") for key in warnings) is doubtful


@pytest.mark.parametrize("length", ["8191", "4"])
def test_fp8_needs_tokens_that_its_kernels_can_divide(length: str) -> None:
    changes = {
        f"{BRANCH}/sequence_length": length,
        f"{BRANCH}/tensor_parallelism": "1",
        f"{BRANCH}/micro_batch_size": "1",
    }
    assert f"{BRANCH.replace('/', '.')}.sequence_length" in keys(planned(filled(DISTRIBUTED, changes))["warnings"])


@pytest.mark.parametrize(
    ("changes", "key", "is_fault"),
    [
        ({"model.optim.lr": 3e4}, "model.optim.lr", False),
        ({"model.optim.sched.min_lr": 1.0}, "model.optim.sched.min_lr", False),
        ({"model.optim.sched.warmup_steps": 999999999}, "model.optim.sched.warmup_steps", False),
        ({"compiler_cache_url": "../../etc"}, "compiler_cache_url", False),
        ({"data.train_dir": "data/here"}, "data.train_dir", False),
        ({"compiler_flags": "--model-type transformerk"}, "compiler_flags", False),
        ({"compiler_flags": "--model-type transformer -O9"}, "compiler_flags", False),
        ({"model.moe": {"num_experts": 8, "top_k": 9}}, "model.moe.top_k", True),
        ({"model.optim.sched.warmup_steps": None}, "model.optim.sched.warmup_steps", True),
        ({"exp_manager.checkpoint_callback_params.monitor": "stpe"}, MONITOR, False),
    ],
)
def test_values_of_neuron_that_cannot_be_meant_so(changes: dict[str, t.Any], key: str, is_fault: bool) -> None:
    plan = planned_nxdt(HF, changes)
    assert key in keys(plan["faults" if is_fault else "warnings"])
    assert planned_nxdt(HF, {})["warnings"] == []


def test_only_a_scheduler_without_a_default_needs_its_warm_up() -> None:
    changes = {"model.optim.sched.name": "CosineAnnealing", "model.optim.sched.warmup_steps": None}
    assert planned_nxdt(HF, changes)["faults"] == []
