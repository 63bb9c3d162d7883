# SPDX-License-Identifier: GPL-3.0-or-later
"""CVS's format with schema_version: the plan, its thresholds, and the key in each fault.

``UPDATE_GOLDEN_PLANS=1 pytest tests/unit/plan/test_cvs2.py`` writes tests/data/plans/cvs anew; look at the diff.
"""

from __future__ import annotations

import json
import os
import typing as t

import pytest
from cvs_configs import EXAMPLES, FOLDER, MAXTEXT, MEGATRON, TORCHTITAN, example, planned, swept
from test_make_plan import check_every_value
from training_configs import REMOVED, ROOT, nodes, only

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan_text import plan_text

GOLDEN = ROOT / "tests/data/plans/cvs"
NODES = {TORCHTITAN: 4}


@pytest.mark.parametrize("name", EXAMPLES)
def test_golden_plans(name: str) -> None:
    plan = planned(example(name), nodes(NODES.get(name, 2)), training_run_id="golden")
    path = GOLDEN / f"{name}.json"
    assert plan.pop("chosen")["format"]["name"] == EXAMPLES[name]
    if os.environ.get("UPDATE_GOLDEN_PLANS"):
        path.write_text(json.dumps(plan, indent=2, ensure_ascii=False) + "\n", "utf-8")
    assert plan == json.loads(path.read_text("utf-8"))


def test_every_example_has_its_golden_plan() -> None:
    configs = {path.stem for path in FOLDER.iterdir() if not path.stem.endswith("_threshold")}
    assert {path.stem for path in GOLDEN.iterdir()} == set(EXAMPLES) == configs


def test_the_sweep_of_the_file_is_a_sweep_here_and_each_run_has_its_cell_of_the_thresholds() -> None:
    sweep = swept(example(MEGATRON))
    assert sweep["faults"] == sweep["warnings"] == []
    trained = {
        cell["name"]: (
            cell["plan"]["parameters"]["precision"],
            cell["plan"]["parameters"]["global_batch_size"],
            next(bound["value"] for bound in cell["plan"]["expected"] if bound["metric"] == "tokens_per_sec_per_gpu"),
        )
        for cell in sweep["cells"]
    }
    assert trained == {"fp8": ("fp8", 256, 12000), "bf16": ("bf16", 128, 9000), "mxfp8": ("mxfp8", 256, 11000)}


@pytest.mark.parametrize("hosts", [1, 2])
def test_a_run_has_the_cell_with_its_name_whatever_the_name_says_of_steps_and_nodes(hosts: int) -> None:
    # As in CVS's own mi325x_jaxmaxtext_llama-3.1-405b_distributed: the names say 30 steps, the file 10.
    config = example(MAXTEXT, {"training/steps": 10})
    plan = planned(config, nodes(hosts))
    assert plan["faults"] == []
    assert [bound["value"] for bound in plan["expected"][:2]] == [700, 13000]
    warned = [warning["message"] for warning in plan["warnings"] if warning["key"] == "training_thresholds"]
    assert "iterations is 40 instead of 10" in only(warned)
    assert ("nnodes is 2 instead of 1" in warned[0]) is (hosts == 1)
    sweep = swept(config)
    assert sweep["faults"] == []
    assert [cell["plan"]["expected"][0]["value"] for cell in sweep["cells"]] == [700, 17000]


def test_a_cell_whose_name_says_another_batch_than_the_run_has_is_not_its_cell() -> None:
    plan = planned(example(MAXTEXT), training_overrides={"per_device_batch_size": 2})
    assert only(plan["faults"])["key"] == "training_thresholds"


def test_mxfp4_is_fp4_with_its_recipe() -> None:
    config = example(MEGATRON, {"sweep/combinations/fp8/precision": "MXFP4", "threshold_json": ""})
    plan = planned(config, training_record_only=True)
    assert plan["faults"] == []
    environment = plan["nodes"][0]["env"]
    assert (environment["TE_FP4"], environment["TE_FP4_RECIPE"]) == ("1", "mxfp4")


def test_a_single_run_is_the_first_one_and_the_others_are_named() -> None:
    plan = planned(example(MEGATRON))
    assert [warning["key"] for warning in plan["warnings"]] == ["sweep.combinations"]
    assert plan["parameters"]["global_batch_size"] == 256
    assert planned(example(MEGATRON, {"sweep/runs": ["bf16"]}))["warnings"] == []


def test_an_override_goes_before_the_run_of_the_sweep() -> None:
    overrides = {
        "global_batch_size": 512,
        "nnodes": 2,
        "container.image": "rocm/megatron-lm:v26.2",
        "precision": "BF16",
    }
    plan = planned(example(MEGATRON, {"threshold_json": ""}), training_overrides=overrides, training_record_only=True)
    assert plan["faults"] == []
    assert plan["parameters"]["global_batch_size"] == 512
    assert plan["parameters"]["precision"] == "bf16"
    assert plan["nodes"][0]["image"] == "rocm/megatron-lm:v26.2"


