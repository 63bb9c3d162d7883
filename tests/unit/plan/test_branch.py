from __future__ import annotations

import typing as t

import pytest
from training_configs import DISTRIBUTED, SINGLE, filled, keys, only, planned

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.formats.cvs1.branch import (
    canonical_gpu,
    canonical_model,
)

OFFER = (
    "The file offers llama3_1_8b (mi300x, mi325), llama3_1_70b (mi300x, mi325). "
    "Set, for example, -e training_model=llama3_1_8b."
)


@pytest.mark.parametrize("gpu", ["mi300x", "MI300X", "mi300", "MI300", " Mi300x "])
def test_spellings_of_a_gpu_mean_the_same(gpu: str) -> None:
    plan = planned(filled(DISTRIBUTED), training_gpu=gpu)
    assert (plan["faults"], plan["gpu"]) == ([], "mi300x")
    assert canonical_gpu(gpu) == "mi300"


@pytest.mark.parametrize("gpu", ["mi325", "MI325X"])
def test_a_gpu_that_the_file_spells_without_x(gpu: str) -> None:
    assert planned(filled(DISTRIBUTED), training_gpu=gpu)["gpu"] == "mi325"


@pytest.mark.parametrize("model", ["llama3_1_70b", "Llama3.1-70B", "llama3-1-70b"])
def test_spellings_of_a_model_mean_the_same(model: str) -> None:
    plan = planned(filled(DISTRIBUTED), training_model=model)
    assert (plan["faults"], plan["model"]) == ([], "llama3_1_70b")
    assert canonical_model(model) == "llama3_1_70b"


