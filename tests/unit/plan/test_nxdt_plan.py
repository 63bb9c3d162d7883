# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of a plan that NxDT gets: arguments, environment, files, container."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from nxdt_configs import DPO, EXAMPLES, FOLDER, HF, MEGATRON, SFT, planned_nxdt, text_of, trn
from omegaconf import OmegaConf
from training_configs import keys, only

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import make_plan
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan_text import plan_text


def overrides_of(argv: list[str]) -> list[str]:
    """Return the overrides among the arguments of training_orchestrator.py, but Hydra's own."""
    arguments = argv[argv.index("training_orchestrator.py") + 1 :]
    return [word for word in arguments if not word.startswith(("--config-", "hydra."))]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_are_right_once_they_are_filled_in(name: str) -> None:
    plan = planned_nxdt(name)
    assert (plan["faults"], plan["warnings"]) == ([], [])
    assert plan["framework"] == "nxdt"


def test_the_torchrun_line_of_every_node() -> None:
    for place, node in enumerate(planned_nxdt(SFT)["nodes"]):
        folder = f"/home/ubuntu/LOG_DIR/now-hf_llama-trn1.32xlarge/trn{place}"
        assert node["argv"] == [
            "torchrun",
            *("--nproc_per_node", "32", "--nnodes", "2", "--node_rank", str(place)),
            *("--master_addr", "10.0.0.10", "--master_port", "41000"),
            "training_orchestrator.py",
            f"--config-path={folder}",
            "--config-name=nxdt_config",
            "trainer.devices=32",
            "trainer.num_nodes=2",
            "exp_manager.explicit_log_dir=/shared/nxdt/llama3_8b_sft",
            f"hydra.run.dir={folder}/hydra",
        ]
        assert node["working_dir"] == "/shared/neuronx-distributed-training/examples"
        assert node["log_file"] == f"{folder}/train.log"


def test_the_environment_of_every_node() -> None:
    for place, node in enumerate(planned_nxdt(HF)["nodes"]):
        assert node["env"] == {
            "MASTER_ADDR": "10.0.0.10",
            "MASTER_PORT": "41000",
            "NNODES": "2",
            "NODE_RANK": str(place),
            "XLA_DISABLE_FUNCTIONALIZATION": "0",
            "HYDRA_FULL_ERROR": "1",
            "MALLOC_ARENA_MAX": "128",
            "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS": "5",
            "NEURON_RT_EXEC_TIMEOUT": "100",
            "NEURON_EXPERIMENTAL_COMPRESS_RG": "0",
            "NEURON_COMPILE_CACHE_URL": "/shared/neuron_cache",
            "BUCKET_CAP_MB": "1024",
            "NEURON_FUSE_SOFTMAX": "1",
            "XLA_USE_BF16": "0",
            "XLA_DOWNCAST_BF16": "1",
            "NEURON_RT_STOCHASTIC_ROUNDING_EN": "0",
            "PATH": "/home/ubuntu/aws_neuron_venv_pytorch/bin:/opt/aws/neuron/bin"
            ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "NEURON_LOGICAL_NC_CONFIG": "2",
            "FI_PROVIDER": "efa",
            "FI_EFA_USE_DEVICE_RDMA": "1",
            "FI_EFA_FORK_SAFE": "1",
            "TRAINOPS_RUN_ID": "now-hf_llama-trn2.48xlarge",
            "TRAINOPS_NODE": f"trn{place}",
        }


def test_one_node_needs_no_network_and_trn1_no_logical_core_size() -> None:
    [node] = planned_nxdt(DPO)["nodes"]
    assert not [name for name in node["env"] if name.startswith("FI_") or name == "NEURON_LOGICAL_NC_CONFIG"]
    assert "--nnodes 1 --node_rank 0" in " ".join(node["argv"])


def test_in_single_node_mode_every_node_runs_a_job_of_its_own() -> None:
    plan = planned_nxdt(DPO, hosts=3, training_mode="single_node")
    assert (plan["faults"], plan["warnings"], plan["mode"]) == ([], [], "single_node")
    for node in plan["nodes"]:
        assert "--nnodes 1 --node_rank 0 --master_addr localhost" in " ".join(node["argv"])
        assert node["env"]["NNODES"] == "1"


