# SPDX-License-Identifier: GPL-3.0-or-later
"""CVS's configs for TorchTitan, in both formats that have them: TorchTitan's input, and the key in each fault."""

from __future__ import annotations

import json
import subprocess
import tomllib
import typing as t
from pathlib import Path

import pytest
from cvs_configs import TORCHTITAN, example, planned
from test_make_plan import check_every_value, check_promises
from training_configs import REMOVED, change, nodes, only

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.model import variable_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.torchtitan.config import TitanConfig
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import asked_by, make_plan
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.sweep_plan import plan_sweep

SWEEP = "sweep/combinations/gbs64"
# Stands for TorchTitan's script: it leaves a file in the tokenizer's folder, and then runs the filled-in lines.
_FETCHING = """\
import pathlib, sys
folder = pathlib.Path(sys.argv[4], sys.argv[2].rpartition("/")[2])
folder.mkdir(parents=True)
(folder / "tokenizer.json").touch()
{}
"""
# The keys and their spelling come from cvs/input/config_file/training/torchtitan in ROCm/cvs.
FIRST = {
    "config": {
        "container_image": "rocm/primus:v26.5",
        "container_name": "torchtitan_llama3.1",
        "distributed_training": "True",
        "nnodes": "2",
        "master_address": "10.0.0.10",
        "training_iterations": "30",
        "nic_type": "thor2",
        "nccl_ib_hca_list": "bnxt_re0,bnxt_re1",
        "nccl_ib_hca": "bnxt_re0,bnxt_re1",
        "nccl_socket_ifname": "ens51f1np1",
        "gloo_socket_ifname": "ens51f1np1",
        "nccl_ib_gid_index": "3",
        "nccl_debug": "ERROR",
        "hf_token_file": "/home/{user-id}/.hf_token",
        "shm_size": "128G",
        "data_cache_dir": "/home/{user-id}/cache",
        "log_dir": "/home/{user-id}/LOG_DIR",
        "scripts_dir": "",
        "rocm_dir": "",
        "verify_network_errors": "False",
        "use_generated_config": "True",
        "torchtitan_root": "/workspace/torchtitan",
        "container_config": {"device_list": ["/dev/dri", "/dev/kfd"], "volume_dict": {"/home/{user-id}": "/home/me"}},
    },
    "model_params": {
        "multi_node": {
            "llama3_1_8b": {
                "mi300x": {
                    "tokenizer_path": "meta-llama/Llama-3.1-8B",
                    "model_size": "8b",
                    "global_batch_size": "64",
                    "micro_batch_size": "2",
                    "sequence_length": "8192",
                    "data_parallel_shard_degree": "16",
                    "tensor_parallel_degree": "1",
                    "pipeline_parallel_degree": "1",
                    "context_parallel_degree": "1",
                    "expert_parallel_degree": "1",
                    "activation_checkpointing": "selective",
                    "compile": "false",
                    "enable_float8": "true",
                    "hf_assets_path": "./assets/hf/Llama-3.1-8B",
                    "converters": '["float8"]',
                    "dataset": "c4",
                    "lr": "3e-4",
                    "warmup_steps": "200",
                    "enable_async_tensor_parallel": "false",
                    "precompute_float8_dynamic_scale_for_fsdp": "false",
                    "result_dict": {"tokens_per_sec": "5000"},
                }
            }
        }
    },
}
BRANCH = "model_params/multi_node/llama3_1_8b/mi300x"


def of_first(changes: dict[str, t.Any] | None = None, hosts: int = 2, **options: t.Any) -> dict[str, t.Any]:
    config = json.loads(json.dumps(FIRST))
    change(config, changes or {})
    return make_plan(json.dumps(config), "c.json", options, nodes(hosts), "now")


def of_second(changes: dict[str, t.Any] | None = None, hosts: int = 4, **options: t.Any) -> dict[str, t.Any]:
    return planned(example(TORCHTITAN, changes or {}), nodes(hosts), **options)


def trained(plan: dict[str, t.Any]) -> dict[str, t.Any]:
    assert plan["faults"] == []
    return tomllib.loads(plan["nodes"][0]["files"]["torchtitan.toml"])


def warned(plan: dict[str, t.Any], key: str) -> dict[str, t.Any]:
    assert plan["faults"] == []
    return only([warning for warning in plan["warnings"] if warning["key"] == key])


