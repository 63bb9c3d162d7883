"""The variables that a plan sets for ROCm Megatron-LM's train_llama3.sh and train_llama2.sh."""

from __future__ import annotations

import pytest
from training_configs import BRANCH, DISTRIBUTED, SINGLE, SINGLE_MI35X, filled, keys, nodes, only, planned

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.environment_variables import recording
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.ranks import Node

HCAS = ",".join(f"bnxt_re{number}" for number in range(8))


def test_the_environment_of_every_node_of_a_multi_node_run() -> None:
    plan = planned(filled(DISTRIBUTED))
    assert (plan["faults"], plan["warnings"]) == ([], [])
    assert [node["node_rank"] for node in plan["nodes"]] == [0, 1, 2, 3]
    for place, node in enumerate(plan["nodes"]):
        folder = f"/home/amd/LOG_DIR/now-llama3_1_8b-mi300x/gpu{place}"
        assert node["env"] | {"HF_TOKEN_PATH": ""} == {
            "MASTER_ADDR": "10.0.0.10",
            "MASTER_PORT": "6000",
            "NNODES": "4",
            "NODE_RANK": str(place),
            "MODEL_SIZE": "8",
            "TOTAL_ITERS": "30",
            "MBS": "2",
            "BS": "128",
            "SEQ_LENGTH": "8192",
            "TP": "1",
            "PP": "1",
            "TE_FP8": "1",
            "FSDP": "0",
            "RECOMPUTE": "0",
            "MOCK_DATA": "1",
            "DATA_CACHE_PATH": "/home/amd/cache",
            "TOKENIZER_MODEL": "NousResearch/Meta-Llama-3-8B",
            "TORCH_NCCL_TRACE_BUFFER_SIZE": "2000",
            "TORCH_NCCL_DUMP_ON_TIMEOUT": "1",
            "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": f"{folder}/nccl_trace_rank_",
            "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": f"{folder}/nccl_trace_rank_",
            "NCCL_DEBUG": "INFO",
            "NCCL_IB_HCA": HCAS,
            "NCCL_IB_GID_INDEX": "3",
            "NCCL_SOCKET_IFNAME": "ens51f1np1",
            "GLOO_SOCKET_IFNAME": "ens51f1np1",
            "TEE_OUTPUT": "1",
            "HIP_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7",
            "LOG_DIR": folder,
            "HF_TOKEN_PATH": "",
            "TRAINOPS_RUN_ID": "now-llama3_1_8b-mi300x",
            "TRAINOPS_NODE": f"gpu{place}",
        }
        assert node["log_file"] == f"{folder}/train.log"
        assert node["working_dir"] == "/workspace/Megatron-LM"


def test_what_the_script_reads_is_given_as_arguments_as_well() -> None:
    for node in planned(filled(DISTRIBUTED))["nodes"]:
        command, arguments = node["argv"][:2], node["argv"][2:]
        assert command == ["bash", "examples/llama/train_llama3.sh"]
        ours = {"TRAINOPS_RUN_ID", "TRAINOPS_NODE", "HF_TOKEN_PATH", *recording({})}
        given = dict(argument.split("=", 1) for argument in arguments)
        assert given == {name: value for name, value in node["env"].items() if name not in ours}


def test_in_single_node_mode_every_node_runs_a_job_of_its_own() -> None:
    plan = planned(filled(SINGLE, {"config/nnodes": "2"}), 2)
    assert plan["mode"] == "single_node"
    assert [node["node"] for node in plan["nodes"]] == ["gpu0", "gpu1"]
    for node in plan["nodes"]:
        environment = node["env"]
        assert (node["node_rank"], environment["NODE_RANK"], environment["NNODES"]) == (0, "0", "1")
        assert environment["MASTER_ADDR"] == "localhost"
        assert environment["LOG_DIR"].endswith(f"/{node['node']}")
        assert not [name for name in environment if name.startswith(("NCCL_IB", "NCCL_SOCKET", "GLOO"))]
    assert plan["parameters"]["data_parallelism"] == 8
    assert plan["tokens_per_step_per_gpu"] == 128 * 8192 / 8


