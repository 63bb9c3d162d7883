from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from not_run import need, need_root

from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.network import (
    hostname_facts,
    in_one_network,
    interfaces_in,
    master_facts,
    path_mtu,
    port_problem,
    resolve,
    route_in,
)


def test_interfaces_that_are_up_or_have_an_address() -> None:
    links = [
        {
            "ifname": "ens1np0",
            "flags": ["BROADCAST", "UP", "LOWER_UP"],
            "mtu": 9000,
            "addr_info": [{"local": "10.0.0.5", "prefixlen": 24}],
        },
        {"ifname": "ens2np0", "flags": ["NO-CARRIER", "UP"], "mtu": 1500, "addr_info": []},
        {
            "ifname": "ens3np0",
            "flags": ["NO-CARRIER", "UP"],
            "mtu": 1500,
            "addr_info": [{"local": "10.0.3.5", "prefixlen": 16}],
        },
    ]
    assert interfaces_in(json.dumps(links)) == {
        "ens1np0": {"mtu": 9000, "up": True, "addresses": ["10.0.0.5/24"]},
        "ens3np0": {"mtu": 1500, "up": False, "addresses": ["10.0.3.5/16"]},
    }


def test_a_route_to_another_node_and_to_oneself() -> None:
    away = [{"dst": "10.0.0.1", "dev": "ens1np0", "prefsrc": "10.0.0.5", "flags": []}]
    route = {"interface": "ens1np0", "source": "10.0.0.5", "own": False, "mtu": None}
    assert route_in(json.dumps(away)) == route
    assert route_in(json.dumps([{**away[0], "metrics": [{"rtt": 1}, {"mtu": 1460}]}])) == {**route, "mtu": 1460}
    here = [{"type": "local", "dst": "10.0.0.5", "dev": "lo", "prefsrc": "10.0.0.5", "flags": []}]
    assert route_in(json.dumps(here)) == {"interface": None, "source": "10.0.0.5", "own": True, "mtu": None}


# The other end of a veth pair drops larger packets without a word, as a network with a smaller MTU does. A host that
# ignores pings answers no packet, whatever arrives.
@pytest.mark.parametrize(
    ("mtu_there", "ignores_pings", "arrives"),
    [(8896, 0, 8896), (1500, 0, 1500), (1400, 0, 576), (8896, 1, None)],
)
def test_the_largest_packet_that_arrives(mtu_there: int, ignores_pings: int, arrives: int | None) -> None:
    need("ip")
    need_root("only root makes a network namespace")
    here, there = f"trainops-here-{os.getpid()}", f"trainops-there-{os.getpid()}"
    script = (
        f"ip netns add {here} && ip netns add {there} && ip netns exec {here} true"
        f" && ip -n {here} link add e0 mtu 8896 type veth peer name e0 mtu {mtu_there} netns {there}"
        f" && ip -n {here} address add 10.9.0.1/24 dev e0 && ip -n {there} address add 10.9.0.2/24 dev e0"
        f" && ip -n {here} link set e0 up && ip -n {there} link set e0 up"
        f" && ip netns exec {there} sysctl -qw net.ipv4.icmp_echo_ignore_all={ignores_pings}"
    )
    try:
        made = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
        if made.returncode:
            pytest.skip(f"this machine makes no network namespace: {made.stderr.strip()}")
        program = f"import {master_facts.__module__} as network; print(network.master_facts('10.9.0.2'))"
        done = subprocess.run(
            ["ip", "netns", "exec", here, sys.executable, "-c", program],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3] / "collections")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert f"'mtu': 8896, 'address': '10.9.0.2', 'path_mtu': {arrives}}}" in done.stdout, done.stderr
    finally:
        for name in (here, there):
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def test_interfaces_in_one_network() -> None:
    addresses = {"ens1": ["10.0.0.1/24", "fd00::1/64"], "ens2": ["10.0.0.2/24"], "ens3": ["10.0.1.1/24", "fd00::2/64"]}
    interfaces = {name: {"addresses": found} for name, found in addresses.items()}
    assert in_one_network(interfaces, ["ens1", "ens2", "ens3", "ens4"]) == ["ens1", "ens2"]
    assert in_one_network(interfaces, ["ens1", "ens3"]) == []


def test_without_an_answer_nothing_is_known_of_the_path() -> None:
    assert path_mtu("127.0.0.1", None) is None
    assert path_mtu("::1", 1500) is None


def test_names_and_addresses_resolve_with_ipv4_first() -> None:
    assert resolve("localhost")[0] == "127.0.0.1"
    assert resolve("10.1.2.3") == ["10.1.2.3"]
    assert resolve("no-such-host.invalid") == []


def test_a_name_that_leads_to_oneself_is_loopback() -> None:
    assert hostname_facts("localhost")["loopback"] is True
    assert hostname_facts("10.1.2.3") == {"addresses": ["10.1.2.3"], "loopback": False}
    assert hostname_facts("no-such-host.invalid") == {"addresses": [], "loopback": False}


def test_a_port_that_somebody_listens_at_is_not_free() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert port_problem(port) == "Address already in use"
    assert port_problem(port) is None
