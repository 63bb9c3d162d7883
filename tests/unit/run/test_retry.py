"""Runs that are tried again: which ones, on which hosts, and under which name."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.logs.failure_classes import BLAME
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.retry import (
    NODE_FAULTS,
    beginning_of,
    faults_of,
    next_attempt,
    node_faults,
    why_not_again,
    without,
)

OF_THE_END = {"not_ready", "bad_answer", "unreachable", "rebooted", "engine_stopped", "container_removed"}


def summary(failure: str, message: str = "it broke", *echoes: tuple[str, str]) -> t.Any:
    found = [{"node": node, "class": name, "message": "so it was"} for node, name in echoes]
    return {
        "verdict": "FAIL",
        "first_failure": {"node": "b", "class": failure, "message": message, "echoes": found},
    }


def plan(*nodes: str, **more: t.Any) -> t.Any:
    return {"run_id": "r", "mode": "multi_node", "nodes": [{"node": node} for node in nodes], "faults": [], **more}


def test_every_fault_of_a_node_is_a_class_that_a_log_or_an_end_can_have() -> None:
    assert BLAME.keys() >= NODE_FAULTS - OF_THE_END


@pytest.mark.parametrize(
    ("told", "faulty"),
    [
        (summary("gpu_ecc"), ["b"]),
        (summary("unreachable", "", ("c", "unreachable"), ("a", "nccl")), ["b", "c"]),
        (summary("gpu_hang", "", ("a", "killed")), ["b"]),
        (summary("killed", "The training was killed (SIGKILL)."), ["b"]),
        *(
            (summary(name), [])
            for name in ("host_memory", "out_of_memory", "nan", "sizes", "nccl", "stalled", "exit_status")
        ),
        ({"verdict": "PASS", "first_failure": None}, []),
        ({"verdict": "FAIL", "first_failure": None}, []),
    ],
)
def test_only_what_another_node_would_not_have_is_a_fault_of_a_node(told: t.Any, faulty: list[str]) -> None:
    assert sorted(node_faults(told)) == faulty
    faults = faults_of(told)
    assert {node: one["message"] for node, one in faults.items()} == node_faults(told)
    assert {one["code"] for one in faults.values()} <= NODE_FAULTS


@pytest.mark.parametrize(
    ("of", "retries", "interrupted", "told"),
    [
        (plan("a", "b"), 1, False, None),
        (plan("a", "b"), 0, False, "training_retries is 0"),
        (plan("a", "b", retry={"attempt": 2}), 1, False, "training_retries is 1"),
        (plan("a", "b", retry={"attempt": 2}), 2, False, None),
        (plan("a", "b"), 1, True, "it was stopped"),
        (plan("a", "b", mode="single_node"), 1, False, "its nodes train separately"),
    ],
)
def test_a_run_is_tried_again_as_often_as_asked(of: t.Any, retries: int, interrupted: bool, told: str | None) -> None:
    assert why_not_again(of, summary("gpu_hang"), retries, interrupted) == told


def test_a_run_without_a_failure_of_a_node_is_not_tried_again() -> None:
    judged: t.Any = {"verdict": "FAIL", "first_failure": None}
    assert why_not_again(plan("a", "b"), judged, 1, interrupted=False) == "none of its nodes is known to have failed"


@pytest.mark.parametrize(
    ("out", "spares", "hosts", "taken"),
    [
        ({"b"}, ["s", "t"], ["a", "s", "c"], {"b": "s"}),
        ({"a", "b"}, ["s"], ["s", "c"], {"a": "s", "b": None}),
        ({"b", "s"}, ["s", "t"], ["a", "t", "c"], {"b": "t"}),
        ({"b"}, ["a"], ["a", "c"], {"b": None}),
        ({"x"}, ["s"], ["a", "b", "c"], {}),
    ],
)
def test_a_spare_takes_the_very_place_of_a_node(out: set, spares: list, hosts: list, taken: dict) -> None:
    assert without(["a", "b", "c"], out, spares) == (hosts, taken)


def test_the_next_attempt_is_the_largest_that_can_be_planned_and_remembers_those_before() -> None:
    asked: list[tuple[str, list[str]]] = []

    def make(run_id: str, hosts: list[str]) -> t.Any:
        asked.append((run_id, hosts))
        faults = [{"message": "The batch does not divide."}] if len(hosts) % 2 else []
        return plan(*hosts, run_id=run_id, faults=faults, checkpoints="/ckpt")

    second = next_attempt(plan("a", "b", "c", "d"), {"b": "gpu_ecc: x"}, [], make)
    assert asked == [("r-2", ["a", "c", "d"]), ("r-2", ["a", "c"])]
    third = next_attempt(second, {"b": "gpu_ecc: x", "c": "killed: y"}, ["s"], make)
    assert asked[2:] == [("r-3", ["a", "s"])]
    retry = third["retry"]
    assert (retry["attempt"], retry["first"], retry["before"]) == (3, "r", "r-2")
    assert (retry["nodes"], retry["nodes_of_first"]) == (2, 4)
    assert beginning_of(retry, None, 1) == "may_resume_on_fewer_nodes"
    assert beginning_of(retry, 21, 1) == "resumed_on_fewer_nodes"
    assert beginning_of({**retry, "nodes": 4}, 1, 1) == "no_checkpoint_found"
    assert beginning_of({**retry, "checkpoints": None}, 1, 1) == "no_checkpoints_on_fewer_nodes"


def test_a_run_that_can_be_planned_on_no_size_says_why() -> None:
    def make(_run_id: str, hosts: list[str]) -> t.Any:
        return plan(*hosts, faults=[{"message": f"{len(hosts)} nodes are too few."}])

    with pytest.raises(ValueError, match="without b it cannot be planned on the remaining 2 nodes: 2 nodes"):
        next_attempt(plan("a", "b", "c"), {"b": "x"}, [], make)
