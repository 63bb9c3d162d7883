# SPDX-License-Identifier: GPL-3.0-or-later
"""The choice of probes, given the nodes' facts."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.choice import (
    BUILT_IN,
    Chosen,
    chosen,
    looked_for,
    unable,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.planned import PlanError


def here(lacks: str = "", *units: str) -> dict[str, t.Any]:
    return {"lacks": lacks, "units": list(units)}


def everything(_choice: Chosen) -> bool:
    return True


def test_without_names_all_is_looked_for_but_not_in_a_rehearsal() -> None:
    assert {"torch", "nccl_tests", "ib_write_bw", "torch_pairs"} <= set(looked_for([], rehearsal=False))
    assert "nccl_tests_pairs" not in looked_for([], rehearsal=False)
    assert looked_for([], rehearsal=True) == []
    assert looked_for(["cpu", "nccl_tests_pairs"], rehearsal=True) == ["nccl_tests_pairs"]


def test_what_all_nodes_have_is_done_and_what_any_lacks_is_left_out_with_the_reason() -> None:
    found = {
        "a": {"torch": here(), "nccl_tests": here("no GPUs"), "torch_pairs": here()},
        "b": {"torch": here(), "nccl_tests": here("no GPUs"), "torch_pairs": here("PyTorch is not installed")},
    }
    choice, notes = chosen([], list(found["a"]), found, everything)
    assert choice.names == (*BUILT_IN.names, "torch")
    none, some = sorted(notes)
    assert "nccl_tests" in none
    assert "no node can do it: a and 1 more: no GPUs" in none
    assert "torch_pairs" in some
    assert "b: PyTorch" in some


def test_what_the_budget_does_not_allow_is_left_out_and_named() -> None:
    found = {"a": {"torch": here(), "nccl_tests": here()}}
    choice, notes = chosen([], ["torch", "nccl_tests"], found, lambda choice: "torch" not in choice.names)
    assert choice.names == (*BUILT_IN.names, "nccl_tests")
    assert "isolate_budget" in notes[0]


def test_the_probe_that_proves_least_for_its_minutes_is_left_out_first() -> None:
    asked = ["torch_groups", "torch_pairs", "nccl_tests", "ib_write_bw", "torch"]
    found = {"a": {name: here("", *(["mlx5_0", "mlx5_1"] if name == "ib_write_bw" else [])) for name in asked}}
    for room, kept in ((3, ["torch"]), (4, ["torch", "ib_write_bw"]), (6, asked[:0:-1])):
        choice, notes = chosen([], asked, found, lambda choice, room=room: len(choice.names) <= room + 1)
        left = [note.split()[0] for note in notes if "is skipped" in note]
        assert (set(choice.names) - {*BUILT_IN.names}, left[-1]) == ({*kept}, "torch_groups")


def test_what_is_named_is_done_if_any_node_can_and_refused_with_the_reason_if_none_can() -> None:
    found = {"a": {"nccl_tests": here("no GPUs")}, "b": {"nccl_tests": here()}}
    choice, notes = chosen(["nccl_tests"], ["nccl_tests"], found, everything)
    assert (choice.names, notes) == (("nccl_tests",), [])
    assert choice.cost().pair == 0
    assert unable(["cpu", "nccl_tests"], found) == {"a": "nccl_tests: no GPUs"}
    with pytest.raises(PlanError, match=r"isolate_probes contains nccl_tests.*a: no GPUs"):
        chosen(["nccl_tests"], ["nccl_tests"], {"a": found["a"]}, everything)


def test_without_an_adapter_that_half_of_the_nodes_have_ib_write_bw_is_refused_or_left_out() -> None:
    found = {name: {"ib_write_bw": here("", f"mlx5_{name}")} for name in "abc"}
    with pytest.raises(PlanError, match=r"ib_write_bw.*same name"):
        chosen(["ib_write_bw"], ["ib_write_bw"], found, everything)
    choice, (note,) = chosen([], ["ib_write_bw"], found, everything)
    assert choice == BUILT_IN
    assert "same name" in note


def test_a_node_that_says_nothing_of_a_probe_lacks_it_and_one_that_says_more_changes_nothing() -> None:
    found: dict[str, t.Any] = {"a": {"torch": here()}, "b": {"unknown": here()}}
    choice, (note,) = chosen([], ["torch"], found, everything)
    assert choice == BUILT_IN
    assert "b: it said nothing" in note
    assert set(unable(["torch"], found)) == {"b"}


def test_an_adapter_that_a_node_lacks_is_measured_and_one_that_only_it_has_is_not() -> None:
    found = {
        "a": {"ib_write_bw": here("", "mlx5_0", "mlx5_1")},
        "b": {"ib_write_bw": here("", "mlx5_0")},
        "c": {"ib_write_bw": here("", "mlx5_0", "mlx5_1", "mlx5_9")},
    }
    choice, _notes = chosen([], ["ib_write_bw"], found, everything)
    assert choice.units["ib_write_bw"] == ["mlx5_0", "mlx5_1"]
    assert choice.cost().pair > Chosen((*BUILT_IN.names, "ib_write_bw"), {"ib_write_bw": ["mlx5_0"]}).cost().pair


@pytest.mark.parametrize(("nccl_tests", "names"), [("", ("nccl_tests",)), ("no programs", ("torch_node",))])
def test_the_gpus_of_a_node_reduce_with_pytorch_only_where_nccl_tests_is_not(nccl_tests, names) -> None:
    found = {"a": {"nccl_tests": here(nccl_tests), "torch_node": here()}}
    asked = ["torch_node", "nccl_tests"]
    assert chosen([], asked, found, everything)[0].names == (*BUILT_IN.names, *names)
    assert chosen(asked, asked, {"a": dict.fromkeys(asked, here())}, everything)[0].names == tuple(asked)


def test_groups_over_tcp_are_done_only_where_those_of_gpus_cannot_be_and_the_budget_allows_it() -> None:
    has, has_not = {"a": {"torch_groups": here()}}, {"a": {"torch_groups": here("no PyTorch")}}
    assert chosen([], ["torch_groups"], has, everything)[0].names == (*BUILT_IN.names, "torch_groups")
    assert chosen([], ["torch_groups"], has_not, everything)[0].names == (*BUILT_IN.names, "tcp_groups")
    assert chosen([], ["torch_groups"], has_not, lambda _choice: False)[0] == BUILT_IN
    assert chosen([], ["torch_groups"], has, lambda choice: "torch_groups" not in choice.names)[0] == BUILT_IN
    # In a rehearsal, and if probes are named, nobody asks for more.
    assert chosen([], [], {}, everything)[0] == BUILT_IN
    assert chosen(["cpu"], [], {}, everything)[0].names == ("cpu",)
    assert Chosen(("tcp_groups",)).cost().group > 0