def test_scaling_is_compared_with_the_baseline_of_the_config() -> None:
    bounds = {(bound["kind"], bound["value"]): bound for bound in planned(example(MEGATRON))["expected"]}
    assert bounds["ratio", 0.9]["reference"] == 98_000 / 8


def test_thresholds_that_are_not_enforced_are_not_judged() -> None:
    plan = planned(example(MEGATRON, {"enforce_thresholds": False}))
    assert plan["record_only"]
    assert plan["expected"] == []


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"container/image": REMOVED}, "container.image"),
        ({"container/image": "<changeme>"}, "container.image"),
        ({"container/name": "a name"}, "container.name"),
        ({"container/runtime/args/shm_size": "much"}, "container.runtime.args.shm_size"),
        ({"container/runtime/args/shmsize": "1G"}, "container.runtime.args.shmsize"),
        ({"container/runtime/args/volumes": ["/a:/b", "/c"]}, "container.runtime.args.volumes[1]"),
        ({"container/runtime/args/volumes": ["/a:/b", "c:/d"]}, "container.runtime.args.volumes[1]"),
        ({"container/runtime/args/devices": ["dri"]}, "container.runtime.args.devices[0]"),
        ({"container/env": {"HF_TOKEN": "x"}}, "container.env.HF_TOKEN"),
        ({"container/lifetime": "ever"}, "container.lifetime"),
        ({"schema_version": 2}, "schema_version"),
        ({"gpu_arch": REMOVED}, "gpu_arch"),
        ({"gpu": "MI325X"}, "gpu"),
        ({"config/container_image": "a:b"}, "config.container_image"),
        ({"config/nccl_ib_hca": "a b"}, "config.nccl_ib_hca"),
        ({"config/nnodes": "<changeme>"}, "config.nnodes"),
        ({"config/training_iteration": 30}, "config.training_iteration"),
        ({"model_params/model_name": REMOVED}, "model_params.model_name"),
        ({"model_params/sequence_lenght": "1"}, "model_params.sequence_lenght"),
        ({"model_params/tensor_parallelism": "two"}, "model_params.tensor_parallelism"),
        ({"model_params/tokenizer_model": REMOVED}, "model_params.tokenizer_model"),
        ({"sweep/combinations/fp8/precision": "FP6"}, "sweep.combinations.fp8.precision"),
        ({"sweep/combinations/fp8/micro_batch_size": "no"}, "sweep.combinations.fp8.micro_batch_size"),
        ({"sweep/combinations/fp8/global_batch_size": "no"}, "sweep.combinations.fp8.global_batch_size"),
        ({"sweep/combinations/fp8/global_batch": "no"}, "sweep.combinations.fp8.global_batch"),
        ({"sweep/runs": ["fp9"]}, "sweep.runs[0]"),
        ({"loss_curve/enforced": True}, "loss_curve.enforced"),
        ({"scaling_baseline/num_nodes": 0}, "scaling_baseline.num_nodes"),
    ],
)
def test_a_fault_names_the_key_of_the_file(changes: dict[str, t.Any], key: str) -> None:
    fault = only(planned(example(MEGATRON, changes))["faults"])
    assert fault["key"] == key
    for word in ("container_image", "container_config", "multi_node", "MI325X", "volume_dict"):
        assert word not in fault["message"] or word in key, fault


def test_all_faults_come_at_once() -> None:
    wrong = {"config/nnodes": "x", "container/image": "<changeme>", "model_params/model_size": [], "gpu": 1}
    keys = {fault["key"] for fault in planned(example(MEGATRON, wrong))["faults"]}
    assert keys == {"config.nnodes", "container.image", "model_params.model_size", "gpu"}


def test_an_image_can_be_an_option() -> None:
    plan = planned(example(MEGATRON, {"container/image": REMOVED}), training_image="rocm/megatron-lm:v26.2")
    assert plan["faults"] == []
    assert plan["nodes"][0]["image"] == "rocm/megatron-lm:v26.2"


def test_unknown_keys_can_pass() -> None:
    config = example(MEGATRON, {"gpu": 1, "container/runtime/args/tmpfs": "/x"})
    plan = planned(config, training_unknown_keys="warn")
    assert plan["faults"] == []
    assert {"gpu", "container.runtime.args.tmpfs"} <= {warning["key"] for warning in plan["warnings"]}


