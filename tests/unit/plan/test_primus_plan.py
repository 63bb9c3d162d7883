# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan for an experiment file of Primus."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from primus_configs import IMAGE, LLAMA, changed, experiment, planned_primus
from training_configs import only

SIZES = {"train_iters": 50, "micro_batch_size": 2, "global_batch_size": 128, "seq_length": 8192}


def argv_of(plan: dict[str, t.Any], place: int = 0) -> list[str]:
    return plan["nodes"][place]["argv"]


def staged(plan: dict[str, t.Any]) -> dict[str, t.Any]:
    return yaml.safe_load(plan["nodes"][0]["files"]["experiment.yaml"])


def test_each_node_runs_primus_cli_on_the_staged_file() -> None:
    plan = planned_primus(experiment("megatron", SIZES))
    assert plan["faults"] == []
    for rank, node in enumerate(plan["nodes"]):
        folder = node["run_folder"]
        assert node["argv"] == [
            *("bash", "runner/primus-cli", "direct", "--log_file", f"{folder}/primus.log"),
            *("--", "train", "pretrain", "--config", f"{folder}/experiment.yaml"),
        ]
        set_by_plan = {"MASTER_ADDR": "10.0.0.10", "MASTER_PORT": "1234", "NNODES": "2", "GPUS_PER_NODE": "8"}
        assert set_by_plan.items() <= node["env"].items()
        assert node["env"]["NODE_RANK"] == str(rank)
        assert (node["image"], node["working_dir"]) == (IMAGE, "/workspace/Primus")
    assert staged(plan) == experiment("megatron", SIZES)


def test_the_variables_that_primus_cli_adds_are_in_the_plan_unless_they_are_set() -> None:
    notes = " ".join(planned_primus(experiment("megatron", SIZES))["notes"])
    assert "NCCL_IB_GID_INDEX=3" in notes
    assert "NCCL_SOCKET_IFNAME" in notes
    given = changed(LLAMA, {"trainops.container_config.env_dict.NCCL_IB_GID_INDEX": "1"})
    plan = planned_primus(given)
    assert plan["nodes"][0]["env"]["NCCL_IB_GID_INDEX"] == "1"
    assert "NCCL_IB_GID_INDEX=3" not in " ".join(plan["notes"])


@pytest.mark.parametrize(
    ("backend", "overrides", "grammar", "expected"),
    [
        ("megatron", {**SIZES, "fp8": "hybrid", "tensor_model_parallel_size": 8}, "megatron", (50, 128, 2, 8192, 8, 2)),
        ("megatron_bridge", {**SIZES, "pipeline_model_parallel_size": 4}, "megatron_bridge", (50, 128, 2, 8192, 1, 4)),
        (
            "maxtext",
            {"steps": 50, "per_device_batch_size": 4, "max_target_length": 4096, "quantization": "nanoo_fp8"},
            "maxtext",
            (50, 64, 4, 4096, 1, 16),
        ),
        (
            "maxtext",
            {"steps": 9, "per_device_batch_size": 1, "ici_tensor_parallelism": 8, "ici_fsdp_parallelism": 1},
            "maxtext",
            (9, 16, 1, None, 8, 2),
        ),
    ],
)
def test_the_sizes_are_those_of_the_backends_keys(
    backend: str, overrides: dict[str, t.Any], grammar: str, expected: tuple[int, ...]
) -> None:
    plan = planned_primus(experiment(backend, overrides))
    assert plan["faults"] == []
    names = ("iterations", "global_batch_size", "micro_batch_size", "sequence_length", "tensor_parallelism")
    assert tuple(plan["parameters"][name] for name in names) == expected[:-1]
    assert plan["chosen"]["log_grammar"]["name"] == grammar


def test_torchtitan_has_its_batch_from_what_is_left_for_data() -> None:
    keys = {"training": {"local_batch_size": 4, "seq_len": 8192, "steps": 50}, "metrics": {"log_freq": 1}}
    plan = planned_primus(experiment("torchtitan", {**keys, "parallelism": {"tensor_parallel_degree": 2}}))
    assert plan["faults"] == []
    assert (plan["parameters"]["global_batch_size"], plan["parameters"]["data_parallelism"]) == (32, 8)
    assert plan["chosen"]["log_grammar"]["name"] == "torchtitan"


