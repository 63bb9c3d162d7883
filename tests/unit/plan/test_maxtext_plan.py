"""The parts of a plan that MaxText gets: its YAML, its environment, its command."""

from __future__ import annotations

import typing as t

import pytest
import yaml
from maxtext_configs import (
    BRANCH,
    FOUR_NODES,
    ON_TPU,
    PATH,
    TPU_BRANCH,
    TWO_NODES,
    filled,
    later_shape,
    planned,
    tpu,
)
from training_configs import DISTRIBUTED, keys, only
from training_configs import filled as megatron_config

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.ranks import Node
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import make_plan
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan_text import plan_text

SKIPS = "skip_jax_distributed_system"


def environment(plan: dict[str, t.Any]) -> dict[str, str]:
    assert plan["faults"] == []
    return t.cast("dict[str, str]", plan["nodes"][0]["env"])


def maxtext_yaml(plan: dict[str, t.Any]) -> dict[str, t.Any]:
    assert plan["faults"] == []
    return t.cast("dict[str, t.Any]", yaml.safe_load(plan["nodes"][0]["files"]["maxtext.yml"]))


def warning(plan: dict[str, t.Any], key: str) -> dict[str, t.Any]:
    return only([finding for finding in plan["warnings"] if finding["key"] == key])


def test_a_training_config_tells_its_framework() -> None:
    assert planned(filled())["framework"] == "maxtext"
    assert planned(later_shape())["framework"] == "maxtext"
    assert planned(megatron_config(DISTRIBUTED), 4, training_model="llama3_1_8b", training_gpu="mi300x")[
        "framework"
    ] == ("megatron")
    assert make_plan("no json", "x.json", {}, [], "now")["framework"] == "megatron"


def test_every_node_runs_one_process_that_knows_its_rank_and_where_to_meet() -> None:
    plan = planned(filled())
    assert [node["env"]["NODE_RANK"] for node in plan["nodes"]] == ["0", "1"]
    for place, node in enumerate(plan["nodes"]):
        folder = f"/home/amd/LOGS/now-llama3.1-70b-mi300x/gpu{place}"
        assert node["argv"] == [
            "python3",
            "MaxText/train.py",
            f"{folder}/maxtext.yml",
            f"base_output_directory={folder}/output",
        ]
        assert (node["working_dir"], node["script"]) == ("/workspace/maxtext", "MaxText/train.py")
        assert (node["nnodes"], node["master_address"], node["master_port"]) == (2, "10.0.0.10", 1234)
        assert list(node["files"]) == ["maxtext.yml"]


def test_the_environment_is_that_of_cvs() -> None:
    found = environment(planned(filled()))
    flags = found.pop("XLA_FLAGS").split()
    assert "--xla_gpu_all_gather_combine_threshold_bytes=137438953472" in flags
    assert "--xla_gpu_enable_all_gather_combine_by_dim=false" in flags
    assert found | {"HF_TOKEN_PATH": ""} == {
        "JAX_COORDINATOR_IP": "10.0.0.10",
        "JAX_COORDINATOR_ADDRESS": "10.0.0.10",
        "JAX_COORDINATOR_PORT": "1234",
        "NNODES": "2",
        "NODE_RANK": "0",
        "HF_HOME": "/home/amd/cache",
        "HF_TOKEN_PATH": "",
        "HSA_FORCE_FINE_GRAIN_PCIE": "1",
        "HIP_FORCE_DEV_KERNARG": "1",
        "NVTE_FUSED_ATTN": "1",
        "NVTE_ALLOW_NONDETERMINISTIC_ALGO": "1",
        "NVTE_CK_BWD_V3": "1",
        "NVTE_CK_V3_BF16_CVT": "2",
        "GPU_MAX_HW_QUEUES": "2",
        "CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7",
        "XLA_PYTHON_CLIENT_MEM_FRACTION": "0.975",
        "XLA_GPU_EXECUTABLE_WARN_STUCK_TIMEOUT": "90",
        "NCCL_CROSS_NIC": "0",
        "NCCL_DEBUG": "INFO",
        "NCCL_PROTO": "Simple",
        "NCCL_CHECKS_DISABLE": "1",
        "NCCL_IB_HCA": "bnxt_re0,bnxt_re1,bnxt_re2,bnxt_re3,bnxt_re4,bnxt_re5,bnxt_re7,bnxt_re8",
        "NCCL_IB_GID_INDEX": "3",
        "NCCL_IB_TC": "41",
        "NCCL_IB_SL": "0",
        "NCCL_SOCKET_IFNAME": "ens51f1np1",
        "GLOO_SOCKET_IFNAME": "ens51f1np1",
        "TRAINOPS_RUN_ID": "now-llama3.1-70b-mi300x",
        "TRAINOPS_NODE": "gpu0",
    }