def test_what_cvs_writes_for_torchtitan_is_what_torchtitan_reads() -> None:
    assert trained(of_second()) == {
        "model": {"name": "llama3", "flavor": "70B", "hf_assets_path": "./assets/hf/Llama-3.3-70B-Instruct"},
        "training": {
            "dataset": "c4",
            "local_batch_size": 1,
            "global_batch_size": 64,
            "seq_len": 8192,
            "steps": 50,
            "dtype": "bfloat16",
        },
        "optimizer": {"lr": 3e-4},
        "lr_scheduler": {"warmup_steps": 20},
        "parallelism": {
            "data_parallel_shard_degree": 8,
            "tensor_parallel_degree": 4,
            "pipeline_parallel_degree": 1,
            "context_parallel_degree": 1,
            "expert_parallel_degree": 1,
            "enable_async_tensor_parallel": False,
        },
        "activation_checkpoint": {"mode": "selective"},
        "compile": {"enable": False},
        "metrics": {"log_freq": 1},
        "comm": {"init_timeout_seconds": 3600},
    }


@pytest.mark.parametrize(
    ("name", "size"), [("qwen3_0_6b", "0.6B"), ("qwen3-30b-a3b", "30B-A3B"), ("deepseek_v3_16b", "16B")]
)
def test_the_size_is_what_the_name_of_the_model_ends_with(name: str, size: str) -> None:
    model = trained(of_second({"model_params/model_name": name}))["model"]
    assert (model["name"], model["flavor"]) == (name[: len(model["name"])], size)


def test_the_environment_is_that_of_cvs() -> None:
    environment = of_second()["nodes"][1]["env"]
    assert environment["HSA_FORCE_FINE_GRAIN_PCIE"] == "1"
    assert environment["PYTORCH_HIP_ALLOC_CONF"] == "expandable_segments:True"
    assert environment["NCCL_IB_HCA"].startswith("bnxt_re0,bnxt_re1")
    names = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "NCCL_DEBUG", "NCCL_IB_GID_INDEX")
    assert [environment[name] for name in names] == ["ens51f1np1", "ens51f1np1", "ERROR", "3"]


def test_the_token_is_in_the_variable_that_is_documented() -> None:
    secret = only(of_first()["nodes"][0]["secrets"])
    assert secret["value_variable"] == variable_of(TitanConfig.model_fields["hf_token_file"])


def test_the_first_format_becomes_the_same() -> None:
    plan = of_first()
    tables = trained(plan)
    assert tables["model"] == {
        "name": "llama3",
        "flavor": "8B",
        "hf_assets_path": "./assets/hf/Llama-3.1-8B/Llama-3.1-8B",
    }
    assert (tables["training"]["steps"], tables["training"]["global_batch_size"]) == (30, 64)
    assert [(bound["metric"], bound["value"]) for bound in plan["expected"]] == [("tokens_per_sec_per_gpu", 5000)]
    assert plan["chosen"]["trainer"]["name"] == "torchtitan"
    node = plan["nodes"][1]
    assert (node["image"], node["working_dir"]) == ("rocm/primus:v26.5", "/workspace/torchtitan")
    assert node["mounts"][0] == {"source": "/home/amd", "target": "/home/me"}


def test_the_tokenizer_is_fetched_first_unless_its_folder_is_named() -> None:
    plan = of_second()
    argv = plan["nodes"][0]["argv"]
    assert argv[0] == "bash"
    assert argv[2:6] == ["python3", "meta-llama/Llama-3.3-70B-Instruct", "./assets/hf", "torchrun"]
    named = of_second({"model_params/hf_assets_path": "/data/tokenizer"})
    assert named["nodes"][0]["argv"][0] == "torchrun"
    assert trained(named)["model"]["hf_assets_path"] == "/data/tokenizer"


