from __future__ import annotations

import pytest
from training_configs import DISTRIBUTED, filled, keys, nodes, only, planned

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.findings import Findings
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.gpu_checks import check_same_gpus
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.ranks import (
    Node,
    in_rank_order,
    is_loopback,
    master_address,
    on_one_machine,
)

LOCAL = [Node("node0", "node0", "me", local=True), Node("node1", "node1", "me", local=True)]


def names(found: list[Node]) -> list[str]:
    return [node.name for node in found]


def test_the_order_of_the_inventory_is_kept() -> None:
    hosts = [nodes(3)[2], nodes(3)[0], nodes(3)[1]]
    assert names(in_rank_order(hosts, [], [], Findings())) == ["gpu2", "gpu0", "gpu1"]


def test_nodes_of_one_rack_become_neighbours_at_every_level_and_the_first_node_stays_the_first() -> None:
    places = {"b1": "east/r2", "a1": "west/r1", "b2": "east/r3", "a2": "west/r1", "b3": "east/r2", "c1": "west/r2"}
    hosts = [Node(name, name, "me", topology=place) for name, place in places.items()]
    assert names(in_rank_order(hosts, [], [], Findings())) == ["b1", "b3", "b2", "a1", "a2", "c1"]
    wanted = ["c1", "b1", "a1", "b2", "a2", "b3"]
    assert names(in_rank_order(hosts, wanted, [], Findings())) == wanted


def test_hosts_that_alone_do_not_say_where_they_stand_are_told() -> None:
    findings = Findings()
    hosts = [Node("a1", "a1", "me", topology="r1"), Node("x", "x", "me"), Node("a2", "a2", "me", topology="r1")]
    assert names(in_rank_order(hosts, [], [], findings)) == ["a1", "a2", "x"]
    assert [warning["key"] for warning in findings.warnings] == ["training_topology"]
    assert "while others do: x." in findings.warnings[0]["message"]


def test_another_order_and_hosts_left_out() -> None:
    findings = Findings()
    assert names(in_rank_order(nodes(4), ["gpu3", "gpu0", "gpu1"], ["gpu2"], findings)) == ["gpu3", "gpu0", "gpu1"]
    assert not findings.faults


@pytest.mark.parametrize(
    ("order", "exclude", "faults"),
    [
        (
            ["gpu0", "gpu1", "gpu0x"],
            [],
            [("training_rank_order", "gpu0x", "gpu0x is not a host of the run.", "Did you mean gpu0?")],
        ),
        (
            ["gpu1"],
            [],
            [
                (
                    "training_rank_order",
                    ["gpu1"],
                    "It does not list these hosts of the run: gpu0.",
                    "List every host, or exclude hosts with training_exclude.",
                )
            ],
        ),
        (
            ["gpu0", "gpu1", "gpu0"],
            [],
            [("training_rank_order", "gpu0", "gpu0 is listed more than once.", "Name each host once.")],
        ),
        (
            [],
            ["somebody"],
            [("training_exclude", "somebody", "somebody is not a host of the run.", "Hosts of the run: gpu0, gpu1.")],
        ),
    ],
)
def test_a_wrong_order_is_a_fault_and_all_nodes_are_there_for_the_other_checks(
    order: list[str], exclude: list[str], faults: list[tuple[object, ...]]
) -> None:
    findings = Findings()
    assert sorted(names(in_rank_order(nodes(2), order, exclude, findings))) == ["gpu0", "gpu1"]
    assert [(fault["key"], fault["value"], fault["message"], fault["remedy"]) for fault in findings.faults] == faults


@pytest.mark.parametrize(
    ("count", "exclude", "key"), [(0, [], "training_hosts"), (2, ["gpu0", "gpu1"], "training_exclude")]
)
def test_a_run_without_hosts_is_a_fault_of_the_variable_that_leaves_none(
    count: int, exclude: list[str], key: str
) -> None:
    findings = Findings()
    assert in_rank_order(nodes(count), [], exclude, findings) == []
    assert [fault["key"] for fault in findings.faults] == [key]


