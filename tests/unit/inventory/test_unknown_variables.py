"""Names of variables that nothing reads, and the variables that the user probably meant."""

from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.inventory.unknown_variables import (
    ignored_variables,
    misspelled_variables,
    unknown_variables,
)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("training_rehersal", "Did you mean training_rehearsal?"),
        ("training_modle", "Did you mean training_model?"),
        ("training_mdoe", "Did you mean training_mode?"),
        ("training_run_di", "Did you mean training_run_id?"),
        ("training_run", "Did you mean training_run_id?"),
        ("training_require_passed", "Did you mean training_require_pass?"),
        ("report_warmup_step", "Did you mean report_warmup_steps?"),
        ("node_prep_netwok", "Did you mean node_prep_network?"),
        ("training_zzz", "Remove it. To change a key of the training config, set training_overrides."),
    ],
)
def test_a_misspelled_name_is_found_with_the_nearest_one(name: str, remedy: str) -> None:
    [found] = unknown_variables({"gpu1": ["ansible_host", name, "training_config"]})
    assert (found["key"], found["remedy"]) == (name, remedy)
    assert found["message"] == "The variable does not exist."


def test_one_that_only_some_hosts_have_is_one_finding_with_their_names() -> None:
    hosts = {f"gpu{n:03}": ["training_addres"] if n > 60 else ["training_address"] for n in range(1, 65)}
    [found] = unknown_variables(hosts)
    assert found["message"] == "The variable does not exist (on gpu[061-064])."
    assert found["remedy"] == "Did you mean training_address?"


@pytest.mark.parametrize(
    "name", ["training_planned", "training_swept", "report_written", "node_prep_seen", "training_cell", "trainings"]
)
def test_what_roles_and_playbooks_register_themselves_is_known(name: str) -> None:
    assert unknown_variables({"gpu1": [name]}) == []


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("traning_run_id", "training_run_id"),
        ("container_engin", "container_engine"),
        ("contaner_profile", "container_profile"),
        ("ansible_hots", "ansible_host"),
        ("ansible_python_interpeter", "ansible_python_interpreter"),
    ],
)
def test_a_typo_outside_of_the_prefixes_has_the_name_that_is_meant(name: str, meant: str) -> None:
    [found] = misspelled_variables({"gpu1": ["ansible_host", name], "gpu2": ["ansible_host"]})
    assert (found["key"], found["remedy"]) == (name, f"Did you mean {meant}?")
    assert "gpu1" in found["message"]


def test_variables_of_others_and_what_ansible_sets_are_no_typos() -> None:
    names = [
        "my_port",
        "cluster",
        "ansible_hostname",
        "ansible_facts",
        "ansible_version",
        "ansible_play_hosts",
        "groups",
    ]
    assert misspelled_variables({"gpu1": [*names, "ansible_host", "container_engine", "training_zzz"]}) == []


@pytest.mark.parametrize("value", [False, "false", "no"])
@pytest.mark.parametrize("rest", ["require_nodes", "require_pass"])
def test_a_variable_of_the_report_that_the_training_does_not_read_is_a_fault_with_the_one_that_it_reads(
    rest: str, value: object
) -> None:
    [found] = ignored_variables({f"report_{rest}": value, f"training_{rest}": True})
    assert (found["key"], f"training_{rest}" in found["remedy"]) == (f"report_{rest}", True)


def test_a_variable_of_the_report_that_agrees_with_that_of_the_training_is_none() -> None:
    assert ignored_variables({"report_require_nodes": True, "training_require_nodes": False}) == []
    assert ignored_variables({"report_require_pass": False, "training_require_pass": "false"}) == []
    assert ignored_variables({}) == []
