from __future__ import annotations

import pytest
from training_configs import BRANCH, DISTRIBUTED, SINGLE_MI35X, filled, keys, only, planned

KEY = BRANCH.replace("/", ".")


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("tensor_parallelism", "8", "the training script silently sets it to 1"),
        ("pipeline_parallelism", 2, "PyTorch's FSDP2 has no pipeline stages"),
    ],
)
def test_fsdp_goes_with_no_other_parallelism(key: str, value: object, reason: str) -> None:
    fault = only(planned(filled(DISTRIBUTED, {f"{BRANCH}/fsdp": "1", f"{BRANCH}/{key}": value}))["faults"])
    assert (fault["key"], fault["value"]) == (f"{KEY}.{key}", int(str(value)))
    assert fault["message"] == f"{key} {value} does not work with fsdp: {reason}."
    assert fault["remedy"] == f"Set {key} to 1, or fsdp to 0."


def test_sizes_are_those_of_the_whole_job_in_multi_node_mode_and_of_a_node_in_single_node_mode() -> None:
    batch = {f"{BRANCH}/batch_size": "16"}
    assert keys(planned(filled(DISTRIBUTED, batch))["faults"]) == [f"{KEY}.batch_size"]
    config = filled(SINGLE_MI35X)
    config["model_params"]["single_node"]["llama3_1_8b"]["mi350"]["batch_size"] = "32"
    assert planned(config, training_gpu="mi350")["faults"] == []


@pytest.mark.parametrize(("gpus", "fits"), [("8", True), (4, True), ("6", False)])
def test_gpus_per_node_can_be_given(gpus: object, fits: bool) -> None:
    plan = planned(filled(DISTRIBUTED), training_gpus_per_node=gpus)
    assert (not plan["faults"]) is fits


def test_every_size_that_does_not_divide_is_told_at_once() -> None:
    changes = {
        f"{BRANCH}/tensor_parallelism": "3",
        f"{BRANCH}/pipeline_parallelism": "5",
        f"{BRANCH}/batch_size": "127",
        f"{BRANCH}/sequence_length": "8191",
    }
    found = planned(filled(DISTRIBUTED, changes))["faults"]
    assert keys(found) == [
        f"{KEY}.tensor_parallelism",
        f"{KEY}.batch_size",
        f"{KEY}.sequence_length",
        f"{KEY}.tensor_parallelism",
        f"{KEY}.pipeline_parallelism",
    ]
    assert [fault["value"] for fault in found] == [3, 127, 8191, 3, 5]


@pytest.mark.parametrize("wrong", ["tensor_parallelism", "micro_batch_size", "model_size", "tokenizer_model", "fsdp"])
def test_a_value_of_the_wrong_type_does_not_hide_what_does_not_depend_on_it(wrong: str) -> None:
    changes = {f"{BRANCH}/{wrong}": [], f"{BRANCH}/pipeline_parallelism": "5", f"{BRANCH}/batch_size": "127"}
    found = keys(planned(filled(DISTRIBUTED, changes))["faults"])
    assert found[0] == f"{KEY}.{wrong}"
    # The layers follow from the model's size; the batch has to be a multiple of the micro batch in any case.
    assert (f"{KEY}.pipeline_parallelism" in found) is (wrong != "model_size")
    assert (f"{KEY}.batch_size" in found) is (wrong != "micro_batch_size")


def test_a_size_that_the_models_name_contradicts_is_a_warning() -> None:
    plan = planned(filled(DISTRIBUTED, {f"{BRANCH}/model_size": "70"}))
    assert plan["faults"] == []
    assert only([warning for warning in plan["warnings"] if warning["key"] == f"{KEY}.model_size"]) == {
        "key": f"{KEY}.model_size",
        "value": "70",
        "message": "The model is named llama3_1_8b, but its size is 70.",
        "remedy": "Check whether 8 is meant.",
    }
