from __future__ import annotations

import pytest
from training_configs import BRANCH, DISTRIBUTED, REMOVED, example, filled, keys, only, planned

RESULTS = f"{BRANCH}/result_dict"
RESULTS_KEY = f"{BRANCH.replace('/', '.')}.result_dict"


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("throughput_per_gpu", "610.0", {"metric": "tflops_per_gpu", "kind": "min", "value": 610.0}),
        ("tflops_per_gpu", 610, {"metric": "tflops_per_gpu", "kind": "min", "value": 610.0}),
        ("tokens_per_gpu", "1.2e4", {"metric": "tokens_per_sec_per_gpu", "kind": "min", "value": 12000.0}),
        ("tokens_per_sec_per_gpu", "1", {"metric": "tokens_per_sec_per_gpu", "kind": "min", "value": 1.0}),
        ("elapsed_time_per_iteration", "12000.0", {"metric": "step_time_ms", "kind": "max", "value": 12000.0}),
        ("step_time_ms", "12000.0", {"metric": "step_time_ms", "kind": "max", "value": 12000.0}),
        ("mem_usage", "0.9", {"metric": "memory_fraction", "kind": "max", "value": 0.9}),
        ("memory_fraction", "0.9", {"metric": "memory_fraction", "kind": "max", "value": 0.9}),
        ("loss", "4.5", {"metric": "loss", "kind": "max", "value": 4.5}),
    ],
)
def test_each_threshold_has_its_metric_and_its_direction(key: str, value: object, expected: dict[str, object]) -> None:
    plan = planned(filled(DISTRIBUTED, {RESULTS: {key: value, "_example": "5"}}))
    assert (plan["faults"], plan["expected"]) == ([], [expected])


@pytest.mark.parametrize("value", [REMOVED, {}, {"_example_tokens_per_gpu": "1"}, {"loss": None}])
def test_a_run_without_thresholds_is_recorded_and_says_so_once_and_loudly(value: object) -> None:
    plan = planned(filled(DISTRIBUTED, {RESULTS: value}))
    assert (plan["faults"], plan["expected"], plan["record_only"]) == ([], [], True)
    assert len(plan["nodes"]) == 4
    warning = only([found for found in plan["warnings"] if "threshold" in found["message"].lower()])
    assert (warning["key"], warning["message"][:24]) == (RESULTS_KEY, "NO THRESHOLD IS SET: the")


def test_a_wrong_threshold_is_no_missing_one() -> None:
    plan = planned(filled(DISTRIBUTED, {RESULTS: {"tokens_per_gpu": "fast"}}))
    assert keys(plan["faults"]) == [f"{RESULTS_KEY}.tokens_per_gpu"]
    assert "NO THRESHOLD" not in str(plan["warnings"])


@pytest.mark.parametrize("value", [REMOVED, {}, {"tokens_per_gpu": "<changeme>"}, {"tokens_per_gpu": "fast"}])
def test_to_record_only_none_are_needed_and_none_are_read(value: object) -> None:
    plan = planned(filled(DISTRIBUTED, {RESULTS: value}), training_record_only="true")
    assert (plan["faults"], plan["expected"], plan["record_only"]) == ([], [], True)
    assert len(plan["nodes"]) == 4


def test_thresholds_to_be_filled_in_are_faults() -> None:
    config = filled(
        DISTRIBUTED,
        {RESULTS: example(DISTRIBUTED)["model_params"]["multi_node"]["llama3_1_8b"]["mi300x"]["result_dict"]},
    )
    faults = planned(config)["faults"]
    assert keys(faults) == [f"{RESULTS_KEY}.throughput_per_gpu", f"{RESULTS_KEY}.tokens_per_gpu"]
    assert faults[1]["message"] == "tokens_per_gpu still contains <changeme>."


def test_a_memory_fraction_in_percent_would_never_fail_and_is_a_fault() -> None:
    fault = only(planned(filled(DISTRIBUTED, {f"{RESULTS}/mem_usage": "85"}))["faults"])
    assert fault["message"] == "mem_usage is '85', which is too large."
    assert "at most 1 (fraction of the whole, 0 to 1)" in fault["remedy"]


def test_two_names_of_a_metric_with_two_values_are_a_fault() -> None:
    fault = only(
        planned(filled(DISTRIBUTED, {RESULTS: {"tokens_per_gpu": "1", "tokens_per_sec_per_gpu": "2"}}))["faults"]
    )
    assert fault["key"] == f"{RESULTS_KEY}.tokens_per_sec_per_gpu"
    assert fault["message"] == "tokens_per_sec_per_gpu is 2, but another key for the same metric is 1."


def test_two_names_of_a_metric_with_one_value_are_one_threshold() -> None:
    plan = planned(filled(DISTRIBUTED, {RESULTS: {"tokens_per_gpu": "1", "tokens_per_sec_per_gpu": 1}}))
    assert len(plan["expected"]) == 1
