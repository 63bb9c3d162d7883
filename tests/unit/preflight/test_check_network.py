from __future__ import annotations

import pytest


def test_an_interface_that_is_not_there(bench) -> None:
    cell = bench(nccl_socket_ifname="ens51np0").cell("socket", 2)
    assert (cell["status"], cell["code"], cell["values"]["interface"]) == ("red", "interface_missing", "ens51np0")
    assert cell["values"]["there"] == ["lo", "ens1np0", "eno1"]
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
    assert nodes.code("socket", 1) == ("red", "interface_down", "")
    assert nodes.code("socket", 2) == ("red", "interface_without_address", "")
    assert {nodes.cell("socket", number)["values"]["interface"] for number in (1, 2)} == {"ens1np0"}


def test_rank_0_is_not_within_reach(bench) -> None:
    nodes = bench()
    nodes[2]["network"]["master"] = None
    nodes[2]["problems"]["master"] = "ip route failed (exit status 2): Network is unreachable"
    assert nodes.code("socket", 2) == ("red", "rank_0_unreachable", "")
    said = nodes[2]["problems"]["master"]
    assert nodes.cell("socket", 2)["values"] == {"address": "192.168.1.1", "said": said}


def test_without_the_tool_ip_interfaces_are_not_known(bench) -> None:
    nodes = bench()
    nodes[1]["network"]["interfaces"] = None
    nodes[1]["problems"]["interfaces"] = "ip is not installed"
    assert nodes.cell("socket")["values"]["said"] == "ip is not installed"
    assert nodes.cell("mtu")["status"] != "green"


@pytest.mark.parametrize(
    ("arrives", "cell"),
    [(9000, ("green", "mtu_alike")), (None, ("grey", "path_not_probed")), (1500, ("red", "packets_lost"))],
)
def test_large_packets_that_the_network_loses(bench, arrives, cell) -> None:
    nodes = bench()
    nodes[2]["network"]["master"]["path_mtu"] = arrives
    assert nodes.code("mtu", 2)[:2] == cell
    assert nodes.cell("mtu", 1)["status"] == "green"


def test_a_path_that_cannot_be_probed_hides_no_difference_between_nodes(bench) -> None:
    nodes = bench(count=3)
    nodes[2]["network"]["master"]["path_mtu"] = None
    nodes[2]["network"]["interfaces"]["ens1np0"]["mtu"] = 1500
    assert nodes.code("mtu", 2)[:2] == ("red", "mtu_differs")


@pytest.mark.parametrize(
    ("vendor", "port", "reserved", "cell"),
    [
        ("neuron", 41000, "", ("yellow", "port_not_reserved")),
        ("neuron", 41000, "50,40000-42000", ("green", "port_free")),
        ("neuron", 29500, "", ("green", "port_free")),
        ("amd", 41000, "", ("green", "port_free")),
    ],
)
def test_a_port_that_the_kernel_gives_to_any_connection(bench, vendor, port, reserved, cell) -> None:
    nodes = bench()
    nodes[1]["settings"]["reserved_ports"] = reserved
    nodes[1]["gpus"]["vendor"] = vendor
    for node in nodes.plan["nodes"]:
        node["master_port"] = port
    assert nodes.code("port")[:2] == cell


def test_a_hostname_that_is_a_loopback_address(bench) -> None:
    named, open_ = bench(), bench(gloo_socket_ifname=None)
    for nodes in (named, open_):
        nodes[2]["network"]["hostname"] = {"addresses": ["127.0.1.1"], "loopback": True}
    assert named.code("hostname", 2) == ("green", "host_name_loopback", "interface")
    assert open_.code("hostname", 2) == ("red", "host_name_loopback", "")
    assert open_.cell("hostname", 2)["values"] == {"name": "gpu02", "own": "192.168.1.2", "address": "127.0.1.1"}


def test_on_one_machine_the_name_may_be_loopback(bench) -> None:
    nodes = bench(gloo_socket_ifname=None)
    for node in nodes.plan["nodes"]:
        node["master_address"] = "127.0.0.1"
    nodes[1]["network"]["hostname"] = {"addresses": ["127.0.0.1"], "loopback": True}
    assert nodes.code("hostname") == ("green", "host_name_loopback", "one_machine")


def test_the_port_matters_on_rank_0_only(bench) -> None:
    nodes = bench()
    for number in (1, 2):
        nodes[number]["network"]["master_port_problem"] = "Address already in use"
    assert nodes.code("port", 1) == ("red", "port_taken", "")
    assert nodes.cell("port", 1)["values"] == {"port": 6000, "said": "Address already in use"}
    assert nodes.code("port", 2) == ("grey", "port_of_rank_0", "")


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
    assert [nodes.code("clock", number)[1:] for number in (3, 4)] == [("clock_off", "ahead"), ("clock_off", "behind")]
    seconds = [nodes.cell("clock", number)["values"]["seconds"] for number in (3, 4)]
    assert seconds == pytest.approx([3.0, 3.5])
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