def test_the_user_of_each_node_is_put_into_its_paths() -> None:
    hosts = [Node("gpu0", "10.0.0.10", "amd"), Node("gpu1", "10.0.0.11", "root")]
    changes = {"config/nnodes": "2", "config/container_name": "{user-id}.training"}
    plan = planned(filled(DISTRIBUTED, changes), hosts)
    assert [node["env"]["DATA_CACHE_PATH"] for node in plan["nodes"]] == ["/home/amd/cache", "/home/root/cache"]
    assert [node["mounts"][0]["source"] for node in plan["nodes"]] == ["/home/amd", "/home/root"]
    assert [node["container_options"]["name"] for node in plan["nodes"]] == ["amd.training", "root.training"]
    assert "{user-id}" not in str(plan["nodes"])


@pytest.mark.parametrize(
    ("precision", "te_fp8", "trained_in", "warned"),
    [
        ("TE_FP8", "1", "fp8", False),
        ("te_bf16", "0", "bf16", False),
        ("TE_FP16", "0", "bf16", True),
        ("TE_F16", "0", "bf16", True),
    ],
)
def test_no_precision_becomes_fp8_in_silence(precision: str, te_fp8: str, trained_in: str, warned: bool) -> None:
    plan = planned(filled(DISTRIBUTED, {f"{BRANCH}/precision": precision}))
    assert plan["faults"] == []
    assert plan["nodes"][0]["env"]["TE_FP8"] == te_fp8
    assert plan["parameters"]["precision"] == trained_in
    assert bool(plan["warnings"]) is warned
    if warned:
        message = only(plan["warnings"])["message"]
        assert "cannot train in FP16, and will train in BF16" in message
        assert ("CVS trains TE_FP16 in FP8" in message) is (precision == "TE_FP16")


@pytest.mark.parametrize("precision", ["TE_INT8", "FP8", "", 8, None])
def test_an_unknown_precision_is_a_fault(precision: object) -> None:
    fault = only(planned(filled(DISTRIBUTED, {f"{BRANCH}/precision": precision}))["faults"])
    assert fault["remedy"].startswith("Give one of TE_FP8, TE_BF16, TE_FP16, TE_F16")


def test_a_dataset_is_given_only_where_it_is_trained_on() -> None:
    real = planned(filled(DISTRIBUTED, {"config/mock_data": "False", "config/data_path": "/home/{user-id}/text"}))
    assert (real["faults"], real["warnings"]) == ([], [])
    assert real["nodes"][0]["env"]["MOCK_DATA"] == "0"
    assert real["nodes"][0]["env"]["DATA_PATH"] == "/home/amd/text"
    mock = planned(filled(DISTRIBUTED, {"config/data_path": "/home/{user-id}/text"}))
    assert "DATA_PATH" not in mock["nodes"][0]["env"]
    assert only(mock["warnings"])["message"] == "data_path has no effect: mock_data is True."


def test_flags_and_sizes_of_an_fsdp_run() -> None:
    config = filled(SINGLE_MI35X, {"config/nnodes": "1"})
    plan = planned(config, 1, training_model="llama3_1_70b", training_gpu="MI355X")
    environment = plan["nodes"][0]["env"]
    assert [environment[name] for name in ("FSDP", "RECOMPUTE", "TP", "MBS", "BS")] == ["1", "1", "1", "3", "24"]


def test_the_options_of_a_run_that_the_config_does_not_know() -> None:
    plan = planned(
        filled(DISTRIBUTED), training_master_port="7000", training_megatron_root="/opt/a b", training_run_id="night-7"
    )
    node = plan["nodes"][0]
    assert plan["run_id"] == "night-7"
    assert node["env"]["MASTER_PORT"] == "7000"
    assert node["working_dir"] == "/opt/a b"
    assert node["run_folder"] == "/home/amd/LOG_DIR/night-7/gpu0"