def test_the_later_shape_makes_the_same_run() -> None:
    earlier, later = environment(planned(filled())), environment(planned(later_shape()))
    assert later.pop("XLA_FLAGS") == f"{earlier.pop('XLA_FLAGS')} --xla_gpu_enable_command_buffer=''"
    assert later == earlier
    assert maxtext_yaml(planned(later_shape())) == maxtext_yaml(planned(filled()))
    assert "nothing here reads it" in warning(planned(later_shape()), "config.rdma_lib")["message"]


def test_both_shapes_may_be_mixed() -> None:
    plan = planned(
        filled(changes={"config/env_vars": {"NCCL_ALGO": "Ring"}, "config/xla_flags": {"xla_dump_to": "/a b"}})
    )
    assert environment(plan)["NCCL_ALGO"] == "Ring"
    assert environment(plan)["XLA_FLAGS"].startswith("--xla_dump_to='/a b' --xla_gpu_enable_cublaslt=true ")


def test_the_yaml_has_the_types_that_maxtext_reads() -> None:
    found = maxtext_yaml(planned(filled()))
    expected = {
        "base_config": "base.yml",
        "model_name": "llama3.1-70b",
        "run_name": "llama3.1-70b-job",
        "steps": 20,
        "hardware": "gpu",
        "enable_checkpointing": False,
        "scan_layers": True,
        "quantization": "",
        "per_device_batch_size": 3,
        "dcn_fsdp_parallelism": -1,
        "ici_fsdp_parallelism": 8,
        "mlp_activations": ["silu", "linear"],
        "rope_max_timescale": 500000,
        "normalization_layer_epsilon": 1e-05,
        "hf_train_files": "/home/amd/cache/maxtext/data/c4/000*.parquet",
        "shardy": False,
    }
    assert {key: found[key] for key in expected} == expected
    assert {key: type(found[key]) for key in expected} == {key: type(value) for key, value in expected.items()}
    assert not set(found) & {"tokenizer_model", "precision", "batch_size", "result_dict", "xla_flags"}


def test_the_timeouts_that_nothing_reads_are_told_and_translated() -> None:
    plan = planned(filled())
    path = "config.container_config.env_dict.JAX_DISTRIBUTED"
    assert maxtext_yaml(plan)["jax_distributed_initialization_timeout"] == 1800
    assert "translated" in warning(plan, f"{path}_INITIALIZATION_TIMEOUT_SECONDS")["message"]
    assert "has no effect" in warning(plan, f"{path}_HEARTBEAT_TIMEOUT_SECONDS")["message"]
    assert not [name for name in environment(plan) if name.startswith("JAX_DISTRIBUTED")]
    own = planned(filled(changes={f"{BRANCH}/jax_distributed_initialization_timeout": "60"}))
    assert maxtext_yaml(own)["jax_distributed_initialization_timeout"] == 60
    newer = {"config/container_image": "rocm/jax-training:maxtext-v26.4"}
    assert maxtext_yaml(planned(filled(changes=newer)))["jax_distributed_heartbeat_timeout_seconds"] == 900
    key = f"{BRANCH}/jax_distributed_heartbeat_timeout_seconds"
    for image, is_told in (("rocm/jax-training:maxtext-v26.4", False), ("rocm/jax-training:maxtext-v25.5", True)):
        own = planned(filled(changes={"config/container_image": image, key: "60"}))
        assert maxtext_yaml(own)["jax_distributed_heartbeat_timeout_seconds"] == 60
        assert (
            any("is not known to have jax_distributed_heartbeat" in one["message"] for one in own["warnings"])
            is is_told
        )
    wrong = filled(changes={"config/env_vars": {"JAX_DISTRIBUTED_INITIALIZATION_TIMEOUT_SECONDS": "long"}})
    assert keys(planned(wrong)["faults"]) == ["config.env_vars.JAX_DISTRIBUTED_INITIALIZATION_TIMEOUT_SECONDS"]


