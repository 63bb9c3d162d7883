# SPDX-License-Identifier: GPL-3.0-or-later
"""Model FLOPs utilization, of the run and of each node."""

from __future__ import annotations

import typing as t

import pytest
from training_logs import ALL, WORKLOAD, Node, judged, lines

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.statistics import (
    MODEL_FLOPS,
    TFLOPS,
    utilization_of,
)

BOTH = {"tokens_per_sec_per_gpu": {"value": 8000.0}, "tflops_per_gpu": {"value": 450.0}}


def test_mfu_is_model_flops_over_the_peak() -> None:
    assert utilization_of(WORKLOAD, BOTH) == {"mfu": pytest.approx(0.08), "mfu_basis": MODEL_FLOPS, "mfu_reason": None}


@pytest.mark.parametrize(
    ("changes", "metrics"),
    [
        ({"model_flops_per_token": None, "model_flops_reason": "No dimensions."}, BOTH),
        ({}, {"tflops_per_gpu": {"value": 450.0}}),
    ],
    ids=["flops not known", "no tokens"],
)
def test_without_model_flops_or_tokens_it_is_what_the_trainer_counts(changes: t.Any, metrics: t.Any) -> None:
    expected = {"mfu": 0.45, "mfu_basis": TFLOPS, "mfu_reason": None}
    assert utilization_of(WORKLOAD | changes, metrics) == expected


@pytest.mark.parametrize(
    ("workload", "metrics", "reason"),
    [
        (None, BOTH, "The plan does not state the workload."),
        (WORKLOAD | {"peak_tflops_per_gpu": None, "peak_reason": "No peak."}, BOTH, "No peak."),
        (WORKLOAD, {}, "No counted step shows tokens/s or TFLOP/s."),
        (
            WORKLOAD | {"model_flops_per_token": None, "model_flops_reason": "No dimensions."},
            {"tokens_per_sec_per_gpu": {"value": 8000.0}},
            "No dimensions.",
        ),
    ],
)
def test_where_there_is_none_the_reason_is_told(workload: t.Any, metrics: t.Any, reason: str) -> None:
    assert utilization_of(workload, metrics) == {"mfu": None, "mfu_basis": None, "mfu_reason": reason}


def test_the_run_has_the_mfu_of_its_slowest_node_and_each_node_its_own(tmp_path: t.Any) -> None:
    nodes = [Node("gpu00", ALL), Node("gpu01", lines(range(1, 11), ms=200.0)), Node("gpu02", "silent\n")]
    summary = judged(nodes, tmp_path, mode="single_node", workload=WORKLOAD)
    fast, slow = (10e9 * 4096 * 1000 / ms / 1e15 for ms in (100, 200))
    assert [node["mfu"] for node in summary["nodes"]] == [pytest.approx(fast), pytest.approx(slow), None]
    assert summary["nodes"][2]["mfu_reason"] == "No counted step shows tokens/s or TFLOP/s."
    assert (summary["mfu"], summary["workload"]) == (pytest.approx(slow), WORKLOAD)
