from __future__ import annotations

import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.findings import Findings
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.rdma import asks_for_rdma, warn_of_silence

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
    ("env", "told"),
    [
        (RDMA, []),
        ({**RDMA, "NCCL_DEBUG": "trace"}, []),
        ({**RDMA, "NCCL_DEBUG": "ERROR"}, ["ERROR"]),
        ({"NCCL_IB_HCA": "bnxt_re0"}, [None]),
        ({"NCCL_DEBUG": "ERROR"}, []),
    ],
)
def test_a_plan_is_warned_of_whose_logs_will_not_tell_that_rdma_was_used(env, told):
    findings = Findings()
    warn_of_silence("multi_node", nodes(env), findings)
    assert [(finding["key"], finding["value"]) for finding in findings.warnings] == [
        ("NCCL_DEBUG", value) for value in told
    ]
