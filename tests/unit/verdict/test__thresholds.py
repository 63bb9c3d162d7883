from __future__ import annotations

import math

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict._thresholds import is_met, judge_thresholds


@pytest.mark.parametrize(
    ("kind", "value", "met"),
    [
        ("min", 10.0, True),
        ("min", 10.1, True),
        ("min", 9.9, False),
        ("max", 10.0, True),
        ("max", 9.9, True),
        ("max", 10.1, False),
        ("min", math.nan, False),
        ("max", math.nan, False),
    ],
)
def test_a_bound_is_met_in_its_own_direction_and_never_by_nan(kind, value, met):
    assert is_met(kind, value, 10.0) is met


def test_metrics_get_their_threshold_direction_and_whether_it_is_met():
    expected = [
        {"metric": "tflops_per_gpu", "kind": "min", "value": 400.0},
        {"metric": "step_time_ms", "kind": "max", "value": 50.0},
    ]
    metrics = {"tflops_per_gpu": {"value": 401.0}, "step_time_ms": {"value": 51.0}, "loss": {"value": 2.0}}
    assert judge_thresholds(expected, metrics) == {
        "tflops_per_gpu": {"value": 401.0, "threshold": 400.0, "direction": "min", "met": True},
        "step_time_ms": {"value": 51.0, "threshold": 50.0, "direction": "max", "met": False},
        "loss": {"value": 2.0, "threshold": None, "direction": None, "met": None},
    }


def test_what_was_expected_and_not_measured_is_not_met():
    expected = [{"metric": "tflops_per_gpu", "kind": "max", "value": 400.0}]
    assert judge_thresholds(expected, {}) == {
        "tflops_per_gpu": {"value": None, "samples": 0, "threshold": 400.0, "direction": "max", "met": False}
    }


def test_what_some_nodes_did_not_measure_is_not_met():
    expected = [{"metric": "tflops_per_gpu", "kind": "min", "value": 400.0}]
    judged = judge_thresholds(expected, {"tflops_per_gpu": {"value": 500.0}}, {"tflops_per_gpu": ["gpu01"]})
    assert judged["tflops_per_gpu"]["met"] is False