@pytest.mark.parametrize(
    ("overrides", "precision"),
    [
        ({}, "bf16"),
        ({"fp8": "hybrid"}, "fp8"),
        ({"fp8": "e4m3", "fp8_recipe": "mxfp8"}, "mxfp8"),
        ({"fp4": "e2m1", "fp4_recipe": "mxfp4"}, "mxfp4"),
        ({"fp16": True}, "fp16"),
        ({"fp8": None}, "bf16"),
    ],
)
def test_the_precision_is_that_of_megatrons_keys(overrides: dict[str, t.Any], precision: str) -> None:
    assert planned_primus(experiment("megatron", {**SIZES, **overrides}))["parameters"]["precision"] == precision


def test_a_variable_has_its_default_or_what_the_run_sets() -> None:
    given = experiment("megatron", {**SIZES, "tensor_model_parallel_size": "${PRIMUS_TP:2}"})
    assert planned_primus(given)["parameters"]["tensor_parallelism"] == 2
    given["trainops"] = {"container_config": {"env_dict": {"PRIMUS_TP": "4"}}}
    plan = planned_primus(given)
    assert plan["parameters"]["tensor_parallelism"] == 4
    assert plan["nodes"][0]["env"]["PRIMUS_TP"] == "4"


def test_a_variable_that_is_not_set_is_a_fault() -> None:
    fault = only(planned_primus(experiment("megatron", {**SIZES, "train_iters": "${STEPS}"}))["faults"])
    assert fault["key"] == "modules.pre_trainer.overrides.train_iters"
    assert "STEPS" in fault["message"]


def test_a_file_is_what_it_extends_and_its_own_keys(tmp_path: Path) -> None:
    base = experiment("megatron", {**SIZES, "lr": 1.0})
    (tmp_path / "base.yaml").write_text(yaml.safe_dump(base))
    own = {"extends": "base.yaml", "exp_name": "other", "modules": {"pre_trainer": {"overrides": {"train_iters": 7}}}}
    plan = planned_primus(own, source=str(tmp_path / "exp.yaml"))
    assert plan["faults"] == []
    assert plan["parameters"]["iterations"] == 7
    assert staged(plan)["exp_name"] == "other"
    assert staged(plan)["modules"]["pre_trainer"]["overrides"] == {**SIZES, "lr": 1.0, "train_iters": 7}


@pytest.mark.parametrize("extends", ["missing.yaml", ["exp.yaml"], 5])
def test_a_file_that_cannot_be_extended_is_a_fault(tmp_path: Path, extends: t.Any) -> None:
    text = yaml.safe_dump({**experiment("megatron", SIZES), "extends": extends})
    (tmp_path / "exp.yaml").write_text(text)
    plan = planned_primus(yaml.safe_load(text), source=str(tmp_path / "exp.yaml"))
    assert only(plan["faults"])["key"] == "extends"


def test_overrides_are_arguments_of_primus_cli_or_change_the_file() -> None:
    overrides = {"train_iters": 20, "lr": "1e-4", "finetune": True, "x": "a=b", "workspace": "/shared"}
    plan = planned_primus(experiment("megatron", SIZES), training_overrides=overrides)
    arguments = ["--train_iters", "20", "--lr", "1e-4", "--finetune", "True", "--x=a=b"]
    assert argv_of(plan)[-len(arguments) :] == arguments
    assert plan["parameters"]["iterations"] == 20
    assert staged(plan) == {**experiment("megatron", SIZES), "workspace": "/shared"}


@pytest.mark.parametrize("backend", ["diffusion", "nemo_automodel", "maxdiffusion", None, 5, {"a": 1}])
def test_another_backend_is_refused_in_one_sentence(backend: t.Any) -> None:
    fault = only(planned_primus(experiment(backend, {}))["faults"])
    assert fault["key"] == "modules.pre_trainer.framework"
    assert "primus-cli" in fault["remedy"]


@pytest.mark.parametrize("overrides", [{"modules": "true"}, {"modules.pre_trainer": ""}, {"modules": None}])
def test_an_override_in_place_of_the_module_is_a_fault(overrides: dict[str, t.Any]) -> None:
    fault = only(planned_primus(LLAMA, training_overrides=overrides)["faults"])
    assert fault["key"].startswith("training_overrides")


