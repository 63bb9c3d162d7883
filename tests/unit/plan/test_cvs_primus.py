# SPDX-License-Identifier: GPL-3.0-or-later
"""CVS's configs for Megatron-LM with an image of Primus: because of the image, Primus trains, as with CVS."""

from __future__ import annotations

import typing as t

import pytest
from cvs_configs import MEGATRON, OF_TODAY, WITH_PRIMUS, example, planned, swept
from test_make_plan import check_every_value
from training_configs import DISTRIBUTED, filled, nodes, only
from training_configs import planned as planned_first

IMAGE = "rocm/primus:v26.5"


def of_today(changes: dict[str, t.Any] | None = None, **options: t.Any) -> dict[str, t.Any]:
    return planned(example(WITH_PRIMUS, changes or {}), **options)


def argv_of(plan: dict[str, t.Any]) -> list[str]:
    assert plan["faults"] == []
    return list(plan["nodes"][0]["argv"])


def passed_on(plan: dict[str, t.Any]) -> dict[str, str]:
    """Return the arguments of primus-cli after the experiment."""
    arguments = argv_of(plan)[argv_of(plan).index("--config") + 2 :]
    return dict(zip(arguments[::2], arguments[1::2], strict=True))


def test_the_experiment_of_the_image_is_trained_with_the_sizes_of_the_config() -> None:
    plan = of_today()
    argv = argv_of(plan)
    assert argv[:3] == ["bash", "runner/primus-cli", "direct"]
    assert argv[argv.index("--config") + 1] == "examples/megatron/configs/MI355X/llama3.1_8B-FP8-pretrain.yaml"
    assert passed_on(plan) == {
        "--micro_batch_size": "4",
        "--global_batch_size": "256",
        "--train_iters": "50",
        "--seq_length": "8192",
        "--max_position_embeddings": "8192",
    }
    assert plan["nodes"][0]["files"] == {}
    assert plan["nodes"][0]["working_dir"] == "/workspace/Primus"
    assert plan["chosen"]["trainer"]["name"] == "primus_cli"
    assert IMAGE in plan["chosen"]["trainer"]["why"]
    assert plan["chosen"]["log_grammar"]["name"] == "megatron"


def test_each_run_of_a_sweep_has_the_experiment_of_its_precision() -> None:
    sweep = swept(example(WITH_PRIMUS))
    assert sweep["faults"] == []
    files = [next(word for word in argv_of(cell["plan"]) if word.startswith("examples/")) for cell in sweep["cells"]]
    assert [file.rpartition("/")[2] for file in files] == [
        "llama3.1_8B-FP8-pretrain.yaml",
        "llama3.1_8B-BF16-pretrain.yaml",
    ]
    assert [cell["plan"]["parameters"]["precision"] for cell in sweep["cells"]] == ["fp8", "bf16"]
    assert [cell["plan"]["expected"][0]["value"] for cell in sweep["cells"]] == [15000, 12000]


@pytest.mark.parametrize(("gpu", "atomic"), [("MI300X", "1"), ("mi325x", "1"), ("MI355X", None), ("MI350X", None)])
def test_the_variables_are_those_of_cvs(gpu: str, atomic: str | None) -> None:
    plan = of_today({"gpu_name": gpu}, training_record_only=True)
    assert plan["faults"] == []
    env = plan["nodes"][1]["env"]
    assert env.get("PRIMUS_TURBO_ATTN_V3_ATOMIC_FP32") == env.get("NVTE_CK_IS_V3_ATOMIC_FP32") == atomic
    assert (env["NODE_RANK"], env["NNODES"], env["MASTER_ADDR"]) == ("1", "2", "10.0.0.10")
    assert (env["NCCL_IB_GID_INDEX"], env["NCCL_SOCKET_IFNAME"], env["NCCL_DEBUG"]) == ("3", "ens51f1np1", "ERROR")


@pytest.mark.parametrize("name", ["llama3_1_8b", "llama3.1-8b", "Llama3.1_8B"])
def test_a_model_is_found_however_it_is_written(name: str) -> None:
    assert any("/llama3.1_8B-FP8" in word for word in argv_of(of_today({"train_params/model_name": name})))


