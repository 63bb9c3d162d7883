from __future__ import annotations

import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.workload import (
    LEAST_OF_A_STEP,
    least_bytes_sent,
)

SIZES = {"tensor_parallelism": 1, "pipeline_parallelism": 1, "gpus_per_node": 8}
BILLION = 10**9


def least(nodes: int, parameters: int | None = 8 * BILLION, precision: str = "bf16", steps: int = 1, **sizes: t.Any):
    workload = {"parameters": parameters, "precision": precision}
    return least_bytes_sent(workload, SIZES | sizes, nodes, steps)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # A reduce-scatter between n nodes sends (n - 1) / n of the gradients; half of that is surely sent.
        ({"nodes": 2}, 4 * BILLION),
        ({"nodes": 4}, 6 * BILLION),
        ({"nodes": 2, "steps": 50}, 200 * BILLION),
        ({"nodes": 2, "precision": "fp32"}, 8 * BILLION),
        ({"nodes": 2, "precision": "fp8"}, 4 * BILLION),
        ({"nodes": 2, "tensor_parallelism": 8}, 4 * BILLION),
        # With two stages on four nodes, each node exchanges half of the gradients with one other.
        ({"nodes": 4, "pipeline_parallelism": 2}, 2 * BILLION),
    ],
)
def test_a_node_sends_at_least_its_part_of_the_gradients(given, expected):
    assert least(**given) == expected


@pytest.mark.parametrize(
    "given",
    [
        {"pipeline_parallelism": 2},
        {"tensor_parallelism": 16},
        {"tensor_parallelism": 8, "pipeline_parallelism": 2},
        {"expert_parallelism": 8},
        {"parameters": None},
        {"tensor_parallelism": None},
        {"parameters": 1000},
    ],
    ids=["stages", "tensor parallel over nodes", "no replica", "experts", "unknown model", "unknown", "tiny"],
)
def test_where_gradients_need_not_cross_nodes_any_training_still_exchanges_something(given):
    assert least(nodes=2, steps=3, **given) == 3 * LEAST_OF_A_STEP
    assert least_bytes_sent(None, SIZES, 2, 3) == 3 * LEAST_OF_A_STEP


def test_one_node_sends_nothing():
    assert least(nodes=1) == least(nodes=2, steps=0) == 0
