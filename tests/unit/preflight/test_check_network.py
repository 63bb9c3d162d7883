from __future__ import annotations

import pytest


def test_an_interface_that_is_not_there(bench) -> None:
    cell = bench(nccl_socket_ifname="ens51np0").cell("socket", 2)
    assert cell["reason"] == "the node has no interface ens51np0; it has lo, ens1np0, eno1"
    assert cell["command"] == "set nccl_socket_ifname in the config to ens1np0"


def test_gloo_takes_whole_names_and_nccl_beginnings(bench) -> None:
    assert bench(nccl_socket_ifname="ens1").cell("socket")["status"] == "green"
    cell = bench(gloo_socket_ifname="ens1").cell("socket")
    assert (cell["status"], cell["command"]) == ("red", "set gloo_socket_ifname in the config to ens1np0")


@pytest.mark.parametrize(("value", "status"), [("=ens1np0", "green"), ("=ens1", "red"), ("^docker0,lo", "green")])
def test_whole_names_and_names_to_avoid(bench, value: str, status: str) -> None:
    nodes = bench()
    for node in nodes.plan["nodes"]:
        node["env"]["NCCL_SOCKET_IFNAME"] = value
    assert nodes.cell("socket")["status"] == status


def test_an_interface_that_is_down_or_has_no_address(bench) -> None:
    nodes = bench()
    nodes[1]["network"]["interfaces"]["ens1np0"]["up"] = False
    nodes[2]["network"]["interfaces"]["ens1np0"]["addresses"] = []
    assert nodes.cell("socket", 1)["command"] == "ip link set ens1np0 up"
    assert nodes.cell("socket", 2)["reason"] == "the interface ens1np0 has no address"


def test_rank_0_is_not_within_reach(bench) -> None:
    nodes = bench()
    nodes[2]["network"]["master"] = None
    nodes[2]["problems"]["master"] = "ip route failed (exit status 2): Network is unreachable"
    cell = nodes.cell("socket", 2)
    assert cell["reason"].startswith("rank 0 (192.168.1.1) is not reachable: ip route failed")
    assert cell["command"] == "manual step: give the node a route to 192.168.1.1; to check: ip route get 192.168.1.1"


def test_without_the_tool_ip_interfaces_are_not_known(bench) -> None:
    nodes = bench()
    nodes[1]["network"]["interfaces"] = None
    nodes[1]["problems"]["interfaces"] = "ip is not installed"
    assert nodes.cell("socket")["reason"].endswith("ip is not installed")
    assert nodes.cell("mtu")["status"] != "green"


def test_a_hostname_that_is_a_loopback_address(bench) -> None:
    named, open_ = bench(), bench(gloo_socket_ifname=None)
    for nodes in (named, open_):
        nodes[2]["network"]["hostname"] = {"addresses": ["127.0.1.1"], "loopback": True}
    assert named.cell("hostname", 2)["found"] == "gpu02 resolves to 127.0.1.1; Gloo uses ens1np0"
    cell = open_.cell("hostname", 2)
    assert cell["status"] == "red"
    assert cell["command"].startswith("manual step: map gpu02 to 192.168.1.2 instead of 127.0.1.1")


def test_on_one_machine_the_name_may_be_loopback(bench) -> None:
    nodes = bench(gloo_socket_ifname=None)
    for node in nodes.plan["nodes"]:
        node["master_address"] = "127.0.0.1"
    nodes[1]["network"]["hostname"] = {"addresses": ["127.0.0.1"], "loopback": True}
    assert nodes.cell("hostname")["status"] == "green"


def test_the_port_matters_on_rank_0_only(bench) -> None:
    nodes = bench()
    for number in (1, 2):
        nodes[number]["network"]["master_port_problem"] = "Address already in use"
    assert nodes.cell("port", 1)["reason"] == ("rendezvous port 6000 is not free (Address already in use)")
    assert nodes.cell("port", 1)["command"].startswith("set training_master_port to a free port")
    assert nodes.cell("port", 2)["status"] == "grey"


def test_each_node_by_itself_needs_its_port(bench) -> None:
    nodes = bench(mode="single_node", master_address=None, nic_type=None, nccl_ib_hca_list=None)
    nodes[2]["network"]["master_port_problem"] = "Address already in use"
    assert [nodes.cell("port", number)["status"] for number in (1, 2)] == ["green", "red"]


def test_a_clock_is_wrong_where_even_the_nearer_bound_is_too_far_off(bench) -> None:
    nodes = bench(count=4)
    nodes[3]["clock"]["offset_seconds"] = [-0.2, 2.5]
    assert nodes.cell("clock", 3)["status"] == "green"
    nodes[3]["clock"]["offset_seconds"] = [3.3, 4.0]
    nodes[4]["clock"]["offset_seconds"] = [-4.0, -3.6]
    assert nodes.cell("clock", 3)["found"] == "3.0 s ahead"
    assert nodes.cell("clock", 3)["reason"].startswith("the clock is at least 3.0 s ahead of gpu0")
    assert nodes.cell("clock", 4)["reason"].startswith("the clock is at least 3.5 s behind gpu0")
    assert nodes.cell("clock", 1)["status"] == "green"


def test_a_controller_whose_clock_is_wrong_makes_no_node_red(bench) -> None:
    nodes = bench(count=3)
    for number in (1, 2, 3):
        nodes[number]["clock"]["offset_seconds"] = [-120.2, -119.8]
    assert nodes.reds() == []


def test_a_clock_that_nothing_keeps_is_not_judged(bench) -> None:
    nodes = bench()
    nodes[1]["clock"]["synchronized"] = False
    assert nodes.cell("clock")["status"] == "grey"