def test_softmax_port_and_user_of_ones_own() -> None:
    changes = {"model.fusions.softmax": False, "trainops.virtual_environment": None}
    node = planned_nxdt(SFT, changes, training_master_port="42000", training_nxdt_root="/opt/a b")["nodes"][0]
    assert node["working_dir"] == "/opt/a b"
    assert not {"NEURON_FUSE_SOFTMAX", "PATH"} & set(node["env"])
    assert (node["env"]["MASTER_PORT"], node["master_port"]) == ("42000", 42000)
    assert node["argv"][node["argv"].index("--master_port") + 1] == "42000"


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_file_is_staged_as_it_is(name: str) -> None:
    for node in planned_nxdt(name)["nodes"]:
        assert node["files"]["nxdt_config.yaml"] == text_of(name).replace("{user-id}", "ubuntu")


@pytest.mark.parametrize("name", EXAMPLES)
def test_hydra_composes_the_staged_file_with_the_arguments(name: str, tmp_path: Path) -> None:
    node = planned_nxdt(name)["nodes"][-1]
    (tmp_path / "nxdt_config.yaml").write_text(node["files"]["nxdt_config.yaml"], "utf-8")
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(tmp_path), version_base="1.2"):
        config = compose("nxdt_config", overrides=overrides_of(node["argv"]))
    resolved = OmegaConf.to_container(config, resolve=True)
    assert isinstance(resolved, dict)
    strategy = resolved["distributed_strategy"]
    product = strategy["tensor_model_parallel_size"] * strategy["pipeline_model_parallel_size"]
    assert resolved["exp_manager"]["checkpoint_callback_params"]["model_parallel_size"] == product
    assert resolved["trainer"]["num_nodes"] == EXAMPLES[name]
    assert isinstance(resolved["model"]["optim"]["lr"], float)
    assert resolved["model"]["optim"]["sched"]["max_steps"] == resolved["trainer"]["max_steps"]


@pytest.mark.parametrize("folder", ["/a/b", "/a b/c=d,e", "/it's/{here}", "/ä/~x"])
def test_hydra_reads_any_folder_as_it_is_meant(folder: str, tmp_path: Path) -> None:
    node = planned_nxdt(SFT, {"exp_manager.explicit_log_dir": folder})["nodes"][0]
    (tmp_path / "nxdt_config.yaml").write_text(node["files"]["nxdt_config.yaml"], "utf-8")
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(tmp_path), version_base="1.2"):
        config = compose("nxdt_config", overrides=overrides_of(node["argv"]))
    assert config.exp_manager.explicit_log_dir == folder


def test_without_a_folder_of_ones_own_the_experiment_lies_in_the_run_folder() -> None:
    node = planned_nxdt(DPO, {"exp_manager.explicit_log_dir": None})["nodes"][0]
    assert f"exp_manager.explicit_log_dir={node['run_folder']}/experiment" in node["argv"]


def test_the_container_sees_the_neuron_devices_and_nothing_of_amd() -> None:
    changes = {
        "trainops.container_image": "neuron/pytorch-training:2.26",
        "trainops.container_config": {"volume_dict": {"/shared": "/shared"}, "env_dict": {"NEURON_CC_FLAGS": "--x"}},
    }
    plan = planned_nxdt(SFT, changes, container_engine="docker")
    assert (plan["faults"], plan["warnings"]) == ([], [])
    node = plan["nodes"][0]
    assert node["image"] == "neuron/pytorch-training:2.26"
    assert node["devices"] == [f"/dev/neuron{number}" for number in range(16)]
    options = node["container_options"]
    assert (options["name"], options["group_add"], options["cap_add"]) == ("nxdt_training", [], ["IPC_LOCK"])
    assert node["env"]["NEURON_CC_FLAGS"] == "--x"
    assert node["run_folder"] in [mount["target"] for mount in node["mounts"]]


def test_variables_that_the_plan_sets_cannot_be_set_besides() -> None:
    variables = {"XLA_USE_BF16": "1", "CCOM_SOCKET_IFNAME": "eth0"}
    plan = planned_nxdt(SFT, {"trainops.container_config": {"env_dict": variables}})
    assert keys(plan["warnings"]) == ["trainops.container_config.env_dict.XLA_USE_BF16"]
    assert plan["nodes"][0]["env"]["XLA_USE_BF16"] == "0"
    assert plan["nodes"][0]["env"]["CCOM_SOCKET_IFNAME"] == "eth0"