def test_dimensions_of_another_model_are_told() -> None:
    told = warning(planned(filled()), f"{PATH}.base_emb_dim")
    assert "the dimensions of llama3.1-405b, not those of llama3.1-70b" in told["message"]
    assert "base_num_decoder_layers 126 instead of 80" in told["message"]
    assert "llama3.1-70b is trained" in told["message"]
    four = planned(filled(FOUR_NODES), 4)
    assert four["faults"] == []
    assert not [finding for finding in four["warnings"] if "dimensions" in finding["message"]]


def test_keys_of_cvs_that_never_reach_maxtext_are_told() -> None:
    plan = planned(filled())
    assert "one step has 48 sequences" in warning(plan, f"{PATH}.batch_size")["message"]
    assert "quantization and dtype say bf16" in warning(plan, f"{PATH}.precision")["message"]
    assert "remat_policy is full" in warning(plan, f"{PATH}.recompute")["message"]
    assert "fsdp_parallelism is 16" in warning(plan, f"{PATH}.fsdp")["message"]
    rest = warning(plan, PATH)["message"]
    assert rest.endswith("tokenizer_model, model_size, sequence_length, tensor_parallelism, pipeline_parallelism.")
    agreeing = {f"{BRANCH}/batch_size": "48", f"{BRANCH}/precision": "TE_FP8", f"{BRANCH}/quantization": "nanoo_fp8"}
    told = keys(planned(filled(changes=agreeing))["warnings"])
    assert not {f"{PATH}.batch_size", f"{PATH}.precision"} & set(told)


def test_the_parameters_that_the_report_tells() -> None:
    plan = planned(filled())
    assert plan["first_step"] == 0
    assert plan["tokens_per_step_per_gpu"] == 3 * 8192
    assert plan["parameters"] == {
        "nnodes": 2,
        "gpus_per_node": 8,
        "model_name": "llama3.1-70b",
        "precision": "bf16",
        "global_batch_size": 48,
        "micro_batch_size": 3,
        "sequence_length": 8192,
        "tensor_parallelism": 1,
        "pipeline_parallelism": 1,
        "data_parallelism": 16,
        "fsdp": True,
        "iterations": 20,
        "dataset_type": "synthetic",
        "nic_type": "thor2",
    }
    assert [bound["metric"] for bound in plan["expected"]] == ["tflops_per_gpu", "tokens_per_sec_per_gpu"]


def test_the_plan_in_one_look_shows_the_yaml() -> None:
    lines = plan_text(planned(filled())).splitlines()
    assert any(line.startswith("python3 MaxText/train.py /home/amd/LOGS/") for line in lines)
    assert not any("KEY=VALUE" in line for line in lines)
    start = lines.index("and the file maxtext.yml in the run's folder:")
    assert lines[start + 1 : start + 3] == ["  base_config: base.yml", "  run_name: llama3.1-70b-job"]


@pytest.mark.parametrize(
    ("tag", "script"),
    [
        ("maxtext-v25.5", "MaxText/train.py"),
        ("maxtext-v25.11", "src/MaxText/train.py"),
        ("maxtext-v26.3", "src/MaxText/train.py"),
        ("maxtext-v26.4", "src/maxtext/trainers/pre_train/train.py"),
        ("maxtext-v26.9", "src/maxtext/trainers/pre_train/train.py"),
    ],
)
def test_the_tag_of_an_image_tells_the_entry_point(tag: str, script: str) -> None:
    plan = planned(filled(changes={"config/container_image": f"rocm/jax-training:{tag}"}))
    assert plan["nodes"][0]["argv"][1] == script


