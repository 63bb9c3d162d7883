from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.rdma import PROVIDERS
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.rdma import ALIASES, NIC_TYPES
from ansible_collections.trainops.cluster.plugins.plugin_utils.preflight.look import (
    best_gid,
    fitting_gids,
    rule_of,
    selected_devices,
)

DEVICES = [{"name": f"mlx5_{number}", "provider": "mlx5"} for number in range(12)]


def test_every_kind_names_a_provider_that_nodes_are_asked_for() -> None:
    assert {rule.provider for rule in NIC_TYPES.values()} <= set(PROVIDERS.values())
    assert set(ALIASES.values()) <= set(NIC_TYPES)


@pytest.mark.parametrize(
    ("nic_type", "provider"), [("thor2", "bnxt_re"), ("Broadcom", "bnxt_re"), ("AINIC", "ionic"), ("cx7", "mlx5")]
)
def test_kinds_are_known_whatever_their_case(nic_type: str, provider: str) -> None:
    rule = rule_of(nic_type, [])
    assert rule is not None
    assert rule.provider == provider


def test_without_a_kind_the_devices_tell() -> None:
    assert rule_of(None, DEVICES) == NIC_TYPES["cx7"]
    assert rule_of(None, []) is None
    assert rule_of("token_ring", DEVICES) is None


@pytest.mark.parametrize(
    ("names", "selected", "unknown"),
    [
        (None, 12, []),
        ("mlx5_0,mlx5_2", 2, []),
        ("mlx5_1", 3, []),
        ("=mlx5_1", 1, []),
        ("=mlx5_1:1,mlx5_2:1", 2, []),
        ("^mlx5_0,mlx5_2", 10, []),
        ("^=mlx5_1", 11, []),
        ("mlx5_0,bnxt_re0", 1, ["bnxt_re0"]),
    ],
)
def test_names_select_as_nccl_reads_them(names: str | None, selected: int, unknown: list[str]) -> None:
    found = selected_devices(DEVICES, names)
    assert (len(found.devices), found.unknown) == (selected, unknown)


def gid(index: int, kind: str, address: str) -> dict[str, object]:
    return {"index": index, "type": kind, "address": address}


def test_ipv4_goes_before_ipv6_and_link_local_never_fits() -> None:
    ipv6 = [gid(0, "RoCE v2", "fe80::1"), gid(1, "RoCE v2", "169.254.3.4"), gid(5, "RoCE v2", "2001:db8::1")]
    assert fitting_gids({"gids": ipv6}) == {5}
    assert fitting_gids({"gids": [*ipv6, gid(7, "RoCE v2", "10.0.0.1"), gid(6, "RoCE v1", "10.0.0.1")]}) == {7}


def test_the_usual_index_goes_first_if_it_fits() -> None:
    assert best_gid({1, 3, 5}, NIC_TYPES["thor2"]) == 3
    assert best_gid({4, 5}, NIC_TYPES["thor2"]) == 4
    assert best_gid(set(), None) is None