@pytest.mark.parametrize(
    ("node", "key"),
    [
        (Node("a;b", "a;b", "amd"), "training_hosts"),
        (Node("../etc", "10.0.0.1", "amd"), "training_hosts"),
        (Node("gpu0", "$(reboot)", "amd"), "training_address of gpu0"),
        (Node("gpu0", "999.1.1.1", "amd"), "training_address of gpu0"),
        (Node("gpu0", "10.0.0", "amd"), "training_address of gpu0"),
        (Node("gpu0", "10.0.0.010", "amd"), "training_address of gpu0"),
        (Node("gpu0", "fd00::12345", "amd"), "training_address of gpu0"),
        (Node("gpu0", "fe80::1%$(reboot)", "amd"), "training_address of gpu0"),
        (Node("gpu0", "224.0.0.1", "amd"), "training_address of gpu0"),
        (Node("gpu0", "255.255.255.255", "amd"), "training_address of gpu0"),
        (Node("gpu0", "0x0a000001", "amd"), "training_address of gpu0"),
        (Node("gpu0", "gpu0..cluster", "amd"), "training_address of gpu0"),
        (Node("gpu0", "gpu0:22", "amd"), "training_address of gpu0"),
        (Node("gpu0", "10.0.0.1", "a b"), "ansible_user of gpu0"),
        (Node("gpu0", "10.0.0.1", ""), "ansible_user of gpu0"),
    ],
)
def test_shell_syntax_in_the_inventory_is_a_fault_of_the_hosts_that_take_part(node: Node, key: str) -> None:
    findings = Findings()
    in_rank_order([node], [], [], findings)
    assert [fault["key"] for fault in findings.faults] == [key]
    left_out = Findings()
    in_rank_order([*nodes(2), node], [], [node.name], left_out)
    assert [fault["key"] for fault in left_out.faults] in ([], [key])
    assert not [fault for fault in left_out.faults if fault["value"] == node.name]


@pytest.mark.parametrize(
    "address",
    [
        "localhost",
        "LOCALHOST",
        "localhost.localdomain",
        "x.localhost",
        "ip6-localhost",
        "127.0.0.1",
        "127.0.1.1",
        "0.0.0.0",
        "::1",
        "[::1]",
    ],
)
def test_loopback_addresses(address: str) -> None:
    assert is_loopback(address)


@pytest.mark.parametrize("address", ["10.0.0.1", "gpu0", "fe80::1", "mylocalhost"])
def test_other_addresses(address: str) -> None:
    assert not is_loopback(address)


def test_nodes_on_one_machine() -> None:
    assert on_one_machine(LOCAL)
    assert on_one_machine([Node("a", "127.0.0.1", "me"), Node("b", "127.0.0.2", "me")])
    assert not on_one_machine([LOCAL[0], *nodes(1)])


@pytest.mark.parametrize(
    ("asked", "address"),
    [(None, "10.0.0.10"), ("auto", "10.0.0.10"), ("10.0.0.10", "10.0.0.10"), ("gpu0", "gpu0"), ("GPU0", "GPU0")],
)
def test_the_master_is_rank_0(asked: str | None, address: str) -> None:
    findings = Findings()
    assert master_address(asked, nodes(4), "config.master_address", findings) == address
    assert not findings.faults


@pytest.mark.parametrize(
    ("asked", "message", "remedy"),
    [
        (
            "10.0.0.12",
            "10.0.0.12 is gpu2, which is rank 2; rank 0 is gpu0.",
            "Put gpu2 first with training_rank_order, or give 10.0.0.10, or auto.",
        ),
        (
            "192.168.7.7",
            "192.168.7.7 is not one of the 4 nodes of the run: gpu0 (10.0.0.10), gpu1 (10.0.0.11), gpu2 (10.0.0.12), "
            "gpu3 (10.0.0.13).",
            "Give 10.0.0.10, or auto. If 192.168.7.7 is another interface of gpu0, set it as training_address in "
            "the inventory.",
        ),
        (
            "localhost",
            "localhost is a loopback address: each of the 4 nodes would look for rank 0 on its own machine.",
            "Set the address at which the other nodes reach rank 0 (gpu0), here or in the inventory "
            "(training_address).",
        ),
    ],
)
def test_a_master_that_is_not_rank_0_is_a_fault(asked: str, message: str, remedy: str) -> None:
    fault = only(planned(filled(DISTRIBUTED, {"config/master_address": asked}))["faults"])
    assert fault == {"key": "config.master_address", "value": asked, "message": message, "remedy": remedy}


def test_two_nodes_are_enough_for_a_loopback_address_to_be_wrong() -> None:
    findings = Findings()
    master_address("localhost", nodes(2), "config.master_address", findings)
    assert len(findings.faults) == 1


