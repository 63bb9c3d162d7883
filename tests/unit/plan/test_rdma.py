from __future__ import annotations

import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.rdma import (
    asks_for_rdma,
    device_names,
    level_that_hides_the_network,
)

RDMA = {"NCCL_IB_HCA": "bnxt_re0", "NCCL_DEBUG": "INFO"}


def nodes(env: dict[str, str], count: int = 2) -> list[dict[str, t.Any]]:
    return [{"node": f"gpu0{place}", "env": env} for place in range(count)]


@pytest.mark.parametrize(
    ("env", "asked"),
    [
        (RDMA, True),
        ({"NCCL_IB_GID_INDEX": "3"}, True),
        ({"NCCL_NET": "IB"}, True),
        ({**RDMA, "NCCL_IB_DISABLE": "0"}, True),
        ({**RDMA, "NCCL_IB_DISABLE": "1"}, False),
        ({"NCCL_NET": "Socket"}, False),
        ({"NCCL_IB_HCA": ""}, False),
        ({}, False),
    ],
)
def test_a_plan_that_names_rdma_devices_asks_for_rdma(env, asked):
    assert asks_for_rdma("multi_node", nodes(env)) is asked


def test_a_job_on_one_node_talks_to_nobody():
    assert not asks_for_rdma("single_node", nodes(RDMA))
    assert not asks_for_rdma("multi_node", nodes(RDMA, count=1))


@pytest.mark.parametrize(
    ("env", "hidden"),
    [(RDMA, None), ({"NCCL_DEBUG": "trace"}, None), ({"NCCL_DEBUG": "ERROR"}, "ERROR"), ({}, "")],
)
def test_nccl_names_its_network_at_two_levels_only(env, hidden):
    assert level_that_hides_the_network(nodes(env)) == hidden


DEVICES = ["mlx5_0", "mlx5_1", "mlx5_10", "bnxt_re0"]


@pytest.mark.parametrize(
    ("value", "selected"),
    [
        ("mlx5", ["mlx5_0", "mlx5_1", "mlx5_10"]),
        ("mlx5_1:1,bnxt_re0", ["mlx5_1", "mlx5_10", "bnxt_re0"]),
        ("=mlx5_1:1", ["mlx5_1"]),
        ("^mlx5_1", ["mlx5_0", "bnxt_re0"]),
        ("^=mlx5_1", ["mlx5_0", "mlx5_10", "bnxt_re0"]),
        ("", DEVICES),
        (None, DEVICES),
    ],
)
def test_names_of_devices_are_read_as_nccl_reads_them(value, selected):
    names = device_names(value)
    assert [device for device in DEVICES if names.select(device)] == selected
