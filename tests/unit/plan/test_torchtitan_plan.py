# SPDX-License-Identifier: GPL-3.0-or-later
"""TorchTitan's plan: the result of its TOML, and the faults and warnings."""

from __future__ import annotations

import itertools
import json
import os
import tomllib
import typing as t

import pytest
from test_make_plan import ANYTHING, check_promises, paths_of, with_value, without
from torchtitan_configs import EXAMPLES, FOLDER, LLAMA3, REMOVED, changed, planned, text_of
from training_configs import ROOT, nodes, only

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.toml_config import written
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import make_plan

GOLDEN = ROOT / "tests/data/plans/torchtitan"


def keys_of(findings: list[dict[str, t.Any]]) -> list[str]:
    return [finding["key"] for finding in findings]


def argv_of(plan: dict[str, t.Any], node: int = 0) -> list[str]:
    assert plan["faults"] == []
    return plan["nodes"][node]["argv"]


def staged(plan: dict[str, t.Any]) -> dict[str, t.Any]:
    assert plan["faults"] == []
    return tomllib.loads(plan["nodes"][0]["files"]["torchtitan.toml"])


@pytest.mark.parametrize("name", EXAMPLES)
def test_golden_plans(name: str) -> None:
    plan = planned(name=name)
    path = GOLDEN / f"{name}.json"
    assert {seam: choice["name"] for seam, choice in plan.pop("chosen").items()} == {
        "format": "torchtitan_toml",
        "trainer": "torchtitan",
        "log_grammar": "torchtitan",
    }
    if os.environ.get("UPDATE_GOLDEN_PLANS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(plan, indent=2, ensure_ascii=False) + "\n", "utf-8")
    assert plan == json.loads(path.read_text("utf-8"))


def test_every_example_has_its_golden_plan() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {path.stem for path in FOLDER.iterdir()}


def test_ranks_are_static_and_only_the_first_rank_of_a_node_is_logged() -> None:
    first, second = (argv_of(planned(training_master_port=4711), node) for node in (0, 1))
    assert first[first.index("--node_rank") + 1] == "0"
    assert second[second.index("--node_rank") + 1] == "1"
    assert second[second.index("--master_addr") + 1] == "10.0.0.10"
    assert second[second.index("--master_port") + 1] == "4711"
    assert second[second.index("--local-ranks-filter") + 1] == "0"


def test_with_a_pipeline_the_rank_that_knows_the_loss_is_logged_too() -> None:
    argv = argv_of(planned({"parallelism.pipeline_parallel_degree": 2}))
    assert argv[argv.index("--local-ranks-filter") + 1] == "0,7"


@pytest.mark.parametrize(
    ("changes", "module"),
    [
        ({}, "torchtitan.train"),
        ({"model.name": "flux", "model.flavor": "flux-dev"}, "torchtitan.models.flux.train"),
        ({"model.name": "flux", "model.flavor": "flux-dev", "trainops.module": "my.train"}, "my.train"),
        ({"model.name": "llama3_ft", "fault_tolerance.enable": True}, "torchtitan.experiments.ft.train"),
        ({"fault_tolerance.enable": False}, "torchtitan.train"),
    ],
)
def test_a_model_that_has_a_module_of_its_own_is_trained_by_that(changes: dict[str, t.Any], module: str) -> None:
    argv = argv_of(planned(changes))
    assert argv[argv.index("-m") + 1] == module


def test_how_to_run_is_no_part_of_what_torchtitan_reads() -> None:
    config = tomllib.loads(text_of(LLAMA3))
    del config["trainops"]
    config["model"]["hf_assets_path"] = "/home/amd/Llama-3.1-8B"
    assert staged(planned()) == config


def test_a_file_of_torchtitan_itself_is_staged_as_it_is() -> None:
    text = '# mine\n[model]\nname = "llama3"\nflavor = "8B"\nhf_assets_path = "/a"\n[training]\nsteps = 100\n'
    plan = make_plan(text, "c.toml", {"training_image": "titan:1"}, nodes(2), "now")
    assert plan["nodes"][0]["files"]["torchtitan.toml"] == text
    assert plan["nodes"][0]["image"] == "titan:1"
    assert plan["parameters"]["global_batch_size"] == 8 * 16


def test_without_an_image_the_python_that_is_named_trains_on_the_host() -> None:
    plan = planned(
        {"trainops.container_image": REMOVED},
        container_engine="auto",
        training_torchtitan_python="/opt/titan/bin/python",
        training_torchtitan_root="/opt/titan/checkout",
    )
    assert argv_of(plan)[:3] == ["/opt/titan/bin/python", "-m", "torch.distributed.run"]
    node = plan["nodes"][0]
    assert (plan["container_engine"], node["working_dir"], node["image"]) == ("none", "/opt/titan/checkout", None)


def test_overrides_reach_what_torchtitan_reads() -> None:
    overrides = {"training.steps": 20, "compile.enable": False, "model.converters": ["quantize.linear.float8"]}
    plan = planned(training_overrides=overrides)
    config = staged(plan)
    assert (config["training"]["steps"], config["compile"]["enable"]) == (20, False)
    assert (plan["parameters"]["iterations"], plan["parameters"]["precision"]) == (20, "fp8")


@pytest.mark.parametrize(
    ("changes", "precision"),
    [
        ({}, "bf16"),
        ({"training.mixed_precision_param": "float32"}, "fp32"),
        ({"model.converters": ["quantize.linear.float8"]}, "fp8"),
        ({"model.converters": ["quantize.linear.mx"]}, "mxfp8"),
    ],
)
def test_precision(changes: dict[str, t.Any], precision: str) -> None:
    assert planned(changes)["parameters"]["precision"] == precision


def test_fp8_that_is_asked_for_but_not_trained_in_is_a_warning() -> None:
    table = {"quantize.linear.float8.enable_fsdp_float8_all_gather": True}
    assert "quantize.linear.float8" in keys_of(planned(table)["warnings"])
    converted = {**table, "model.converters": ["quantize.linear.float8"]}
    assert "quantize.linear.float8" not in keys_of(planned(converted)["warnings"])


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"parallelism.tensor_parallel_degree": 3}, "parallelism.tensor_parallel_degree"),
        ({"parallelism.data_parallel_shard_degree": 8}, "parallelism.data_parallel_shard_degree"),
        ({"parallelism.data_parallel_replicate_degree": 3}, "parallelism.data_parallel_replicate_degree"),
        ({"training.global_batch_size": 33}, "training.global_batch_size"),
        ({"training.global_batch_size": 0}, "training.global_batch_size"),
        (
            {"parallelism.pipeline_parallel_degree": 2, "parallelism.pipeline_parallel_microbatch_size": 4},
            "training.local_batch_size",
        ),
        (
            {"parallelism.expert_parallel_degree": 3},
            "parallelism.expert_parallel_degree",
        ),
        ({"training.stepps": 3}, "training.stepps"),
        ({"training.steps": "3"}, "training.steps"),
        ({"model.hf_assets_path": "<changeme>"}, "model.hf_assets_path"),
        ({"fault_tolerance.enable": True, "fault_tolerance.group_size": 2}, "fault_tolerance.group_size"),
    ],
)
def test_what_torchtitan_would_refuse_is_a_fault(changes: dict[str, t.Any], key: str) -> None:
    plan = planned(changes)
    assert key in keys_of(plan["faults"])
    assert plan["nodes"] == []


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"metrics.log_freq": 60}, "metrics.log_freq"),
        ({"checkpoint.enable": True}, "job.dump_folder"),
        ({"model.hf_assets_path": "assets", "trainops.torchtitan_root": REMOVED}, "model.hf_assets_path"),
        ({"job.config_file": "x.toml"}, "job.config_file"),
        ({"job.custom_config_module": "mine", "mine.key": 1}, "mine"),
        ({"fault_tolerance.enable": True, "fault_tolerance.group_size": 1}, "fault_tolerance.enable"),
        ({"model.name": "llma3"}, "model.name"),
        ({"model.flavor": "8BB"}, "model.flavor"),
    ],
)
def test_what_has_no_effect_or_can_go_wrong_is_a_warning(changes: dict[str, t.Any], key: str) -> None:
    plan = planned(changes)
    assert plan["faults"] == []
    assert key in keys_of(plan["warnings"])


