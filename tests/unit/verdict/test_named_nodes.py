from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from training_logs import ALL, SILENT, Node, judged, known_of

from ansible_collections.trainops.cluster.plugins.plugin_utils.run.status import status_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.first_cause import first_failure
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.named_nodes import NodeNames

NODES: t.Any = [
    {"node": "gpu016", "address": "10.0.0.16"},
    {"node": "gpu017", "address": "10.0.0.17"},
    {"node": "gpu018", "address": "gpu018.cluster.local"},
    {"node": "six", "address": "fd00::6"},
]
CLOSED = "gpu016:4711:4800 [0] NCCL WARN Net : Connection closed by remote peer {}<45678>\n"


def first_of(nodes: list[Node], folder: Path) -> dict[str, t.Any]:
    statuses = [status_of(known_of(node, folder, rank)[0]) for rank, node in enumerate(nodes)]
    return t.cast("dict[str, t.Any]", first_failure(statuses, names=NodeNames(NODES, statuses)))


def failed(name: str, log: str, seconds: float = 10) -> Node:
    return Node(name, log, exit_status=1, seconds=seconds)


def stopped(name: str, log: str = "") -> Node:
    return Node(name, log, status="stopped", seconds=None)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (CLOSED.format("10.0.0.17"), {"gpu016": "gpu016", "10.0.0.17": "gpu017"}),
        ("[c10d] failed to connect to [::ffff:10.0.0.17]:29500", {"10.0.0.17": "gpu017"}),
        ("ipv4:10.0.0.17:1234: Failed to connect to remote host", {"10.0.0.17": "gpu017"}),
        ("Connection closed by peer [fd00::6]:4711", {"fd00::6": "six"}),
        ("lost gpu018.cluster.local, and GPU017.", {"gpu018.cluster.local": "gpu018", "GPU017": "gpu017"}),
        ("dial six:4711", {"six": "six"}),
        ("after six steps, at 10.0.0.170 and gpu0171, of /data/gpu-017", {}),
    ],
)
def test_the_names_and_addresses_in_a_line_become_hosts_of_the_inventory(line: str, named: dict[str, str]) -> None:
    assert NodeNames(NODES).in_line(line) == named


def test_a_name_that_several_nodes_share_means_none_of_them() -> None:
    local: t.Any = [{"node": "a1", "address": "127.0.0.1"}, {"node": "b1", "address": "127.0.0.1"}]
    assert NodeNames(local).host("127.0.0.1") is None
    assert NodeNames(local[:1]).host("127.0.0.1") is None


def test_a_node_is_also_known_by_the_name_that_its_own_log_gives_it(tmp_path: Path) -> None:
    log = "worker-3:4711:4712 [0] NCCL INFO Bootstrap : Using eth0:10.1.1.1<0>\n"
    status = status_of(known_of(Node("gpu017", log), tmp_path, 1)[0])
    assert NodeNames(NODES, [status]).host("worker-3") == "gpu017"


def test_the_culprit_is_the_node_whose_address_the_line_names(tmp_path: Path) -> None:
    first = first_of([failed("gpu016", CLOSED.format("10.0.0.17")), stopped("gpu017")], tmp_path)
    assert (first["node"], first["class"], first["case"]) == ("gpu017", "peer_died", "named")
    assert first["values"]["told_by"] == "gpu016"
    assert first["named"] == {"10.0.0.17": "gpu017"}
    assert [echo["node"] for echo in first["echoes"]] == ["gpu016"]


def test_a_chain_of_nodes_that_tell_of_each_other_ends_at_the_one_that_tells_nothing(tmp_path: Path) -> None:
    nodes = [
        failed("gpu016", CLOSED.format("10.0.0.17")),
        failed("gpu017", CLOSED.replace("gpu016", "gpu017").format("gpu018"), 11),
        stopped("gpu018"),
    ]
    first = first_of(nodes, tmp_path)
    assert (first["node"], first["values"]["told_by"]) == ("gpu018", "gpu017")


@pytest.mark.parametrize("name", ["10.0.0.99", "gpu016", "10.0.0.17<1> or gpu018"])
def test_without_one_other_node_in_the_line_it_stays_with_the_one_that_tells_it(name: str, tmp_path: Path) -> None:
    first = first_of([failed("gpu016", CLOSED.format(name)), stopped("gpu017"), stopped("gpu018")], tmp_path)

    assert first["node"] == "gpu016"


def test_two_nodes_that_accuse_each_other_prove_nothing(tmp_path: Path) -> None:
    nodes = [
        failed("gpu016", CLOSED.format("10.0.0.17")),
        failed("gpu017", CLOSED.replace("gpu016", "gpu017").format("10.0.0.16"), 11),
    ]
    assert (first_of(nodes, tmp_path)["node"], first_of(nodes, tmp_path).get("case")) == ("gpu016", None)


def test_the_report_says_which_node_an_address_in_the_evidence_is(tmp_path: Path) -> None:
    log = "RuntimeError: connect() to [10.0.0.17]:29500 failed: NCCL WARN Call to connect timed out\n"
    nodes = [failed("gpu016", log), stopped("gpu017")]
    first = judged(nodes, tmp_path, addresses=["10.0.0.16", "10.0.0.17"])["first_failure"]
    assert (first["node"], first["named"]) == ("gpu016", {"10.0.0.17": "gpu017"})


def test_a_failure_after_the_end_of_nodes_that_ended_with_0_names_hosts_too(tmp_path: Path) -> None:
    nodes = [
        Node("gpu016", SILENT.replace("[after training", "[after") + CLOSED.format("10.0.0.17")),
        Node("gpu017", ALL),
    ]
    first = judged(nodes, tmp_path, addresses=["10.0.0.16", "10.0.0.17"])["first_failure"]
    assert (first["node"], first["named"]) == ("gpu016", {"10.0.0.17": "gpu017"})
