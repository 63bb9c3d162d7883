# SPDX-License-Identifier: GPL-3.0-or-later
"""Which probes are done, given what the nodes have."""

from __future__ import annotations

import typing as t

from ansible_collections.trainops.cluster.plugins.plugin_utils.isolate.choice import (
    BUILT_IN,
    Chosen,
    chosen,
    looked_for,
)


def here(lacks: str = "", *units: str) -> dict[str, t.Any]:
    return {"lacks": lacks, "units": list(units)}


def everything(_choice: Chosen) -> bool:
    return True


def test_without_names_all_is_looked_for_but_not_in_a_rehearsal() -> None:
    assert {"torch", "nccl_tests", "ib_write_bw", "torch_pairs"} <= set(looked_for([], rehearsal=False))
    assert "nccl_tests_pairs" not in looked_for([], rehearsal=False)
    assert looked_for([], rehearsal=True) == []
    assert looked_for(["cpu", "nccl_tests_pairs"], rehearsal=True) == ["nccl_tests_pairs"]


def test_what_all_nodes_have_is_done_and_what_some_lack_is_left_out_with_the_reason() -> None:
    found = {
        "a": {"torch": here(), "nccl_tests": here("no GPUs"), "ib_write_bw": here()},
        "b": {"torch": here(), "nccl_tests": here("no GPUs"), "ib_write_bw": here("perftest is not installed")},
    }
    choice, notes = chosen([], found, everything)
    assert choice.names == (*BUILT_IN.names, "torch")
    (note,) = notes
    assert "ib_write_bw" in note
    assert "b: perftest" in note


def test_what_the_budget_does_not_allow_is_left_out_and_named() -> None:
    found = {"a": {"torch": here(), "nccl_tests": here()}}
    choice, notes = chosen([], found, lambda choice: "torch" not in choice.names)
    assert choice.names == (*BUILT_IN.names, "nccl_tests")
    assert "isolate_budget" in notes[0]


def test_what_is_named_is_done_by_all_whatever_they_lack() -> None:
    choice, notes = chosen(["nccl_tests"], {"a": {"nccl_tests": here("no GPUs")}}, everything)
    assert (choice.names, notes) == (("nccl_tests",), [])
    assert choice.cost().pair == 0


def test_an_adapter_that_a_node_lacks_is_measured_and_one_that_only_it_has_is_not() -> None:
    found = {
        "a": {"ib_write_bw": here("", "mlx5_0", "mlx5_1")},
        "b": {"ib_write_bw": here("", "mlx5_0")},
        "c": {"ib_write_bw": here("", "mlx5_0", "mlx5_1", "mlx5_9")},
    }
    choice, _notes = chosen([], found, everything)
    assert choice.units["ib_write_bw"] == ["mlx5_0", "mlx5_1"]
    assert choice.cost().pair > Chosen((*BUILT_IN.names, "ib_write_bw"), {"ib_write_bw": ["mlx5_0"]}).cost().pair