def test_a_file_for_an_older_torchtitan_is_one_fault_with_the_keys_of_today() -> None:
    # Keys of llama3_8b.toml of TorchTitan in October 2024.
    older = {
        "model.norm_type": "rmsnorm",
        "training.batch_size": 1,
        "training.compile": False,
        "training.tensor_parallel_degree": 1,
        "experimental.pipeline_parallel_degree": 1,
        "checkpoint.enable_checkpoint": False,
        "checkpoint.interval_type": "steps",
        "float8.enable_float8_linear": False,
    }
    fault = only(planned(older)["faults"])
    now = ("training.local_batch_size", "compile.enable", "parallelism.pipeline_parallel_degree", "checkpoint.enable")
    assert (fault["key"], [key in fault["remedy"] for key in now]) == ("training_config", [True] * 4)
    faults = planned({"training.batch_size": 1, "training.stepps": 3})["faults"]
    assert keys_of(faults) == ["training_config", "training.stepps"]


def test_a_lighthouse_that_is_named_and_models_of_ones_own_are_no_warning() -> None:
    ft = {"fault_tolerance.enable": True, "trainops.container_config.env_dict.TORCHFT_LIGHTHOUSE": "http://10.0.0.1:1"}
    own = {"model.name": "mine", "experimental.custom_import": "my.models"}
    assert {"fault_tolerance.enable", "model.name"}.isdisjoint(keys_of(planned({**ft, **own})["warnings"]))