@pytest.mark.parametrize(
    ("options", "key", "value", "message", "remedy"),
    [
        (
            {"training_model": ""},
            "training_model",
            None,
            "It is not set, and model_params.multi_node has 2 to choose from.",
            OFFER,
        ),
        (
            {"training_model": "llama4"},
            "training_model",
            "llama4",
            "'llama4' is not in model_params.multi_node.",
            OFFER,
        ),
        (
            {"training_gpu": ""},
            "training_gpu",
            None,
            "It is not set, and model_params.multi_node.llama3_1_8b has 2 to choose from.",
            "The file offers mi300x, mi325. Set, for example, -e training_gpu=mi300x.",
        ),
        (
            {"training_gpu": "b200"},
            "training_gpu",
            "b200",
            "'b200' is not in model_params.multi_node.llama3_1_8b.",
            "The file offers mi300x, mi325. Set, for example, -e training_gpu=mi300x.",
        ),
        (
            {"training_mode": "single_node"},
            "training_mode",
            "single_node",
            "The file has no model_params.single_node.",
            "The file offers multi_node. Set, for example, -e training_mode=multi_node.",
        ),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(
    options: dict[str, t.Any], key: str, value: str | None, message: str, remedy: str
) -> None:
    fault = only(planned(filled(DISTRIBUTED), **options)["faults"])
    assert fault == {"key": key, "value": value, "message": message, "remedy": remedy}


def test_a_wrong_model_does_not_hide_a_wrong_gpu_nor_what_is_wrong_in_config() -> None:
    config = filled(DISTRIBUTED, {"config/nnodes": "3", "config/nccl_ib_hca_list": "a,a"})
    faults = planned(config, training_model="llama4", training_gpu="b200")["faults"]
    assert keys(faults) == ["config.nnodes", "config.nccl_ib_hca_list", "training_model", "training_gpu"]
    assert faults[-1]["message"] == "No model of model_params.multi_node has 'b200'."


def test_what_is_the_only_one_need_not_be_named() -> None:
    config = filled(DISTRIBUTED)
    del config["model_params"]["multi_node"]["llama3_1_70b"]
    del config["model_params"]["multi_node"]["llama3_1_8b"]["mi325"]
    plan = planned(config, training_model="", training_gpu="")
    assert (plan["faults"], plan["model"], plan["gpu"]) == ([], "llama3_1_8b", "mi300x")


def test_an_ambiguous_spelling_is_a_fault_that_names_all() -> None:
    config = filled(DISTRIBUTED)
    models = config["model_params"]["multi_node"]["llama3_1_8b"]
    models["MI300"] = models["mi325"]
    fault = only(planned(config, training_gpu="Mi300X")["faults"])
    assert fault["message"] == "'Mi300X' is ambiguous in model_params.multi_node.llama3_1_8b: mi300x or MI300."
    assert planned(config, training_gpu="MI300")["gpu"] == "MI300"


@pytest.mark.parametrize(
    ("path", "value", "key", "message"),
    [
        ("model_params", {}, "training_mode", "The file has no model_params.multi_node."),
        ("model_params", "abc", "model_params", "model_params is 'abc', not an object."),
        ("model_params/multi_node", [], "model_params.multi_node", "multi_node is a list, not an object."),
        ("model_params/multi_node", {}, "training_model", "model_params.multi_node is empty."),
        (
            "model_params/multi_node/llama3_1_8b",
            None,
            "model_params.multi_node.llama3_1_8b",
            "llama3_1_8b is null, not an object.",
        ),
        (
            "model_params/multi_node/llama3_1_8b",
            {},
            "training_gpu",
            "model_params.multi_node.llama3_1_8b is empty.",
        ),
        (
            "model_params/multi_node/llama3_1_8b/mi300x",
            7,
            "model_params.multi_node.llama3_1_8b.mi300x",
            "mi300x is 7, not an object.",
        ),
    ],
)
def test_branches_that_are_none(path: str, value: object, key: str, message: str) -> None:
    fault = only(planned(filled(DISTRIBUTED, {path: value}))["faults"])
    assert (fault["key"], fault["message"]) == (key, message)


def test_names_that_would_be_no_folder_are_a_fault() -> None:
    config = filled(DISTRIBUTED)
    models = config["model_params"]["multi_node"]
    models["llama 3;x"] = models.pop("llama3_1_8b")
    fault = only(planned(config, training_model="llama 3;x")["faults"])
    assert fault["key"] == 'model_params.multi_node["llama 3;x"].mi300x'
    assert fault["value"] == "llama 3;x"
    assert "folder names" in fault["message"]


@pytest.mark.parametrize(
    ("asked", "distributed", "hosts", "mode"),
    [
        ("auto", "True", 1, "multi_node"),
        ("auto", "False", 4, "single_node"),
        ("auto", None, 4, "multi_node"),
        ("auto", None, 1, "single_node"),
        ("auto", "<changeme>", 4, "multi_node"),
        ("single_node", "True", 4, "single_node"),
        ("multi_node", "False", 1, "multi_node"),
    ],
)
def test_the_mode_of_a_file_that_has_both(asked: str, distributed: str | None, hosts: int, mode: str) -> None:
    config = filled(DISTRIBUTED, {"config/nnodes": str(hosts), "config/distributed_training": distributed})
    config["model_params"]["single_node"] = config["model_params"]["multi_node"]
    plan = planned(config, hosts, training_mode=asked)
    if distributed == "<changeme>":
        assert keys(plan["faults"]) == ["config.distributed_training"]
        assert planned(config, hosts, training_mode=mode)["faults"] == []
    else:
        assert (plan["faults"], plan["mode"]) == ([], mode)


def test_a_file_with_one_mode_decides_by_itself() -> None:
    assert planned(filled(SINGLE))["mode"] == "single_node"
    one_host = {"config/nnodes": "1", "config/distributed_training": None}
    assert planned(filled(DISTRIBUTED, one_host), 1)["mode"] == "multi_node"
    assert planned(filled(DISTRIBUTED, {"config/nnodes": "1"}), 1)["mode"] == "multi_node"


def test_what_stands_in_other_branches_does_not_matter() -> None:
    other = {"tokenizer_model": "<changeme>", "batch_size": "x", "unheard_of": 1}
    config = filled(DISTRIBUTED, {"model_params/multi_node/llama3_1_70b/mi300x": other})
    assert planned(config)["faults"] == []
    assert planned(config, training_model="llama3_1_70b")["faults"] != []


def test_an_unknown_mode_in_the_file_is_a_fault() -> None:
    fault = only(planned(filled(DISTRIBUTED, {"model_params/multinode": {}}))["faults"])
    assert (fault["key"], fault["remedy"][:24]) == ("model_params.multinode", "Did you mean multi_node?")
