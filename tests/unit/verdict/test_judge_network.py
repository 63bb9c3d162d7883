# SPDX-License-Identifier: GPL-3.0-or-later
"""Over which network a job ran, and whether its nodes trained together."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pandas as pd
import pytest
from training_logs import ALL, OVER, SILENT, WORKLOAD, Node, judged, lines, plan_of

from ansible_collections.trainops.cluster.plugins.plugin_utils.contracts import Status
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.status import status_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.judge_network import judge_transport, judge_world
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.rdma_traffic import rdma_traffic
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.reasons import Reasons

RDMA = {"NCCL_IB_HCA": "bnxt_re0", "NCCL_DEBUG": "INFO"}


def plan(env: dict[str, str] | None = None, **changes: t.Any) -> dict[str, t.Any]:
    made = plan_of(["gpu00", "gpu01"], workload=WORKLOAD, **changes)
    for node in made["nodes"]:
        node["env"] = env or {}
    return made


def statuses(**by_node: t.Any) -> list[Status]:
    return [status_of({"node": node, **found}) for node, found in by_node.items()]


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
    judge_transport(plan(env), statuses(gpu00={"transports": one}, gpu01={"transports": other}), {}, reasons)
    assert (told(reasons), reasons.verdict()) == (expected, verdict)


def test_a_rehearsal_is_not_asked_for_its_network() -> None:
    reasons = Reasons()
    judge_transport(plan(RDMA, rehearsal=True), statuses(gpu00={}, gpu01={}), {}, reasons)
    assert told(reasons) == []


GIGA = 10**9
SILENT_ENV = {"NCCL_IB_HCA": "bnxt_re0,bnxt_re1", "NCCL_DEBUG": "ERROR"}
"""As the users' own configs say it."""
# 8 billion gradients of two bytes, between two nodes: half of them leave a node, and half of that is surely needed.
NEEDED = 4 * GIGA
SIZES = {"tensor_parallelism": 1, "pipeline_parallelism": 1, "gpus_per_node": 8, "iterations": 10}


def moved(**sent: int) -> dict[str, t.Any]:
    return {"traffic": {f"{device}/1": {"sent": size, "received": size} for device, size in sent.items()}}


def judged_traffic(one: t.Any, other: t.Any, env: t.Any = None, **changes: t.Any) -> Reasons:
    """Return the reasons of a job of two nodes that made two steps after its first, with these statuses."""
    reasons = Reasons()
    made = plan(env or SILENT_ENV, parameters=SIZES, **changes)
    made["workload"] = WORKLOAD | {"parameters": 8 * GIGA, "gpus": 16}
    found = statuses(gpu00=one, gpu01=other)
    judge_transport(made, found, rdma_traffic(made, found, {"gpu01": pd.DataFrame({"step": [1, 2, 3]})}), reasons)
    return reasons


ENOUGH, LITTLE = moved(bnxt_re0=NEEDED, bnxt_re1=NEEDED), moved(bnxt_re0=NEEDED, bnxt_re1=NEEDED - 1)


@pytest.mark.parametrize(
    ("one", "other", "verdict", "expected"),
    [
        (ENOUGH, ENOUGH, "PASS", [("transport", None)]),
        (ENOUGH, {"transports": ["NET/IB"]}, "PASS", [("transport", None)]),
        (LITTLE | {"transports": ["NET/IB"]}, ENOUGH, "PASS", [("transport", None), ("low_traffic", "gpu00")]),
        (ENOUGH, LITTLE, "INCONCLUSIVE", [("low_traffic", "gpu01")]),
        (ENOUGH, {}, "INCONCLUSIVE", [("transport_unknown", "gpu01")]),
        (moved(bnxt_re0=0, bnxt_re1=0), ENOUGH, "INCONCLUSIVE", [("low_traffic", "gpu00")]),
        # A device outside the plan proves nothing about the devices in it.
        (moved(bnxt_re7=9 * NEEDED), ENOUGH, "INCONCLUSIVE", [("transport_unknown", "gpu00")]),
        (ENOUGH | {"transports": ["NET/Socket"]}, ENOUGH, "FAIL", [("tcp_transport", "gpu00")]),
        (moved(bnxt_re0=2 * NEEDED, bnxt_re1=5), ENOUGH, "PASS", [("transport", None), ("uneven_traffic", "gpu00")]),
    ],
    ids=[
        "counters",
        "counters and a log",
        "a log outdoes counters that count little",
        "too little",
        "no counters on one",
        "none",
        "another device",
        "TCP in the log",
        "uneven",
    ],
)
def test_the_counters_of_the_ports_prove_rdma_without_a_line_of_nccl(
    one: t.Any, other: t.Any, verdict: str, expected: t.Any
) -> None:
    reasons = judged_traffic(one, other)
    assert (told(reasons), reasons.verdict()) == (expected, verdict)