def test_checkpoints_that_all_nodes_share_are_where_it_goes_on_from() -> None:
    plan = planned({"checkpoint.enable": True, "job.dump_folder": "/shared/run"})
    assert plan["checkpoints"] == "/shared/run/checkpoint"
    assert not [word for word in argv_of(plan) if word.startswith("--job.dump_folder")]


def test_a_rehearsal_needs_no_torchtitan() -> None:
    plan = planned(training_rehearsal=True)
    assert plan["faults"] == []
    assert (plan["rehearsal"], plan["log_grammar"]) == (True, "megatron")


def test_toml_is_written_as_it_is_read() -> None:
    values = {"a b": 1, "c": {"d": [1, {"e": '\x7f"\n'}], "f": {"g": 1e-8, "h": True, "i": -1}, "j": {}}}
    assert tomllib.loads(written(values)) == values


def test_null_is_left_out_at_any_depth_as_toml_has_none() -> None:
    values = {"a": None, "b": [{"c": None, "d": 1}, None, 2], "e": {"f": None}}
    assert tomllib.loads(written(values)) == {"b": [{"d": 1}, 2], "e": {}}


def test_no_value_whatever_breaks_a_plan() -> None:
    config = tomllib.loads(changed(LLAMA3, {"parallelism.pipeline_parallel_degree": 2}))
    options = {"container_engine": "none"}
    for path, value in zip(paths_of(config), itertools.cycle(ANYTHING), strict=False):
        for changed_ in (without(config, path), with_value(config, path, value)):
            try:
                text = written(changed_)
            except TypeError:
                continue
            check_promises(make_plan(text, "c.toml", {**options, "training_framework": "torchtitan"}, nodes(2)))


@pytest.mark.parametrize("text", ["", "[", "a = ", "[a]\n[a]", "a = 1979-05-27", "\x00", "a = " + "[" * 500, "a = nan"])
def test_no_text_whatever_breaks_a_plan(text: str) -> None:
    check_promises(make_plan(text, "c.toml", {"training_framework": "torchtitan"}, nodes(2)))