@pytest.mark.parametrize(
    ("image", "module"),
    [
        ("me/maxtext:0.1.1", "MaxText.train"),
        ("me/gpu:maxtext-0.2.4", "maxtext.trainers.pre_train.train"),
        ("me/maxtext:v0.10.0", "maxtext.trainers.pre_train.train"),
    ],
)
def test_the_version_of_an_image_tells_the_module(image: str, module: str) -> None:
    plan = planned(filled(changes={"config/container_image": image}))
    assert plan["nodes"][0]["argv"][:3] == ["python3", "-m", module]
    assert not any("training_maxtext_entry_point" in note for note in plan["notes"])


def test_where_nothing_tells_the_entry_point_that_of_today_starts_and_the_plan_says_so() -> None:
    config = filled(changes={"config/container_image": "my/image:latest"})
    plan = planned(config)
    assert plan["nodes"][0]["argv"][:3] == ["python3", "-m", "maxtext.trainers.pre_train.train"]
    assert (plan["nodes"][0]["script"], plan["nodes"][0]["working_dir"]) == ("", "/")
    (note,) = [note for note in plan["notes"] if "training_maxtext_entry_point" in note]
    assert "my/image:latest" in note
    assert "MaxText/train.py" in note
    installed = planned(filled(), container_engine="none")
    assert installed["nodes"][0]["argv"][2] == "maxtext.trainers.pre_train.train"


def test_an_entry_point_can_be_said() -> None:
    plan = planned(filled(), training_maxtext_entry_point="MaxText.train")
    assert plan["nodes"][0]["argv"][:3] == ["python3", "-m", "MaxText.train"]
    assert plan["nodes"][0]["script"] == ""


def test_checkout_and_python_can_be_said() -> None:
    node = planned(filled(), training_maxtext_root="/opt/maxtext", training_maxtext_python="/opt/venv/bin/python")
    assert node["nodes"][0]["working_dir"] == "/opt/maxtext"
    assert node["nodes"][0]["argv"][0] == "/opt/venv/bin/python"


@pytest.mark.parametrize(
    ("changes", "port", "options"),
    [
        ({}, 1234, {}),
        ({"config/container_config/env_dict": {"JAX_COORDINATOR_PORT": "12345"}}, 12345, {}),
        ({"config/container_config/env_dict": {}}, 1234, {}),
        ({}, 7000, {"training_master_port": "7000"}),
    ],
)
def test_the_port_where_the_nodes_meet(changes: dict[str, t.Any], port: int, options: dict[str, str]) -> None:
    plan = planned(filled(changes=changes), **options)
    assert environment(plan)["JAX_COORDINATOR_PORT"] == str(port)
    assert plan["nodes"][0]["master_port"] == port


def test_a_port_that_is_none_is_a_fault() -> None:
    fault = only(planned(filled(changes={"config/env_vars": {"JAX_COORDINATOR_PORT": "http"}}))["faults"])
    assert fault["key"] == "config.env_vars.JAX_COORDINATOR_PORT"


def test_variables_of_the_user_and_who_wins() -> None:
    variables = {
        "NCCL_CROSS_NIC": "2",
        "NCCL_PROTO": "LL",
        "NODE_RANK": "5",
        "NNODES": "<changeme>",
        "NCCL_ALGO": "Tree",
    }
    changes = {"config/env_vars": variables, "config/container_config/env_dict": {"NCCL_ALGO": "Ring"}}
    plan = planned(filled(changes=changes))
    found = environment(plan)
    assert (found["NCCL_CROSS_NIC"], found["NCCL_PROTO"], found["NODE_RANK"]) == ("2", "Simple", "0")
    assert (found["NCCL_ALGO"], found["NNODES"]) == ("Tree", "2")
    assert (
        warning(plan, "config.env_vars.NCCL_PROTO")["message"]
        == "NCCL_PROTO has no effect: the plan sets this variable."
    )
    assert warning(plan, "config.env_vars.NODE_RANK")
    assert "env_vars takes precedence" in warning(plan, "config.container_config.env_dict.NCCL_ALGO")["message"]


