# SPDX-License-Identifier: GPL-3.0-or-later
"""CVS's format of today, with gpu_name and train_params; test_cvs2.py has its golden plans."""

from __future__ import annotations

import typing as t

import pytest
from cvs_configs import MAXTEXT_OF_TODAY as MAXTEXT
from cvs_configs import OF_TODAY as MEGATRON
from cvs_configs import TORCHTITAN_OF_TODAY as TORCHTITAN
from cvs_configs import example, planned, swept
from test_make_plan import check_every_value
from training_configs import REMOVED, nodes, only


def test_the_name_of_a_cell_says_its_sizes_and_what_it_holds_goes_before_them() -> None:
    sweep = swept(example(MEGATRON))
    assert sweep["faults"] == sweep["warnings"] == []
    plans = [cell["plan"] for cell in sweep["cells"]]
    assert [plan["parameters"]["precision"] for plan in plans] == ["fp8", "bf16"]
    assert [plan["parameters"]["iterations"] for plan in plans] == [40, 30]
    assert [plan["parameters"]["global_batch_size"] for plan in plans] == [64, 64]
    assert [plan["expected"][0]["value"] for plan in plans] == [1200, 900]


def test_a_config_for_torchtitan_trains_the_sizes_in_the_name_of_its_cell() -> None:
    sweep = swept(example(TORCHTITAN))
    assert sweep["faults"] == sweep["warnings"] == []
    plans = [cell["plan"] for cell in sweep["cells"]]
    assert [plan["chosen"]["trainer"]["name"] for plan in plans] == ["torchtitan", "torchtitan"]
    assert [plan["parameters"]["global_batch_size"] for plan in plans] == [32, 64]
    assert [plan["expected"][0]["value"] for plan in plans] == [900, 1000]
    assert plans[0]["nodes"][1]["env"]["NCCL_IB_HCA"].startswith("rdma0,")


def test_all_that_cvs_delivers_in_a_file_for_torchtitan_is_known() -> None:
    # The other keys of mi355x_torchtitan_*.json in ROCm/cvs at 194cbd77.
    of_paths = {"scripts_dir": "/home/{user-id}/SCRIPTS", "data_cache_dir": "/home/{user-id}/cache", "rocm_dir": ""}
    parameters = {
        "tokenizer_path": "meta-llama/Llama-3.1-70B",
        "tokenizer_model": "meta-llama/Llama-3.1-70B",
        "model_size": "70b",
        "pipeline_parallel_degree": "1",
        "context_parallel_degree": "1",
        "expert_parallel_degree": "1",
        "enable_async_tensor_parallel": "false",
        "global_batch_size": "512",
        "precompute_float8_dynamic_scale_for_fsdp": "false",
        "micro_batch_size": "1",
        "precision": "BF16",
        "result_dict": {},
    }
    changes = {
        **{f"paths/{name}": value for name, value in of_paths.items()},
        **{f"train_params/{name}": value for name, value in parameters.items()},
        "verify_network_errors": "True",
        "smoke": {
            "enabled": True,
            "iters": 10,
            "micro_batch_size": "1",
            "global_batch_size": "16",
            "precision": "BF16",
        },
        "convergence": {"target_metric": "auto", "target_value": 2.0},
        "checkpoint": {"enforce": False, "save_interval": 20, "save_iters": 21, "resume_iters": 25, "loss_rtol": 0.05},
        "scaling_baseline": {"tokens_per_sec_total": 0.0, "num_nodes": 1},
    }
    plan = planned(example(TORCHTITAN, changes))
    assert plan["faults"] == []
    assert plan["parameters"]["global_batch_size"] == 32


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"container/env/MASTER_ADDR": "<changeme>"}, "container.env.MASTER_ADDR"),
        ({"container/env/NCCL_IB_GID_INDEX": "3 <changeme>"}, "container.env.NCCL_IB_GID_INDEX"),
        ({"container/env/HF_TOKEN": "x"}, "container.env.HF_TOKEN"),
        ({"train_params/training_iterations": "<changeme>"}, "train_params.training_iterations"),
        ({"train_params/model_name": REMOVED}, "train_params.model_name"),
        ({"train_params/data_parallel_shard_degree": "3"}, "train_params.data_parallel_shard_degree"),
        ({"train_params/optimizer": "x"}, "train_params.optimizer"),
        ({"paths/log_dir": "logs"}, "paths.log_dir"),
    ],
)
def test_a_fault_names_the_key_of_a_file_for_torchtitan(changes: dict[str, t.Any], key: str) -> None:
    assert only(planned(example(TORCHTITAN, changes), training_record_only=True)["faults"])["key"] == key


