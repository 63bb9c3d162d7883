"""Finding the interface that a plan leaves at auto, on this machine's own network."""

from __future__ import annotations

import pytest
from not_run import need

from ansible_collections.trainops.cluster.plugins.module_utils.node.interfaces import with_interfaces


def node(master: str, **variables: str) -> dict:
    arguments = [f"{key}={value}" for key, value in variables.items()]
    return {"master_address": master, "env": variables, "argv": ["bash", "train.sh", *arguments]}


def test_auto_becomes_the_interface_that_holds_the_address_of_rank_0():
    need("ip")
    found = with_interfaces(node("127.0.0.1", NCCL_SOCKET_IFNAME="auto", GLOO_SOCKET_IFNAME="eth9"))
    assert found["env"]["NCCL_SOCKET_IFNAME"] == "lo"
    assert found["env"]["GLOO_SOCKET_IFNAME"] == "eth9"
    assert "NCCL_SOCKET_IFNAME=lo" in found["argv"]
    assert "GLOO_SOCKET_IFNAME=eth9" in found["argv"]


def test_a_plan_that_names_its_interfaces_stays_as_it_is():
    named = node("nosuch.invalid", NCCL_SOCKET_IFNAME="fab0")
    assert with_interfaces(named) is named


def test_a_master_that_nobody_knows_is_told():
    with pytest.raises(ValueError, match=r"nosuch\.invalid"):
        with_interfaces(node("nosuch.invalid", NCCL_SOCKET_IFNAME="auto"))