@pytest.mark.parametrize("is_there", [False, True])
def test_the_script_fetches_a_tokenizer_that_is_not_there_and_then_runs_the_command(
    tmp_path: Path, is_there: bool
) -> None:
    node = of_second()["nodes"][0]
    name = "with_tokenizer.sh"
    (tmp_path / name).write_text(node["files"][name])
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/download_hf_assets.py").write_text(_FETCHING.format("print(*sys.argv[1:3], *sys.argv[5:])"))
    tokenizer = tmp_path / "assets/hf/Llama-3.3-70B-Instruct"
    if is_there:
        tokenizer.mkdir(parents=True)
    arguments = [*node["argv"][2:5], "echo", "trained on", "all"]
    result = subprocess.run(["bash", name, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True)
    *fetched, trained_on = result.stdout.splitlines()
    assert trained_on == "trained on all"
    whole = "--repo_id meta-llama/Llama-3.3-70B-Instruct --assets tokenizer"
    assert fetched == ([] if is_there else [whole])
    assert [path.name for path in tokenizer.parent.iterdir()] == [tokenizer.name]
    assert [path.name for path in tokenizer.iterdir()] == ([] if is_there else ["tokenizer.json"])


def test_a_tokenizer_that_cannot_be_fetched_ends_the_launch(tmp_path: Path) -> None:
    node = of_second()["nodes"][0]
    (tmp_path / "fetch.sh").write_text(node["files"]["with_tokenizer.sh"])
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/download_hf_assets.py").write_text(_FETCHING.format("sys.exit(1)"))
    command = ["bash", "fetch.sh", *node["argv"][2:5], "echo", "trained"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert result.returncode != 0
    assert result.stdout == b""
    assert list((tmp_path / "assets/hf").iterdir()) == []


@pytest.mark.parametrize(
    ("plan", "key"),
    [
        (of_second, f"{SWEEP}/precision"),
        (of_second, "model_params/enable_float8"),
    ],
)
def test_fp8_of_cvs_that_trains_in_bf16_is_a_warning(plan: t.Callable[..., dict[str, t.Any]], key: str) -> None:
    made = plan({key: "fp8" if key.endswith("precision") else "true"}, training_record_only=True)
    assert "BF16" in warned(made, key.replace("/", "."))["message"]
    assert made["parameters"]["precision"] == "bf16"
    assert "converters" not in trained(made)["model"]


def test_the_first_format_as_it_is_delivered_trains_in_bf16_as_well() -> None:
    assert "BF16" in warned(of_first(), f"{BRANCH.replace('/', '.')}.enable_float8")["message"]
    assert of_first()["parameters"]["precision"] == "bf16"


@pytest.mark.parametrize("converters", [["quantize.linear.float8"], '["quantize.linear.float8"]'])
def test_with_its_converter_fp8_is_trained_in(converters: t.Any) -> None:
    plan = of_second(
        {"model_params/converters": converters, f"{SWEEP}/precision": "fp8"},
        training_record_only=True,
        training_unknown_keys="warn",
    )
    assert [warning for warning in plan["warnings"] if "precision" in warning["key"]] == []
    assert plan["parameters"]["precision"] == "fp8"
    tables = trained(plan)
    assert tables["model"]["converters"] == ["quantize.linear.float8"]
    assert tables["quantize"]["linear"]["float8"]["enable_fsdp_float8_all_gather"] is True


def test_each_run_of_the_sweep_is_judged_by_its_cell() -> None:
    text = json.dumps(example(TORCHTITAN))
    sweep = plan_sweep(text, "c.json", {"training_record_only": True}, None, nodes(4), str)
    assert sweep["faults"] == []
    assert [cell["plan"]["parameters"]["global_batch_size"] for cell in sweep["cells"]] == [64, 128]
    bounds = {bound["metric"]: bound["value"] for bound in of_second({"sweep/runs": ["gbs128"]})["expected"]}
    assert bounds == {"tokens_per_sec_per_gpu": 1100, "memory_fraction": 0.95}


def test_a_single_node_config_runs_on_each_node() -> None:
    changes = {
        "framework": "torchtitan_single",
        "config/nnodes": "1",
        "config/master_address": "127.0.0.1",
        "model_params/data_parallel_shard_degree": "2",
    }
    plan = of_second(changes, hosts=1)
    assert plan["faults"] == []
    assert plan["mode"] == "single_node"
    argv = plan["nodes"][0]["argv"]
    assert argv[argv.index("--nnodes") + 1] == "1"
    assert "NCCL_IB_HCA" not in plan["nodes"][0]["env"]


def test_the_nodes_and_the_address_of_the_file_are_asked_for() -> None:
    config = example(TORCHTITAN, {"config/master_address": "10.0.0.11"})
    assert asked_by(json.dumps(config), "c.json", {}, 4) == (4, "10.0.0.11")
    assert asked_by(json.dumps(FIRST), "c.json", {}, 2) == (2, "10.0.0.10")


def test_overrides_find_their_section() -> None:
    overrides = {"training_iterations": 7, "global_batch_size": 32, "container.image": "mine:1", "log_freq": 7}
    plan = of_second(training_overrides=overrides, training_record_only=True)
    tables = trained(plan)
    assert (tables["training"]["steps"], tables["training"]["global_batch_size"]) == (7, 32)
    assert tables["metrics"]["log_freq"] == 7
    assert plan["nodes"][0]["image"] == "mine:1"
    first = of_first(training_overrides={"training_iterations": 7, "micro_batch_size": 4})
    assert (trained(first)["training"]["steps"], trained(first)["training"]["local_batch_size"]) == (7, 4)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"container/image": "<changeme>"}, "container.image"),
        ({"container/env": {"HF_TOKEN": "x"}}, "container.env.HF_TOKEN"),
        ({"container/runtime/args/shm_size": "much"}, "container.runtime.args.shm_size"),
        ({"config/nnodes": "<changeme>"}, "config.nnodes"),
        ({"config/nnodes": "3"}, "config.nnodes"),
        ({"config/master_address": "<changeme>"}, "config.master_address"),
        ({"config/master_address": "192.0.2.1"}, "config.master_address"),
        ({"config/use_generated_config": "False"}, "config.use_generated_config"),
        ({"config/torchtitan_rot": "/x"}, "config.torchtitan_rot"),
        ({"config/nccl_ib_gid_index": "x"}, "config.nccl_ib_gid_index"),
        ({"config/container_name": "x"}, "config.container_name"),
        ({"model_params/model_name": REMOVED}, "model_params.model_name"),
        ({"model_params/model_name": "mixtral_8x22b"}, "model_params"),
        ({"model_params/model_name": "qwen2_5_32b"}, "model_params"),
        ({"model_params/model_name": "llama3_1_9b"}, "model_params.model_name"),
        ({"model_params/sequence_lenght": "1"}, "model_params.sequence_lenght"),
        ({"model_params/tensor_parallel_degree": "two"}, "model_params.tensor_parallel_degree"),
        ({"model_params/pipeline_parallel_degree": "3"}, "model_params.tensor_parallel_degree"),
        ({"model_params/data_parallel_shard_degree": "4"}, "model_params.data_parallel_shard_degree"),
        ({f"{SWEEP}/precision": "fp6"}, "sweep.combinations.gbs64.precision"),
        ({f"{SWEEP}/global_batch_size": "12"}, "sweep.combinations.gbs64.global_batch_size"),
        ({"gpu": "x"}, "gpu"),
    ],
)
def test_a_fault_names_the_key_of_the_file(changes: dict[str, t.Any], key: str) -> None:
    fault = only(of_second(changes, training_record_only=True)["faults"])
    assert fault["key"] == key
    for word in ("container_image", "multi_node", "trainops.", "local_batch_size", "hf_assets_path"):
        assert word not in fault["message"] + fault["remedy"] or word in key, fault


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"config/use_generated_config": "False"}, "config.use_generated_config"),
        ({f"{BRANCH}/data_parallel_shard_degree": "8"}, f"{BRANCH}/data_parallel_shard_degree"),
        ({f"{BRANCH}/micro_batch_size": "<changeme>"}, f"{BRANCH}/micro_batch_size"),
        ({f"{BRANCH}/result_dict/tokens_per_sec": "<changeme>"}, f"{BRANCH}/result_dict/tokens_per_sec"),
        ({"config/container_image": REMOVED}, "config.container_image"),
    ],
)
def test_a_fault_names_the_key_of_the_first_format(changes: dict[str, t.Any], key: str) -> None:
    options = {"container_engine": "docker"}
    assert only(of_first(changes, **options)["faults"])["key"] == key.replace("/", ".")


def test_model_and_gpu_can_be_chosen_and_give_the_run_its_name() -> None:
    plan = of_first(training_model="llama3_1_8b", training_gpu="mi300x")
    assert plan["faults"] == []
    assert "training_model" not in [warning["key"] for warning in plan["warnings"]]
    assert plan["run_id"] == "now-llama3_1_8b-mi300x"
    assert of_second()["model"] == "llama3_3_70b"


def test_an_image_can_be_an_option() -> None:
    plan = of_second({"container/image": REMOVED}, training_image="mine:1")
    assert plan["faults"] == []
    assert plan["nodes"][0]["image"] == "mine:1"


@pytest.mark.slow
def test_no_value_whatever_breaks_a_plan() -> None:
    check_every_value(example(TORCHTITAN), ("config",), planned)
    check_every_value(FIRST, ("config",), lambda config: make_plan(json.dumps(config), "c.json", {}, nodes(2)))


def test_a_file_for_torchtitan_of_cvs_is_for_no_other_trainer() -> None:
    plan = of_first(training_framework="megatron")
    assert only(plan["faults"])["key"] == "training_framework"
    check_promises(plan)