def test_tokens_of_a_step_are_those_of_the_whole_job() -> None:
    plan = planned_nxdt(HF)
    assert plan["tokens_per_step_per_gpu"] == 512 * 8192 / 128
    assert plan["tokens_per_sequence_per_gpu"] == 8192 / 128
    assert plan["parameters"]["data_parallelism"] == 8
    assert plan["parameters"]["iterations"] == 200


@pytest.mark.parametrize(("name", "task"), [(MEGATRON, "pretraining"), (HF, "pretraining"), (SFT, "sft"), (DPO, "dpo")])
def test_the_task_is_recorded(name: str, task: str) -> None:
    assert planned_nxdt(name)["parameters"]["task"] == task


def test_the_plan_in_words() -> None:
    text = plan_text(planned_nxdt(SFT))
    assert "nodes      2 × 32 Neuron devices, one job over all nodes" in text
    assert "torchrun --nproc_per_node 32 --nnodes 2 --node_rank 0" in text
    assert "with this environment:" in text
    assert max(map(len, text.splitlines())) <= 130


@pytest.mark.parametrize("source", ["a.yaml", "a.yml", "A.YAML"])
def test_nxdt_is_found_from_the_file(source: str) -> None:
    assert make_plan(text_of(SFT), source, {}, trn(2))["framework"] == "nxdt"
    assert make_plan(text_of(SFT), "a.json", {}, trn(2))["framework"] == "megatron"


def test_the_rehearsal_starts_the_embedded_trainer() -> None:
    plan = planned_nxdt(SFT, training_rehearsal=True)
    assert (plan["faults"], plan["framework"]) == ([], "nxdt")
    node = plan["nodes"][1]
    assert node["argv"][:2] == ["bash", "examples/llama/train_llama3.sh"]
    assert not [word for word in node["argv"] if "trainer." in word]
    assert (node["env"]["NODE_RANK"], node["env"]["XLA_USE_BF16"]) == ("1", "0")


STAND_IN = """#!/usr/bin/env bash
echo "$(basename "$0") COMPILE=$COMPILE $*"
"""
COMPILER = """#!/usr/bin/env bash
"$@"
printf '\\rEpoch 0:   0%%|  | 0/10 [00:01]\\rEpoch 0:  10%%|# | 1/10 [00:02, reduced_train_loss=0]\\n'
echo 'INFO ||PARALLEL_COMPILE||: Total graphs: 3' >&2
exit "${COMPILER_STATUS:-0}"
"""


def compile_first(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a node's command with stand-ins for torchrun and the compiler."""
    node = planned_nxdt(HF)["nodes"][0]
    programs = {"torchrun": STAND_IN, "neuron_parallel_compile": COMPILER}
    for name, text in programs.items():
        (tmp_path / name).write_text(text, "utf-8")
        (tmp_path / name).chmod(0o755)
    script = tmp_path / "compile_first.sh"
    script.write_text(node["files"]["compile_first.sh"], "utf-8")
    assert node["argv"][:2] == ["bash", f"{node['run_folder']}/compile_first.sh"]
    return subprocess.run(
        ["bash", str(script), *node["argv"][2:]],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_compile_pass_goes_before_the_training_and_shows_no_steps(tmp_path: Path) -> None:
    done = compile_first(tmp_path)
    lines = [line for line in done.stdout.splitlines() if line]
    assert done.returncode == 0, done.stderr
    assert lines[0].startswith("torchrun COMPILE=1 --nproc_per_node 64 ")
    assert lines[1] == "INFO ||PARALLEL_COMPILE||: Total graphs: 3"
    assert lines[2].startswith("torchrun COMPILE=0 --nproc_per_node 64 ")
    assert "Epoch" not in done.stdout


def test_nothing_is_trained_where_the_compile_pass_fails(tmp_path: Path) -> None:
    done = compile_first(tmp_path, COMPILER_STATUS="7")
    assert done.returncode == 7
    assert "the compile pass failed with exit status 7" in done.stderr
    assert "COMPILE=0" not in done.stdout


def test_an_example_that_is_not_filled_in_says_what_to_fill_in() -> None:
    text = (FOLDER / f"{SFT}.yaml").read_text("utf-8")
    fault = only(make_plan(text, "c.yaml", {"container_engine": "none"}, trn(2))["faults"])
    assert fault["key"] == "trainops.result_dict.tokens_per_gpu"
    assert make_plan(text, "c.yaml", {"container_engine": "none", "training_record_only": True}, trn(2))["faults"] == []