def test_a_post_trainer_is_started_as_one() -> None:
    assert "posttrain" in argv_of(planned_primus(experiment("megatron", SIZES, module="post_trainer")))


def test_sections_that_primus_ignores_are_warned_of_and_an_override_of_that_name_is_an_argument() -> None:
    # As in llama3_8b_lora_posttrain_packed.yaml and qwen3_30b_a3b_lora_posttrain_packed.yaml of Primus at fd1eeabb.
    config = experiment("megatron_bridge", {"train_iters": 20, "peft": "lora"}, "llama3_8b.yaml", "post_trainer")
    config |= {"peft": {"dim": 32, "alpha": 32}, "model": {"moe_router_force_load_balancing": True}}
    plan = planned_primus(config, training_overrides={"peft": "none"})
    assert plan["faults"] == []
    assert {"peft", "model"} <= {warning["key"] for warning in plan["warnings"]}
    assert plan["nodes"][0]["argv"][-2:] == ["--peft", "none"]


def test_without_an_image_the_training_runs_where_primus_is_installed() -> None:
    plan = planned_primus(experiment("megatron", SIZES), training_image="", training_primus_root="/opt/Primus")
    assert plan["container_engine"] == "none"
    assert (plan["nodes"][0]["working_dir"], plan["nodes"][0]["image"]) == ("/opt/Primus", None)


def test_an_engine_needs_an_image() -> None:
    plan = planned_primus(experiment("megatron", SIZES), training_image="", container_engine="docker")
    assert only(plan["faults"])["key"] == "training_image"


@pytest.mark.parametrize(
    ("overrides", "key"),
    [
        ({"global_batch_size": 100}, "global_batch_size"),
        ({"tensor_model_parallel_size": 3}, "tensor_model_parallel_size"),
        ({"expert_model_parallel_size": 3}, "expert_model_parallel_size"),
        ({"train_iters": "50"}, "train_iters"),
        ({"stderr_sink_level": "ERROR"}, "stderr_sink_level"),
        ({"wandb_api_key": "abc"}, "wandb_api_key"),
        ({"note": "hf_abcdefghijkl0123"}, "note"),
    ],
)
def test_what_keeps_it_from_training_is_a_fault(overrides: dict[str, t.Any], key: str) -> None:
    fault = only(planned_primus(experiment("megatron", {**SIZES, **overrides}))["faults"])
    assert fault["key"] == f"modules.pre_trainer.overrides.{key}"


@pytest.mark.parametrize(
    ("backend", "overrides", "key"),
    [
        ("maxtext", {"ici_fsdp_parallelism": 4}, "ici_fsdp_parallelism"),
        ("maxtext", {"dcn_data_parallelism": 3}, "dcn_data_parallelism"),
        ("torchtitan", {"parallelism": {"data_parallel_shard_degree": 4}}, "parallelism.data_parallel_shard_degree"),
        ("torchtitan", {"parallelism": {"tensor_parallel_degree": 3}}, "parallelism.tensor_parallel_degree"),
    ],
)
def test_a_mesh_that_does_not_fit_is_a_fault(backend: str, overrides: dict[str, t.Any], key: str) -> None:
    fault = only(planned_primus(experiment(backend, overrides))["faults"])
    assert fault["key"] == f"modules.pre_trainer.overrides.{key}"


def test_a_token_that_the_environment_gives_is_no_secret() -> None:
    keys = {"steps": 9, "per_device_batch_size": 1, "hf_access_token": '${HF_TOKEN:""}'}
    assert planned_primus(experiment("maxtext", keys))["faults"] == []


def test_the_gpu_is_known_by_the_folder_or_an_option() -> None:
    given = experiment("megatron", SIZES)
    assert planned_primus(given, source="/p/configs/MI355X/a.yaml")["workload"]["peak_tflops_per_gpu"] == 2516.6
    assert planned_primus(given, training_gpu="MI300X")["workload"]["peak_tflops_per_gpu"] == 1307.4
    assert planned_primus(given)["workload"]["peak_tflops_per_gpu"] is None


def test_a_model_that_the_file_reshapes_is_not_the_known_one() -> None:
    assert planned_primus(experiment("megatron", SIZES))["workload"]["layers"] == 32
    reshaped = planned_primus(experiment("megatron", {**SIZES, "num_layers": 4}))["workload"]
    assert reshaped["layers"] is None
    assert "num_layers" in reshaped["model_flops_reason"]