def test_a_single_node_config_runs_on_each_node() -> None:
    config = example(MEGATRON, {"framework": "megatron_single", "config/nnodes": "1", "config/master_address": REMOVED})
    plan = planned(config, nodes(1), training_record_only=True)
    assert plan["faults"] == []
    assert plan["mode"] == "single_node"


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"paths/log_dir": REMOVED}, "paths.log_dir"),
        ({"paths/log_dir": "{paths.logs}/x"}, "paths.log_dir"),
        ({"paths/logs": "/x"}, "paths.logs"),
        ({"model/id": REMOVED, "training/maxtext_config/model_name": REMOVED}, "model.id"),
        ({"training/steps": "many"}, "training.steps"),
        ({"training/step": 3}, "training.step"),
        ({"training/nccl/ib_hca": "<changeme>"}, "training.nccl.ib_hca"),
        ({"training/nccl/hca": "x"}, "training.nccl.hca"),
        ({"training/jax_distributed/coordinator_port": "high"}, "training.jax_distributed.coordinator_port"),
        ({"training/jax_distributed/coordinator_ip": "192.0.2.9"}, "training.jax_distributed.coordinator_ip"),
        (
            {"training/jax_distributed/initialization_timeout_seconds": "long"},
            "training.jax_distributed.initialization_timeout_seconds",
        ),
        ({"training/env_vars/HF_TOKEN": "x"}, "training.env_vars.HF_TOKEN"),
        ({"training/xla_flags/xla_gpu_autotune_level": "high"}, "training.xla_flags.xla_gpu_autotune_level"),
        ({"training/maxtext_config/remat_polic": "full"}, "training.maxtext_config.remat_polic"),
        ({"training/maxtext_config/ici_fsdp_parallelism": 5}, "training.maxtext_config"),
        ({"training/enabled_sweep_list": ["x"]}, "training.enabled_sweep_list[0]"),
        ({"training/convergence/target_metric": "accuracy"}, "training.convergence.target_metric"),
        ({"training/convergence/target_value": "low"}, "training.convergence.target_value"),
    ],
)
def test_a_fault_names_the_key_of_the_file_for_maxtext(changes: dict[str, t.Any], key: str) -> None:
    fault = only(planned(example(MAXTEXT, changes), training_record_only=True)["faults"])
    assert fault["key"].startswith(key)
    assert "multi_node" not in fault["message"]


def test_a_wrong_value_of_a_cell_is_named_there() -> None:
    config = example(MAXTEXT)
    config["training"]["sweeps"][0]["maxtext_overrides"]["per_device_batch_size"] = "no"
    fault = only(planned(config)["faults"])
    assert fault["key"] == "training.sweeps[0].maxtext_overrides.per_device_batch_size"


@pytest.mark.parametrize(
    ("convergence", "target"),
    [
        ({"target_metric": "auto", "target_value": 10.0}, 10.0),
        ({"target_metric": "train_loss", "target_value": "2.5"}, 2.5),
        ({"target_metric": "eval_loss", "target_value": 2.5}, None),
        ({"target_value": 0.0}, None),
        ({"target_value": -1}, None),
        ({}, None),
    ],
)
def test_the_loss_to_reach_is_part_of_the_plan(convergence: dict[str, t.Any], target: float | None) -> None:
    config = example(MAXTEXT, {"training/convergence": convergence})
    plan = planned(config)
    assert (plan["faults"], plan.get("target_loss")) == ([], target)
    assert ("to reach" in plan_text(plan)) == (target is not None)
    # The trainer of a rehearsal has another loss.
    assert "target_loss" not in planned(config, training_rehearsal=True)


def test_cells_of_maxtext_are_a_sweep_with_thresholds() -> None:
    sweep = swept(example(MAXTEXT))
    assert sweep["faults"] == sweep["warnings"] == []
    assert [cell["plan"]["parameters"]["precision"] for cell in sweep["cells"]] == ["bf16", "fp8"]
    assert [cell["values"]["per_device_batch_size"] for cell in sweep["cells"]] == [4, 6]


def test_a_config_for_maxtext_takes_the_nodes_there_are() -> None:
    one = planned(example(MAXTEXT), nodes(1), training_record_only=True)
    assert one["faults"] == []
    assert one["nodes"][0]["env"]["NNODES"] == "1"


def test_overrides_of_maxtext_find_their_section() -> None:
    overrides = {"steps": 7, "per_device_batch_size": 2, "paths.shared_fs": "/other"}
    plan = planned(example(MAXTEXT), training_record_only=True, training_overrides=overrides)
    assert plan["faults"] == []
    assert plan["parameters"]["iterations"] == 7
    assert plan["parameters"]["micro_batch_size"] == 2
    assert plan["nodes"][0]["env"]["HF_HOME"] == "/other/cache/maxtext"


@pytest.mark.parametrize(
    ("name", "section"), [(MEGATRON, "config"), pytest.param(MAXTEXT, "training", marks=pytest.mark.slow)]
)
def test_no_value_whatever_breaks_a_plan(name: str, section: str) -> None:
    check_every_value(example(name), (section,), planned)