def test_a_loopback_address_in_the_inventory_is_a_fault_too() -> None:
    hosts = [Node("head", "localhost", "amd", local=True), *nodes(3)]
    assert keys(planned(filled(DISTRIBUTED, {"config/master_address": "auto"}), hosts)["faults"]) == [
        "config.master_address"
    ]


@pytest.mark.parametrize("asked", ["127.0.0.1", "localhost", "auto"])
def test_a_loopback_address_will_do_where_all_nodes_are_one_machine(asked: str) -> None:
    findings = Findings()
    address = master_address(asked, LOCAL, "config.master_address", findings)
    assert is_loopback(address)
    assert not findings.faults


def test_a_run_on_one_node_may_use_a_loopback_address() -> None:
    findings = Findings()
    assert master_address("localhost", nodes(1), "config.master_address", findings) == "localhost"
    assert not findings.faults


def test_rank_order_decides_who_the_master_is() -> None:
    config = filled(DISTRIBUTED, {"config/master_address": "auto"})
    plan = planned(config, training_rank_order="gpu2,gpu0,gpu1,gpu3")
    assert [(node["node"], node["node_rank"], node["env"]["MASTER_ADDR"]) for node in plan["nodes"]] == [
        ("gpu2", 0, "10.0.0.12"),
        ("gpu0", 1, "10.0.0.12"),
        ("gpu1", 2, "10.0.0.12"),
        ("gpu3", 3, "10.0.0.12"),
    ]


@pytest.mark.parametrize("address", ["10.0.0.1", "fd00::1", "gpu0", "gpu-0.cluster.local.", "gpu_0", "4.gpu", "1gpu"])
def test_an_address_is_of_ip_or_a_name(address: str) -> None:
    findings = Findings()
    in_rank_order([Node("gpu0", address, "amd")], [], [], findings)
    assert not findings.faults


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ("10.0.0.1", "10.0.0.1", "10.0.0.1"),
        ("fd00::1", "FD00:0:0::0001", "fd00::1"),
        ("::ffff:10.0.0.1", "10.0.0.1", "10.0.0.1"),
        ("GPU.cluster", "gpu.cluster.", "gpu.cluster"),
    ],
)
def test_two_hosts_with_one_address_are_a_fault(one: str, other: str, told: str) -> None:
    findings = Findings()
    in_rank_order([Node("a", one, "amd"), Node("b", other, "amd"), Node("c", "10.0.0.9", "amd")], [], [], findings)
    [fault] = findings.faults
    assert (fault["key"], fault["value"]) == ("training_hosts", ["a", "b"])
    assert fault["message"] == f"a, b have the same address, {told}, so they are the same machine."
    left_out = Findings()
    in_rank_order([Node("a", one, "amd"), Node("b", other, "amd")], [], ["b"], left_out)
    assert not left_out.faults


def test_several_nodes_may_be_processes_of_one_machine() -> None:
    findings = Findings()
    in_rank_order([Node("a", "127.0.0.1", "me"), Node("b", "127.0.0.1", "me")], [], [], findings)
    in_rank_order([Node("a", "ctl", "me", local=True), Node("b", "ctl", "me", local=True)], [], [], findings)
    assert not findings.faults


def test_the_address_of_rank_0_may_be_written_in_another_way() -> None:
    findings = Findings()
    assert master_address("FD00:0::1", [Node("a", "fd00::1", "amd")], "k", findings) == "FD00:0::1"
    assert not findings.faults


@pytest.mark.parametrize(
    ("gpus", "told"),
    [
        (("", ""), None),
        (("4", "4"), None),
        (("8", ""), None),
        (("4", "8"), "All hosts of a run need the same number of GPUs, but the inventory says: 4 on a; 8 on b."),
        (("4", ""), "All hosts of a run need the same number of GPUs, but the inventory says: 4 on a; 8 on b."),
    ],
)
def test_hosts_with_other_numbers_of_gpus_are_a_fault(gpus: tuple[str, str], told: str | None) -> None:
    findings = Findings()
    check_same_gpus([Node(name, name, "amd", gpus=given) for name, given in zip("ab", gpus, strict=True)], findings)
    assert [(fault["key"], fault["message"]) for fault in findings.faults] == (
        [("training_gpus_per_node", told)] if told else []
    )