def test_too_little_traffic_names_the_devices_and_both_sizes() -> None:
    (reason,) = judged_traffic(LITTLE, ENOUGH).decisive()
    assert reason["values"] == {
        "devices": ["bnxt_re0", "bnxt_re1"],
        "sent": {"bnxt_re0": NEEDED, "bnxt_re1": NEEDED - 1},
        "total": 2 * NEEDED - 1,
        "least": 2 * NEEDED,
    }


ON_CPUS = {"hardware": {"os": None, "kernel": None, "cpu": None, "accelerators": None, "nics": []}}


def test_a_training_on_cpus_does_without_nccl_and_need_not_show_its_network() -> None:
    assert told(judged_traffic(ON_CPUS, ON_CPUS, gpu="cpu")) == []
    # Nodes without an accelerator excuse no config for one.
    assert told(judged_traffic(ON_CPUS, ON_CPUS)) == [("transport_unknown", None)]


def test_existing_logs_of_a_silent_nccl_are_a_note_and_of_one_that_should_speak_are_not() -> None:
    logs = {"folder": "/logs"}
    assert told(judged_traffic({}, {}, logs=logs)) == [("transport_unknown", None)]
    assert judged_traffic({}, {}, logs=logs).decisive() == []
    assert len(judged_traffic({}, {}, env=RDMA, logs=logs).decisive()) == 1


def test_a_run_with_the_users_config_passes_by_its_counters(tmp_path: Path) -> None:
    nodes = [Node("gpu00", SILENT, told=moved(bnxt_re0=GIGA)), Node("gpu01", ALL, told=moved(bnxt_re0=GIGA))]
    summary = judged(nodes, tmp_path, workload=WORKLOAD, env=SILENT_ENV)
    assert summary["verdict"] == "PASS"
    evidence = [node["rows"]["network"]["evidence"] for node in summary["ledger"]]
    assert all("1.00 GB sent by 1 RDMA device" in text for text in evidence)
    summary = judged([Node("gpu00", SILENT), Node("gpu01", ALL)], tmp_path, workload=WORKLOAD, env=SILENT_ENV)
    assert [one["code"] for one in summary["reasons"]] == ["transport_unknown"]


def test_a_run_that_no_node_began_has_no_question_about_its_network(tmp_path: Path) -> None:
    refused = {"started_at": None, "message": "docker's daemon does not run."}
    nodes = [Node(name, status="not_started", seconds=None, told=refused) for name in ("gpu00", "gpu01")]
    summary = judged(nodes, tmp_path, workload=WORKLOAD, env=RDMA)
    assert {one["code"] for one in summary["reasons"]} == {"node_not_started"}


def test_the_evidence_holds_how_many_lines_said_so() -> None:
    reasons = Reasons()
    judge_transport(plan(RDMA), statuses(gpu00={"transports": ["NET/Socket"]}), {}, reasons)
    (reason,) = reasons.decisive()
    assert (reason["node"], reason["values"]) == ("gpu00", {"transports": ["NET/Socket"]})


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


def of_width(nodes: int, ranks: int) -> str:
    return (
        f"gpu:7:9 [0] NCCL INFO comm 0x55d0c0 rank 0 nRanks {ranks} nNodes {nodes} localRanks 1 localRank 0 MNNVL 0\n"
    )


@pytest.mark.parametrize(
    ("one", "other", "codes"),
    [
        (of_width(1, 1), of_width(1, 1), ["alone_suspected", "alone_suspected"]),
        (of_width(1, 1) + of_width(2, 2), of_width(1, 1) + of_width(2, 2), []),
        (of_width(1, 2), of_width(1, 2), []),
        ("", "", []),
    ],
    ids=["two jobs", "a small communicator first", "both on one machine", "no line"],
)
def test_nodes_that_nccl_connects_with_no_other_may_have_trained_alone(
    tmp_path: Path, one: str, other: str, codes: list[str]
) -> None:
    summary = judged([Node("gpu00", one + SILENT), Node("gpu01", other + ALL)], tmp_path, workload=WORKLOAD)
    found = [reason["code"] for reason in summary["reasons"] if reason["code"].startswith(("alone", "same", "other"))]
    assert found == codes
    assert summary["verdict"] == ("INCONCLUSIVE" if codes else "PASS")


def test_the_trainers_own_number_of_ranks_goes_before_nccls(tmp_path: Path) -> None:
    world = "using world size: 2, data-parallel size: 2, tensor-model-parallel size: 1\n"
    nodes = [Node("gpu00", world + of_width(1, 1) + SILENT), Node("gpu01", of_width(1, 1) + ALL)]
    assert judged(nodes, tmp_path, workload=WORKLOAD)["verdict"] == "PASS"


def test_their_tflops_give_them_away(tmp_path: Path) -> None:
    """One node alone prints 819.2 TFLOP/s: it does all 8192 tokens of 10 GFLOP in 100 ms; with two, each prints
    409.6."""
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