@pytest.mark.parametrize("place", ["env_vars", "container_config/env_dict"])
def test_a_variable_that_maxtext_takes_for_a_key_is_a_fault(place: str) -> None:
    fault = only(planned(filled(changes={f"config/{place}": {"M_STEPS": "5", "M_STEPZ": "5"}}))["faults"])
    assert fault["key"] == f"config.{place.replace('/', '.')}.M_STEPS"
    assert "as its key steps" in fault["message"]
    assert "as training_steps" in fault["remedy"]


def test_the_hosts_of_a_tpu_slice_are_one_network_of_chips() -> None:
    assert planned(tpu(), 4, **ON_TPU)["parameters"]["data_parallelism"] == 16
    changes = {f"{TPU_BRANCH}/ici_fsdp_parallelism": "4", f"{TPU_BRANCH}/dcn_fsdp_parallelism": "4"}
    told = [fault["message"] for fault in planned(tpu(changes), 4, **ON_TPU)["faults"]]
    assert "do not multiply to the 16 chips of a slice" in told[0]
    assert "do not multiply to the 1 slice of a job" in told[1]


def test_hosts_of_tpus_get_nothing_that_is_for_amds_gpus() -> None:
    """JAX would take JAX_COORDINATOR_ADDRESS for an address and a port, and end if the port is missing."""
    assert {*environment(planned(tpu(), 4, **ON_TPU))} == {
        *("JAX_COORDINATOR_IP", "JAX_COORDINATOR_PORT", "NNODES", "NODE_RANK", "HF_HOME", "LIBTPU_INIT_ARGS"),
        *("TRAINOPS_RUN_ID", "TRAINOPS_NODE"),
    }


@pytest.mark.parametrize(
    ("changes", "mode", "key", "message"),
    [
        ({"hardware": "gpu_multiprocess"}, "multi_node", "hardware", "takes its rank from Slurm or MPI"),
        ({"hardware": "cpu", SKIPS: "True"}, "multi_node", "hardware", "takes its rank from XPK"),
        ({SKIPS: "True"}, "multi_node", SKIPS, "its own model"),
        ({"hardware": "cpu"}, "single_node", "hardware", "takes its rank from XPK"),
        ({"hardware": "cpu", SKIPS: "True"}, "single_node", "", ""),
        ({SKIPS: "True"}, "single_node", "", ""),
    ],
)
def test_processes_that_would_not_find_each_other(changes: dict[str, str], mode: str, key: str, message: str) -> None:
    branch = BRANCH.replace("multi_node", mode)
    plan = planned(filled(changes={f"{branch}/{name}": value for name, value in changes.items()}), training_mode=mode)
    assert keys(plan["faults"]) == ([f"{PATH.replace('multi_node', mode)}.{key}"] if key else [])
    assert all(message in fault["message"] for fault in plan["faults"])


def test_a_secret_is_refused_and_never_shown() -> None:
    plan = planned(filled(changes={"config/env_vars": {"HF_TOKEN": "hf_abcdefghijkl0123"}}))
    assert keys(plan["faults"]) == ["config.env_vars.HF_TOKEN"]
    assert "hf_abcdefghijkl0123" not in str(plan)


