# SPDX-License-Identifier: GPL-3.0-or-later
"""Values in the place of a config's own, for each framework."""

from __future__ import annotations

from pathlib import Path

import pytest
from maxtext_configs import filled, planned

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.ranks import Node
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import make_plan

ROOT = Path(__file__).resolve().parents[3]
NODES = [Node("node0", "127.0.0.1", "me", local=True), Node("node1", "127.0.0.1", "me", local=True)]
TINY = (ROOT / "inventories/local/tiny_llama.json").read_text()
SFT = (ROOT / "examples/nxdt/hf_llama3_8b_sft.yaml").read_text().replace("<changeme>", "100")


def plan_of(overrides, text=TINY, source="config.json", **options):
    everything = {
        "training_gpus_per_node": 1,
        "container_engine": "none",
        "training_megatron_root": "/m",
        "training_overrides": overrides,
        **options,
    }
    return make_plan(text, source, everything, NODES, "now")


@pytest.mark.parametrize("key", ["batch_size", "model_params.multi_node.llama3_tiny.cpu.batch_size"])
def test_a_value_of_the_branch_is_replaced_by_its_name_and_by_its_path(key):
    plan = plan_of({key: 32})
    assert plan["faults"] == []
    assert plan["parameters"]["global_batch_size"] == 32
    assert plan["nodes"][0]["env"]["BS"] == "32"
    assert plan["overrides"] == {key: 32}


@pytest.mark.parametrize("key", ["training_iterations", "config.training_iterations"])
def test_a_value_of_the_section_config_is_replaced_by_its_name_and_by_its_path(key):
    assert plan_of({key: "7"})["parameters"]["iterations"] == 7


def test_objects_on_the_way_are_made_and_thresholds_can_be_replaced():
    plan = plan_of({"container_config.env_dict.NCCL_ALGO": "Ring", "result_dict.loss": 3})
    assert plan["faults"] == []
    assert plan["nodes"][1]["env"]["NCCL_ALGO"] == "Ring"
    assert {"metric": "loss", "kind": "max", "value": 3.0} in plan["expected"]


def test_all_wrong_values_are_told_at_once_at_their_place_in_the_config():
    faults = {fault["key"]: fault for fault in plan_of({"batch_size": 3, "precison": "x", "nnodes": "many"})["faults"]}
    assert "model_params.multi_node.llama3_tiny.cpu.precison" in faults
    assert "Did you mean precision?" in faults["model_params.multi_node.llama3_tiny.cpu.precison"]["remedy"]
    assert faults["config.nnodes"]["value"] == "many"
    assert len(faults) > 2


def test_a_value_below_one_that_is_no_object_is_a_fault_of_the_override():
    (fault,) = plan_of({"batch_size.inner": 3})["faults"]
    assert fault["key"] == 'training_overrides["batch_size.inner"]'
    assert "batch_size is '16', not an object" in fault["message"]


def test_what_is_no_object_is_refused():
    (fault,) = plan_of("batch_size=3")["faults"]
    assert (fault["key"], fault["value"]) == ("training_overrides", "batch_size=3")


def test_a_plan_without_overrides_does_not_speak_of_them():
    assert "overrides" not in plan_of({})


def test_the_yaml_of_nxdt_is_staged_with_the_value_and_keeps_its_interpolations():
    plan = plan_of({"trainer.max_steps": 40}, SFT, "sft.yaml", training_gpus_per_node=32)
    assert plan["faults"] == []
    assert plan["parameters"]["iterations"] == 40
    staged = plan["nodes"][0]["files"]["nxdt_config.yaml"]
    assert "max_steps: 40" in staged
    assert "${trainer.max_steps}" in staged


def test_an_unknown_key_of_a_yaml_config_is_a_fault_at_its_path():
    keys = [fault["key"] for fault in plan_of({"data.global_batchsize": 4}, SFT, "sft.yaml")["faults"]]
    assert "data.global_batchsize" in keys


def test_an_object_in_the_place_of_a_number_is_a_fault_at_its_path():
    (fault,) = plan_of({"trainer.devices.x": 4}, SFT, "sft.yaml")["faults"]
    assert fault["key"] == "trainer.devices"


def test_a_value_of_maxtext_is_replaced_in_what_it_is_given():
    staged = [
        planned(filled(), training_overrides=overrides)["nodes"][0]["files"]["maxtext.yml"]
        for overrides in ({}, {"max_target_length": 4096})
    ]
    assert "max_target_length: 8192" in staged[0]
    assert "max_target_length: 4096" in staged[1]


def test_overrides_may_be_json_as_text() -> None:
    plan = plan_of('{"batch_size": 256}')
    assert (plan["faults"], plan["overrides"]) == ([], {"batch_size": 256})


def test_a_text_that_ends_at_a_blank_says_which_form_works() -> None:
    [fault] = plan_of('{"batch_size":')["faults"]
    assert fault["key"] == "training_overrides"
    assert """-e '{"training_overrides": {""" in fault["remedy"]
