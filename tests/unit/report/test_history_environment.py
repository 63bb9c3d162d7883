# SPDX-License-Identifier: GPL-3.0-or-later
"""The differences between the inputs of two runs."""

from __future__ import annotations

from history_runs import plan_of, statuses_of

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.history_row import (
    changes,
    environment_of,
    setting_of,
)


def given(plan, image_id="sha256:one"):
    return environment_of(plan, statuses_of(plan, image_id))


def test_two_runs_of_the_same_differ_in_nothing():
    assert changes(given(plan_of("a")), given(plan_of("another-run"))) == []


def test_added_removed_and_changed_are_told_by_name():
    before = given(plan_of("a", env={"NCCL_DEBUG": "WARN", "GONE": "1"}))
    after = given(plan_of("b", env={"NCCL_DEBUG": "INFO", "NEW": "2"}), "sha256:two")
    assert [
        (change["name"], change["kind"], change["before"], change["after"]) for change in changes(before, after)
    ] == [
        ("GONE", "removed", "1", None),
        ("NCCL_DEBUG", "changed", "WARN", "INFO"),
        ("NEW", "added", None, "2"),
        ("image digest", "changed", "sha256:one", "sha256:two"),
    ]


def test_what_differs_from_node_to_node_is_folded_into_its_places():
    plans = [plan_of(name, nodes=4) for name in "ab"]
    for place in (1, 3):
        plans[1]["nodes"][place]["env"]["HSA_X"] = "1"
    plans[1]["nodes"][2]["working_dir"] = "/elsewhere"
    found = changes(*map(given, plans))
    assert [(change["name"], change["kind"], change["places"]) for change in found] == [
        ("HSA_X", "added", [1, 3]),
        ("working_dir", "changed", [2]),
    ]
    settings = [setting_of(change) for change in found]
    assert [(one["code"], one["case"]) for one in settings] == [
        ("setting", "added_in_places"),
        ("setting", "changed_in_place"),
    ]
    assert settings[0]["values"] == {"name": "HSA_X", "before": None, "after": "1", "places": [1, 3]}


def test_runs_of_another_number_of_nodes_are_compared_in_what_their_nodes_share():
    before = given(plan_of("a", nodes=2, env={"X": "1"}))
    after = given(plan_of("b", nodes=4, env={"X": "2"}))
    (change,) = changes(before, after)
    assert (setting_of(change)["case"], change["before"], change["after"]) == ("changed", "1", "2")


def test_secrets_are_masked_by_their_name_and_by_their_look():
    environment = given(plan_of("a", env={"HF_TOKEN": "hf_abcdefghijkl0123", "OTHER": "see hf_abcdefghijkl0123"}))
    assert environment["HF_TOKEN"] == "(hidden)"
    assert environment["OTHER"] == "see hf_(hidden)"
    assert "hf_abcdefghijkl0123" not in str(environment)


def test_an_argument_that_says_what_a_variable_says_is_told_once():
    environment = given(plan_of("a"))
    assert environment["command"] == '["bash", "train.sh"]'
    assert "NODE_RANK" not in environment