def test_variables_of_the_user_reach_old_scripts_too() -> None:
    changes = {"config/container_config/env_dict": {"NCCL_PROTO": "LL128", "PYTORCH_HIP_ALLOC_CONF": "a:b c"}}
    node = planned(filled(DISTRIBUTED, changes))["nodes"][0]
    assert node["env"]["NCCL_PROTO"] == "LL128"
    assert "NCCL_PROTO=LL128" in node["argv"]
    assert "PYTORCH_HIP_ALLOC_CONF=a:b c" in node["argv"]


def test_a_variable_that_the_plan_sets_is_not_the_users_to_set() -> None:
    changes = {"config/container_config/env_dict": {"TE_FP8": "0", "NODE_RANK": "7", "HF_TOKEN_PATH": "/x"}}
    plan = planned(filled(DISTRIBUTED, changes))
    path = "config.container_config.env_dict"
    assert keys(plan["warnings"]) == [f"{path}.TE_FP8", f"{path}.NODE_RANK", f"{path}.HF_TOKEN_PATH"]
    node = plan["nodes"][1]
    assert (node["env"]["TE_FP8"], node["env"]["NODE_RANK"]) == ("1", "1")
    assert [
        argument for argument in node["argv"] if argument.startswith(("TE_FP8=", "NODE_RANK=", "HF_TOKEN_PATH"))
    ] == [
        "TE_FP8=1",
        "NODE_RANK=1",
    ]


def test_without_a_token_file_its_path_is_the_users_to_set() -> None:
    changes = {"config/hf_token_file": None, "config/container_config/env_dict": {"HF_TOKEN_PATH": "/x"}}
    plan = planned(filled(DISTRIBUTED, {**changes, f"{BRANCH}/tokenizer_model": "/data/llama-3"}))
    assert (plan["faults"], plan["warnings"]) == ([], [])
    assert plan["nodes"][0]["env"]["HF_TOKEN_PATH"] == "/x"


@pytest.mark.parametrize(
    ("changes", "device_list"),
    [
        ({"config/nccl_ib_hca_list": "a, b"}, "a,b"),
        ({"config/nccl_ib_hca_list": ["a", "b"]}, "a,b"),
        ({"config/nccl_ib_hca_list": None, "config/nccl_ib_hca": "c"}, "c"),
        ({"config/nccl_ib_hca_list": "a,b", "config/nccl_ib_hca": "a,b"}, "a,b"),
        ({"config/nccl_ib_hca_list": "a,b", "config/nccl_ib_hca": "c"}, "a,b"),
    ],
)
def test_rdma_devices(changes: dict[str, object], device_list: str) -> None:
    plan = planned(filled(DISTRIBUTED, changes))
    assert plan["faults"] == []
    assert plan["nodes"][0]["env"]["NCCL_IB_HCA"] == device_list
    differing = "config/nccl_ib_hca" in changes and "config/nccl_ib_hca_list" in changes and device_list == "a,b"
    assert keys(plan["warnings"]) == (
        ["config.nccl_ib_hca"] if differing and changes["config/nccl_ib_hca"] == "c" else []
    )


def test_the_parameters_that_the_report_tells() -> None:
    parameters = planned(filled(DISTRIBUTED), nodes(4))["parameters"]
    assert parameters == {
        "nnodes": 4,
        "gpus_per_node": 8,
        "model_size": "8",
        "precision": "fp8",
        "global_batch_size": 128,
        "micro_batch_size": 2,
        "sequence_length": 8192,
        "tensor_parallelism": 1,
        "pipeline_parallelism": 1,
        "data_parallelism": 32,
        "recompute": False,
        "fsdp": False,
        "iterations": 30,
        "mock_data": True,
        "tokenizer": "NousResearch/Meta-Llama-3-8B",
        "script_generation": "v25.5",
        "nic_type": "thor2",
    }