@pytest.mark.parametrize(("gpu", "quantization"), [("MI325X", "nanoo_fp8"), ("mi300x", "nanoo_fp8"), ("MI355X", "fp8")])
def test_fp8_of_maxtext_is_that_of_the_gpu(gpu: str, quantization: str) -> None:
    sweep = swept(example(MAXTEXT, {"gpu_name": gpu}), training_record_only=True)
    assert sweep["faults"] == []
    assert [cell["values"]["quantization"] for cell in sweep["cells"]] == ["", quantization]
    assert sweep["cells"][1]["plan"]["parameters"]["micro_batch_size"] == 4
    assert "remat_policy: minimal_flash" in sweep["cells"][1]["plan"]["nodes"][0]["files"]["maxtext.yml"]


def test_each_cell_of_maxtext_has_its_thresholds() -> None:
    bounds = [cell["plan"]["expected"][0]["value"] for cell in swept(example(MAXTEXT))["cells"]]
    assert bounds == [900, 1200]


def test_variables_of_the_container_are_keys_or_go_to_the_training() -> None:
    env = planned(example(MEGATRON))["nodes"][1]["env"]
    assert (env["MASTER_ADDR"], env["NNODES"], env["NCCL_IB_GID_INDEX"]) == ("10.0.0.10", "2", "3")
    assert env["HSA_NO_SCRATCH_RECLAIM"] == "1"
    plan = planned(example(MAXTEXT))
    assert plan["nodes"][0]["env"]["JAX_COORDINATOR_PORT"] == "12346"
    assert "jax_distributed_heartbeat_timeout_seconds: 600" in plan["nodes"][0]["files"]["maxtext.yml"]


def test_without_a_number_of_nodes_it_runs_on_those_there_are() -> None:
    config = example(MEGATRON, {"container/env/NNODES": REMOVED, "container/env/MASTER_ADDR": REMOVED})
    for count, mode in ((1, "single_node"), (4, "multi_node")):
        plan = planned(config, nodes(count), training_record_only=True)
        assert plan["faults"] == []
        assert plan["mode"] == mode


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"container/env/NNODES": "3"}, "container.env.NNODES"),
        ({"container/env/MASTER_ADDR": "<changeme>"}, "container.env.MASTER_ADDR"),
        ({"container/env/NCCL_IB_HCA": "bnxt_re0 <changeme>"}, "container.env.NCCL_IB_HCA"),
        ({"container/env/HF_TOKEN": "x"}, "container.env.HF_TOKEN"),
        ({"container/env/TP": "4"}, "container.env.TP"),
        ({"container/runtime/args/volumes": ["<changeme>:<changeme>"]}, "container.runtime.args.volumes[0]"),
        ({"gpu_name": "<changeme>"}, "gpu_name"),
        ({"gpus_per_node": 4}, "gpus_per_node"),
        ({"path": {}}, "path"),
        ({"paths/log_dir": "{paths.logs}"}, "paths.log_dir"),
        ({"train_params/training_iterations": "<changeme>"}, "train_params.training_iterations"),
        ({"train_params/tensor_paralelism": "8"}, "train_params.tensor_paralelism"),
        ({"train_params/model_name": REMOVED}, "train_params.model_name"),
        (
            {"sweep/combinations": {"MBS=1,GBS=63,PRECISION=FP8": {}}, "sweep/runs": REMOVED, "threshold_json": ""},
            'sweep.combinations["MBS=1,GBS=63,PRECISION=FP8"]',
        ),
        (
            {"sweep/combinations": {"MBS=1,GBS=64,PRECISION=FP5": {}}, "sweep/runs": REMOVED, "threshold_json": ""},
            'sweep.combinations["MBS=1,GBS=64,PRECISION=FP5"]',
        ),
    ],
)
def test_a_fault_names_the_key_of_the_file(changes: dict[str, t.Any], key: str) -> None:
    fault = only(planned(example(MEGATRON, changes))["faults"])
    assert fault["key"] == key
    assert "container_config" not in fault["message"] + fault["remedy"]


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"train_params/maxtext_config/steps": "many"}, "train_params.maxtext_config.steps"),
        ({"train_params/maxtext_config/model_name": REMOVED}, "train_params.maxtext_config.model_name"),
        ({"train_params/maxtext_config/remat_polic": "full"}, "train_params.maxtext_config.remat_polic"),
        ({"train_params/max_text": {}}, "train_params.max_text"),
        (
            {"container/env/JAX_DISTRIBUTED_HEARTBEAT_TIMEOUT_SECONDS": "long"},
            "container.env.JAX_DISTRIBUTED_HEARTBEAT_TIMEOUT_SECONDS",
        ),
        ({"container/env/JAX_COORDINATOR_PORT": "high"}, "container.env.JAX_COORDINATOR_PORT"),
        ({"runs": ["BS=9"]}, "runs[0]"),
    ],
)
def test_a_fault_names_the_key_of_the_file_for_maxtext(changes: dict[str, t.Any], key: str) -> None:
    fault = only(planned(example(MAXTEXT, changes), training_record_only=True)["faults"])
    assert fault["key"] == key


@pytest.mark.parametrize("name", [MEGATRON, pytest.param(MAXTEXT, marks=pytest.mark.slow)])
def test_no_value_whatever_breaks_a_plan(name: str) -> None:
    check_every_value(example(name), ("container",), planned)