def test_the_other_formats_are_read_as_well() -> None:
    second = planned(example(MEGATRON, {"container/image": IMAGE, "sweep/runs": ["bf16"]}))
    assert any("MI325X/llama3.1_8B-BF16-pretrain" in word for word in argv_of(second))
    assert passed_on(second)["--global_batch_size"] == "128"
    first = planned_first(filled(DISTRIBUTED, {"config/container_image": IMAGE}))
    assert any("MI300X/llama3.1_8B-FP8-pretrain" in word for word in argv_of(first))
    assert passed_on(first)["--train_iters"] == "30"
    assert first["parameters"]["sequence_length"] == 8192


def test_an_experiment_in_an_mx_format_is_there_for_one_gpu() -> None:
    changes = {"container/image": IMAGE, "sweep/runs": ["mxfp8"]}
    plan = planned(example(MEGATRON, {**changes, "gpu_arch": "mi355x"}), training_record_only=True)
    assert any("MI355X/llama3.1_8B-MXFP8-pretrain" in word for word in argv_of(plan))
    fault = only(planned(example(MEGATRON, changes))["faults"])
    assert "MXFP8" in fault["message"]
    assert "BF16, FP8" in fault["remedy"]


def test_a_model_without_an_experiment_for_the_gpu_is_a_fault_that_names_those_that_have_one() -> None:
    changes = {"train_params/model_name": "qwen3_5_35b_a3b"}
    assert argv_of(of_today(changes, training_record_only=True))
    fault = only(of_today({**changes, "gpu_name": "MI325X"}, training_record_only=True)["faults"])
    assert fault["key"] == "train_params"
    assert "MI300X, MI355X" in fault["message"]


def test_a_single_node_config_runs_on_each_node() -> None:
    config = example(WITH_PRIMUS, {"container/env/NNODES": "1", "container/env/MASTER_ADDR": "127.0.0.1"})
    plan = planned(config, nodes(1), training_record_only=True)
    assert plan["faults"] == []
    assert (plan["mode"], plan["nodes"][0]["env"]["NNODES"]) == ("single_node", "1")


def test_what_the_experiment_decides_is_a_warning() -> None:
    plan = planned(example(OF_TODAY, {"container/image": IMAGE}))
    warning = only([found for found in plan["warnings"] if found["key"].startswith("train_params")])
    assert warning["key"] == "train_params.tensor_parallelism"
    assert argv_of(plan)
    assert plan["parameters"]["tensor_parallelism"] is None


def test_the_memory_of_an_experiment_that_only_the_image_has_is_not_guessed() -> None:
    changes = {"train_params/model_name": "llama3.1_70B", "train_params/micro_batch_size": "8"}
    plan = of_today(changes, training_record_only=True)
    assert any("/llama3.1_70B-" in word for word in argv_of(plan))
    assert not [warning for warning in plan["warnings"] if "will not fit" in warning["message"]]


def test_the_option_goes_before_the_image() -> None:
    scripts = of_today(training_trainer="rocm_scripts", training_record_only=True)
    assert only(scripts["faults"])["key"] == "container.image"
    plan = planned(example(OF_TODAY), training_trainer="primus_cli")
    assert argv_of(plan)[:2] == ["bash", "runner/primus-cli"]
    assert planned(example(OF_TODAY))["chosen"]["trainer"]["name"] == "rocm_scripts"


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"train_params/model_name": "mymodel_8B"}, "train_params"),
        ({"gpu_name": "MI250X"}, "train_params"),
        ({"train_params/mock_data": "False"}, "train_params.mock_data"),
        ({"train_params/training_iterations": "<changeme>"}, "train_params.training_iterations"),
        ({"train_params/sequence_length": "long"}, "train_params.sequence_length"),
        ({"container/env/NNODES": "3"}, "container.env.NNODES"),
        ({"container/env/NCCL_IB_GID_INDEX": "x"}, "container.env.NCCL_IB_GID_INDEX"),
        ({"container/env/HF_TOKEN": "x"}, "container.env.HF_TOKEN"),
        ({"container/name": "a name"}, "container.name"),
    ],
)
def test_a_fault_names_the_key_of_the_file(changes: dict[str, t.Any], key: str) -> None:
    fault = only(of_today(changes, training_record_only=True)["faults"])
    assert fault["key"] == key
    for word in ("container_image", "multi_node", "trainops.", "batch_size"):
        assert word not in fault["message"] + fault["remedy"] or word in key, fault


@pytest.mark.slow
def test_no_value_whatever_breaks_a_plan() -> None:
    check_every_value(example(WITH_PRIMUS), ("train_params",), planned)