def test_what_the_presets_decide_is_noted() -> None:
    notes = planned_primus(experiment("megatron", {"micro_batch_size": 2}))["notes"]
    assert [note for note in notes if "presets" in note and "the number of steps" in note]
    assert not [note for note in planned_primus(experiment("megatron", SIZES))["notes"] if "presets" in note]


@pytest.mark.parametrize(
    ("names", "warned"),
    [
        ({"model": "llama3.1_8B"}, []),
        ({"model": "llama3.1_8B.yml"}, []),
        ({"model": "${MODEL:llama3.1_8B}.yaml"}, []),
        ({"model": "llama3.1_8b.yaml"}, [("modules.pre_trainer.model", "llama3.1_8B")]),
        ({"model": "mine"}, [("modules.pre_trainer.model", None)]),
        ({"config": "pretrainer.yaml"}, [("modules.pre_trainer.config", "pre_trainer")]),
        ({"framework": "torchtitan", "model": "deepseek_v2"}, [("modules.pre_trainer.model", "deepseek_v3")]),
    ],
)
def test_a_preset_that_no_release_has_is_a_warning_with_the_nearest_one(
    names: dict[str, str], warned: list[tuple[str, str | None]]
) -> None:
    given = experiment("megatron", SIZES)
    given["modules"]["pre_trainer"] |= names
    found = [one for one in planned_primus(given)["warnings"] if one["key"].startswith("modules.pre_trainer.")]
    assert [one["key"] for one in found] == [key for key, _near in warned]
    assert all(near is None or near in one["remedy"] for one, (_key, near) in zip(found, warned, strict=True))


def checkout(folder: Path) -> Path:
    """Write the presets of the usual experiment, and return the folder of a file beside them."""
    presets = {
        "models/megatron/llama3.1_8B.yaml": {"extends": "base.yaml", "tensor_model_parallel_size": "${PRIMUS_TP:2}"},
        "models/megatron/base.yaml": {"num_layers": 32, "tensor_model_parallel_size": 4, "seq_length": 1024},
        "modules/megatron/pre_trainer.yaml": {"train_iters": 1000, "seq_length": 4096, "micro_batch_size": 1},
    }
    for name, values in presets.items():
        path = folder / "primus/configs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(values))
    return folder / "examples/megatron"


def test_presets_say_what_the_file_leaves_out_if_it_is_in_a_checkout(tmp_path: Path) -> None:
    given = experiment("megatron", {"micro_batch_size": 2, "global_batch_size": 128})
    plan = planned_primus(given, source=str(checkout(tmp_path) / "exp.yaml"))
    sizes = {name: plan["parameters"][name] for name in ("iterations", "micro_batch_size", "sequence_length")}
    assert sizes == {"iterations": 1000, "micro_batch_size": 2, "sequence_length": 4096}
    assert plan["parameters"]["tensor_parallelism"] == 2
    assert plan["workload"]["layers"] == 32
    assert staged(plan) == given


def test_presets_may_be_in_a_checkout_elsewhere(tmp_path: Path) -> None:
    checkout(tmp_path)
    plan = planned_primus(experiment("megatron", {}), training_primus_checkout=str(tmp_path))
    assert (plan["faults"], plan["parameters"]["iterations"]) == ([], 1000)
    other = experiment("megatron", {}, model="other.yaml")
    plan = planned_primus(other, training_primus_checkout=str(tmp_path), training_record_only=True)
    assert only(plan["warnings"])["key"] == "modules.pre_trainer.model"


def test_a_last_step_without_a_line_is_a_warning() -> None:
    plan = planned_primus(experiment("megatron", {**SIZES, "log_interval": 20}), training_record_only=True)
    assert only(plan["warnings"])["key"] == "modules.pre_trainer.overrides.train_iters"


def test_the_rehearsal_starts_the_embedded_trainer() -> None:
    plan = planned_primus(experiment("megatron", SIZES), training_rehearsal=True)
    assert (plan["faults"], plan["framework"], plan["log_grammar"]) == ([], "primus", "megatron")
    assert argv_of(plan, 1)[:2] == ["bash", "examples/llama/train_llama3.sh"]