@pytest.mark.parametrize(
    ("changes", "key", "message"),
    [
        ({"ici_fsdp_parallelism": "4"}, "ici_fsdp_parallelism", "do not multiply to the 8 GPUs of a node"),
        ({"ici_fsdp_parallelism": "-1", "ici_tensor_parallelism": "3"}, "ici_fsdp_parallelism", "do not multiply to"),
        ({"dcn_fsdp_parallelism": "3"}, "dcn_fsdp_parallelism", "do not multiply to the 2 nodes of a job"),
        ({"dcn_data_parallelism": "-1"}, "dcn_data_parallelism", "at most one axis of dcn"),
        ({"dcn_data_parallelism": None}, "dcn_data_parallelism", "default where left out"),
        ({"per_device_batch_size": "0.03"}, "per_device_batch_size", "0.48 sequences at once"),
        (
            {"per_device_batch_size": "1.5"},
            "per_device_batch_size",
            "24 sequences, which JAX cannot divide among the 16",
        ),
        ({"ici_fsdp_parallelism": "0"}, "ici_fsdp_parallelism", "is too small"),
        ({"quantisation": "fp8"}, "quantisation", "is not a known key."),
    ],
)
def test_sizes_that_do_not_fit(changes: dict[str, t.Any], key: str, message: str) -> None:
    plan = planned(filled(changes={f"{BRANCH}/{name}": value for name, value in changes.items()}))
    fault = only(plan["faults"])
    assert fault["key"] == f"{PATH}.{key}"
    assert message in fault["message"]


@pytest.mark.parametrize(
    "changes",
    [
        {"ici_fsdp_parallelism": "4", "ici_tensor_parallelism": "2"},
        {"gradient_accumulation_steps": "2"},
        {"logical_axis_rules": [["activation_batch", ["data"]]]},
        {"per_device_batch_size": "0.5"},
    ],
)
def test_half_a_sequence_for_each_gpu_fits_where_it_divides(changes: dict[str, t.Any]) -> None:
    branch = {"per_device_batch_size": "1.5", **changes}
    assert planned(filled(changes={f"{BRANCH}/{name}": value for name, value in branch.items()}))["faults"] == []


def test_checkpoints_of_several_nodes_need_a_shared_folder() -> None:
    fault = only(planned(filled(changes={"config/enable_checkpointing": "True"}))["faults"])
    assert fault["key"] == f"{PATH}.base_output_directory"
    shared = {"config/enable_checkpointing": "True", f"{BRANCH}/base_output_directory": "/shared/out"}
    plan = planned(filled(changes=shared))
    assert maxtext_yaml(plan)["base_output_directory"] == "/shared/out"
    assert not [word for word in plan["nodes"][0]["argv"] if word.startswith("base_output_directory")]


def test_packed_sequences_that_newer_maxtext_refuses_are_told() -> None:
    key, newer = f"{PATH}.max_segments_per_seq", {"config/container_image": "rocm/jax-training:maxtext-v26.4"}
    assert key not in keys(planned(filled())["warnings"])
    assert "unless max_segments_per_seq is set" in warning(planned(filled(changes=newer)), key)["message"]
    for remedy in ({f"{BRANCH}/packing": "False"}, {f"{BRANCH}/max_segments_per_seq": "32"}):
        assert key not in keys(planned(filled(changes=newer | remedy))["warnings"])


@pytest.mark.parametrize(
    ("quantization", "batches", "release", "told"),
    [
        ("fp8", "2", "v26.4", True),
        ("fp8", "2", "v25.5", False),
        ("fp8", "1", "v26.4", False),
        ("", "2", "v26.4", False),
    ],
)
def test_batches_that_newer_maxtext_does_not_add_up_are_told(
    quantization: str, batches: str, release: str, told: bool
) -> None:
    changes = {
        f"{BRANCH}/quantization": quantization,
        f"{BRANCH}/gradient_accumulation_steps": batches,
        "config/container_image": f"rocm/jax-training:maxtext-{release}",
    }
    plan = planned(filled(changes=changes))
    assert plan["faults"] == []
    assert (f"{PATH}.gradient_accumulation_steps" in keys(plan["warnings"])) is told


def test_a_model_that_is_not_known_here_is_told_with_the_nearest() -> None:
    config = filled()
    models = config["model_params"]["multi_node"]
    models["llama3_1_70b"] = models.pop("llama3.1-70b")
    told = [
        finding
        for finding in planned(config)["warnings"]
        if "is not known here, so its dimensions" in finding["message"]
    ]
    assert "llama3.1-70b" in only(told)["remedy"]
    named = {"model_params/multi_node/llama3.1-70b/mi300x/model_name": "default"}
    assert maxtext_yaml(planned(filled(changes=named)))["model_name"] == "default"


