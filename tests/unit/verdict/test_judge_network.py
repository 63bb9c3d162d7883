# SPDX-License-Identifier: GPL-3.0-or-later
"""Over which network a job ran, and whether its nodes trained together."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from training_logs import ALL, OVER, SILENT, WORKLOAD, Node, judged, lines, plan_of

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.judge_network import judge_transport, judge_world
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.reasons import Reasons

RDMA = {"NCCL_IB_HCA": "bnxt_re0", "NCCL_DEBUG": "INFO"}


def plan(env: dict[str, str] | None = None, **changes: t.Any) -> dict[str, t.Any]:
    made = plan_of(["gpu00", "gpu01"], workload=WORKLOAD, **changes)
    for node in made["nodes"]:
        node["env"] = env or {}
    return made


def statuses(**by_node: t.Any) -> list[dict[str, t.Any]]:
    return [{"node": node, **found} for node, found in by_node.items()]


def told(reasons: Reasons) -> list[tuple[str, str | None]]:
    return [(reason["code"], reason.get("node")) for reason in reasons.decisive() + reasons.notes()]


@pytest.mark.parametrize(
    ("env", "networks_by_node", "verdict", "expected"),
    [
        (RDMA, (["NET/IB"], ["NET/IB"]), "PASS", [("transport", None)]),
        (RDMA, (["NET/OFI"], ["NET/OFI"]), "PASS", [("transport", None)]),
        (RDMA, (["NET/IB"], []), "INCONCLUSIVE", [("transport_unknown", "gpu01")]),
        (RDMA, (["NET/IB"], ["NET/Socket"]), "FAIL", [("tcp_transport", "gpu01")]),
        (RDMA, (["NET/IB", "NET/Socket"], ["NET/IB"]), "FAIL", [("tcp_transport", "gpu00")]),
        (RDMA, ([], []), "INCONCLUSIVE", [("transport_unknown", None)]),
        ({**RDMA, "NCCL_DEBUG": "WARN"}, ([], None), "INCONCLUSIVE", [("transport_unknown", None)]),
        ({"NCCL_IB_HCA": "a"}, ([], []), "INCONCLUSIVE", [("transport_unknown", None)]),
        ({}, (["NET/Socket"], []), "INCONCLUSIVE", []),
    ],
    ids=[
        "rdma",
        "libfabric",
        "one silent",
        "tcp on one",
        "tcp too",
        "silent with INFO",
        "silent",
        "no NCCL_DEBUG",
        "tcp was meant",
    ],
)
def test_tcp_fails_where_rdma_is_meant_and_silence_is_told(
    env: t.Any, networks_by_node: t.Any, verdict: str, expected: t.Any
) -> None:
    reasons = Reasons()
    one, other = networks_by_node
    judge_transport(plan(env), statuses(gpu00={"transports": one}, gpu01={"transports": other}), reasons)
    assert (told(reasons), reasons.verdict()) == (expected, verdict)


def test_a_rehearsal_is_not_asked_for_its_network() -> None:
    reasons = Reasons()
    judge_transport(plan(RDMA, rehearsal=True), statuses(gpu00={}, gpu01={}), reasons)
    assert told(reasons) == []


def test_the_evidence_holds_how_many_lines_said_so() -> None:
    reasons = Reasons()
    judge_transport(plan(RDMA), statuses(gpu00={"transports": ["NET/Socket"]}), reasons)
    (reason,) = reasons.decisive()
    assert reason["evidence"] == {"transports": ["NET/Socket"]}
    assert reason["message"] == ("NCCL uses TCP on gpu00, but the plan uses RDMA: its log names NET/Socket.")


@pytest.mark.parametrize(
    ("sizes", "verdict", "expected"),
    [
        ((2, None), "PASS", [("world", None)]),
        ((2, 2), "PASS", [("world", None)]),
        ((1, 1), "FAIL", [("trained_alone", "gpu00"), ("trained_alone", "gpu01")]),
        ((2, 1), "FAIL", [("trained_alone", "gpu01")]),
        ((16, None), "FAIL", [("world_size", "gpu00")]),
        ((None, None), "INCONCLUSIVE", [("world_unknown", None)]),
    ],
)
def test_a_node_that_sees_fewer_ranks_than_the_job_has_trained_alone(
    sizes: t.Any, verdict: str, expected: t.Any
) -> None:
    reasons = Reasons()
    seen = statuses(gpu00={"world_size": sizes[0]}, gpu01={"world_size": sizes[1]})
    judge_world(plan(), seen, {"gpu01": {}}, reasons)
    assert (told(reasons), reasons.verdict()) == (expected, verdict)


@pytest.mark.parametrize("changes", [{"mode": "single_node"}, {"workload": None}])
def test_jobs_of_their_own_and_plans_without_a_workload_are_not_asked(changes: t.Any) -> None:
    reasons = Reasons()
    judge_world(plan() | changes, statuses(gpu00={"world_size": 1}), {}, reasons)
    assert told(reasons) == []


def test_several_nodes_that_print_the_steps_of_megatron_may_have_trained_alone(tmp_path: Path) -> None:
    summary = judged(
        [Node("gpu00", lines(range(1, 11), ms=101.0) + OVER), Node("gpu01", ALL)], tmp_path, workload=WORKLOAD
    )
    assert (summary["verdict"], [one["code"] for one in summary["reasons"]]) == ("INCONCLUSIVE", ["alone_suspected"])


def test_their_tflops_give_them_away(tmp_path: Path) -> None:
    """One node alone prints 819.2 TFLOP/s, as it does all 8192 tokens of 10 GFLOP in 100 ms; of two, each 409.6."""
    alone = lines(range(1, 11), tflops=819.2) + OVER
    summary = judged(
        [Node("gpu00", alone), Node("gpu01", alone.replace("(ms): 100.0", "(ms): 100.1"))], tmp_path, workload=WORKLOAD
    )
    assert (summary["verdict"], [one["code"] for one in summary["reasons"]]) == ("FAIL", ["trained_alone"])
    assert "about 1 of the 2 ranks" in summary["reasons"][0]["message"]


def test_steps_on_one_node_are_how_one_job_looks(tmp_path: Path) -> None:
    world = "using world size: 2, data-parallel size: 2, tensor-model-parallel size: 1\n"
    summary = judged([Node("gpu00", world + SILENT), Node("gpu01", ALL)], tmp_path, workload=WORKLOAD)
    assert summary["verdict"] == "PASS"
    assert [node["world_size"] for node in summary["nodes"]] == [2, None]
