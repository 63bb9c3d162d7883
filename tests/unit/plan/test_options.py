from __future__ import annotations

import typing as t

import pytest
from training_configs import DISTRIBUTED, filled, keys, only, planned

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan import options
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.findings import Findings
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.model import typed
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.options import RunOptions
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.options import PlanOptions
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.trainers.known import TRAINERS
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.trainers.nxdt.trainer import Nxdt


def test_strings_of_extra_variables_and_surveys_will_do() -> None:
    findings = Findings()
    given = {
        "training_framework": "Megatron",
        "training_mode": "MULTI_NODE",
        "training_model": " llama3_1_8b ",
        "training_gpus_per_node": "4",
        "training_record_only": "true",
        "training_rank_order": "a, b",
        "training_exclude": "c",
        "training_master_port": "6001",
        "training_run_id": "night-1",
    }
    options = typed(PlanOptions, given, "", findings)
    assert not findings.faults
    assert options.training_framework == "megatron"
    assert options.training_mode == "multi_node"
    assert options.training_model == "llama3_1_8b"
    assert options.training_gpus_per_node == 4
    assert options.training_record_only is True
    assert options.training_rank_order == ["a", "b"]
    assert options.training_exclude == ["c"]
    assert options.training_master_port == 6001
    assert options.training_unknown_keys == "fault"


def test_empty_lists_and_texts_are_as_if_not_given() -> None:
    findings = Findings()
    given = {"training_rank_order": "", "training_exclude": [], "training_run_id": "", "training_megatron_root": ""}
    given["training_master_port"] = ""
    options = typed(PlanOptions, given, "", findings)
    assert not findings.faults
    assert (options.training_rank_order, options.training_exclude) == ([], [])
    assert options.training_master_port is None


@pytest.mark.parametrize(("port", "is_known"), [(0, False), (1, True), (65535, True), (65536, False)])
def test_a_port_is_one_that_there_is(port: int, is_known: bool) -> None:
    findings = Findings()
    options = typed(PlanOptions, {"training_master_port": port}, "", findings)
    assert (options.training_master_port == port, not findings.faults) == (is_known, is_known)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("training_framework", "pytorch"),
        ("training_mode", "both"),
        ("training_model", ["llama"]),
        ("training_gpu", {}),
        ("training_gpus_per_node", "eight"),
        ("training_gpus_per_node", 0),
        ("training_unknown_keys", "ignore"),
        ("training_record_only", "perhaps"),
        ("training_rank_order", 7),
        ("training_rank_order", ["a;b"]),
        ("training_exclude", {"a": 1}),
        ("training_master_port", "70000"),
        ("training_megatron_root", "relative/path"),
        ("training_run_id", "a b"),
        ("training_run_id", "../../etc"),
        ("container_engine", "lxc"),
    ],
)
def test_a_wrong_option_is_a_fault_of_its_own_and_hides_none_of_the_config(name: str, value: t.Any) -> None:
    plan = planned(filled(DISTRIBUTED, {"config/training_iterations": "x"}), **{name: value})
    assert plan["nodes"] == []
    assert name in keys(plan["faults"])
    found = next(fault for fault in plan["faults"] if fault["key"] == name)
    assert found["value"] == value
    assert found["message"].startswith(f"{name} is ")
    if name != "training_framework":
        assert "config.training_iterations" in keys(plan["faults"])


def test_an_option_that_does_not_exist_is_a_fault() -> None:
    fault = only(planned(filled(DISTRIBUTED), training_gpus="8")["faults"])
    assert fault["key"] == "training_gpus"
    assert "training_gpu" in fault["remedy"]


def test_the_mode_is_chosen_anew_where_it_is_wrong() -> None:
    assert keys(planned(filled(DISTRIBUTED), training_mode="both")["faults"]) == ["training_mode"]


def test_a_framework_may_have_no_options_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    class Plain(Nxdt):
        options = RunOptions

    monkeypatch.setitem(TRAINERS, "plain", Plain())
    assert set(options._with_own_options().model_fields) == set(PlanOptions.model_fields)