def test_in_single_node_mode_every_node_meets_only_itself() -> None:
    plan = planned(filled(), 2, training_mode="single_node")
    for node in plan["nodes"]:
        assert (node["nnodes"], node["master_address"], node["env"]["NNODES"]) == (1, "localhost", "1")
        assert node["env"]["NCCL_IB_DISABLE"] == "1"
        assert "NCCL_SOCKET_IFNAME" not in node["env"]
    assert "config.nccl_ib_hca" in keys(plan["warnings"])


def test_a_rehearsal_takes_place_on_the_same_nodes_with_the_embedded_trainer() -> None:
    plan = planned(filled(), training_rehearsal=True)
    assert (plan["first_step"], plan["expected"], plan["record_only"]) == (1, [], True)
    assert (plan["framework"], plan["log_grammar"]) == ("maxtext", "megatron")
    node = plan["nodes"][1]
    assert {"MASTER_ADDR=10.0.0.10", "MASTER_PORT=1234", "NNODES=2", "NODE_RANK=1"} <= set(node["argv"])
    assert node["script"] == "examples/llama/train_llama3.sh"
    assert node["env"]["NCCL_IB_HCA"].startswith("bnxt_re0")


def test_a_threshold_by_the_name_that_cvs_gives_it() -> None:
    changes = {f"{BRANCH}/result_dict": {"tflops_per_sec_per_gpu": "381"}}
    assert planned(filled(TWO_NODES, changes))["expected"] == [
        {"metric": "tflops_per_gpu", "kind": "min", "value": 381.0}
    ]


def test_an_address_of_ipv6_stands_in_brackets_before_a_port() -> None:
    hosts = [Node(f"gpu{place}", f"fd00::{place + 1}", "amd") for place in range(2)]
    plan = planned(filled(), hosts)
    assert environment(plan)["JAX_COORDINATOR_IP"] == environment(plan)["JAX_COORDINATOR_ADDRESS"] == "[fd00::1]"
    assert plan["nodes"][0]["master_address"] == "fd00::1"


def test_jax_sees_as_many_gpus_as_the_plan_counts() -> None:
    key, value = "config/container_config", {"env_dict": {"HIP_VISIBLE_DEVICES": "0,1"}}
    assert environment(planned(filled()))["CUDA_VISIBLE_DEVICES"] == "0,1,2,3,4,5,6,7"
    assert "CUDA_VISIBLE_DEVICES" not in environment(planned(tpu(), 4, **ON_TPU))
    faults = planned(filled(changes={key: value}))["faults"]
    assert [fault["message"] for fault in faults] == [
        "It exposes 2 GPUs to the training, but training_gpus_per_node is 8."
    ]


@pytest.mark.parametrize(("value", "told"), [("cpu", True), ("cpu,rocm", True), ("rocm,cpu", False), ("", False)])
def test_a_variable_that_takes_the_training_to_the_cpu_is_a_fault(value: str, told: bool) -> None:
    for section in ("config/env_vars", "config/container_config/env_dict"):
        faults = planned(filled(changes={section: {"JAX_PLATFORMS": value}}))["faults"]
        assert ["makes JAX train on the CPU" in fault["message"] for fault in faults] == [True] * told


def test_the_axes_of_experts_and_contexts_are_parameters_where_they_split_a_model() -> None:
    assert {"context_parallelism", "expert_parallelism"}.isdisjoint(planned(filled())["parameters"])
    axes = {"ici_fsdp_parallelism": 1, "ici_expert_parallelism": 4, "ici_context_parallelism": 2}
    plan = planned(filled(changes={f"{BRANCH}/{name}": size for name, size in axes.items()}))
    assert plan["faults"] == []
    parameters = plan["parameters"]
    assert (parameters["context_parallelism"], parameters["expert_parallelism"]) == (2, 4)
