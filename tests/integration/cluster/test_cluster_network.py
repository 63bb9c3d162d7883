# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ipaddress import IPv4Network

import _network
import pytest
from _run import ClusterError


def test_a_cluster_keeps_its_place_while_that_is_free() -> None:
    first = _network.free_subnet("trainops-0a1b2c", [])

    assert _network.free_subnet("trainops-0a1b2c", [IPv4Network("192.0.2.0/24")]) == first


@pytest.mark.parametrize("taken", ["10.77.{}.0/24", "10.77.{}.17/32", "10.77.{}.0/26"])
def test_a_taken_subnet_is_left_alone(taken: str) -> None:
    first = _network.free_subnet("trainops-0a1b2c", [])

    assert _network.free_subnet("trainops-0a1b2c", [IPv4Network(taken.format(first))]) == (first + 1) % 256


def test_a_summary_route_takes_nothing() -> None:
    first = _network.free_subnet("trainops-0a1b2c", [])

    assert _network.free_subnet("trainops-0a1b2c", [IPv4Network("10.0.0.0/8")]) == first


def test_no_free_subnet_is_said() -> None:
    with pytest.raises(ClusterError, match=r"10\.77\.0\.0/16"):
        _network.free_subnet("trainops-0a1b2c", [IPv4Network("10.77.0.0/16")])


def test_addresses_are_made_of_subnet_and_node() -> None:
    network = _network.Network("trainops-0a1b2c", 72)

    assert network.management(200) == "10.77.72.200"
    assert network.fabric(3) == "10.78.72.3"
    assert network.hardware_address(3, 1) == "02:00:00:48:03:01"
    assert network.namespace("node3") == "trainops-0a1b2c-node3"
