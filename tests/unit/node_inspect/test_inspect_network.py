from __future__ import annotations

import json
import socket

from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.network import (
    hostname_facts,
    interfaces_in,
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
    assert route_in(json.dumps(away)) == {"interface": "ens1np0", "source": "10.0.0.5", "own": False}
    here = [{"type": "local", "dst": "10.0.0.5", "dev": "lo", "prefsrc": "10.0.0.5", "flags": []}]
    assert route_in(json.dumps(here)) == {"interface": None, "source": "10.0.0.5", "own": True}


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
