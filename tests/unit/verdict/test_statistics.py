from __future__ import annotations

import math
import statistics

import pytest
from training_logs import frame_of

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.frame import attempts_of, rows_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.statistics import describe, of_nodes, of_run


def test_statistics_by_hand():
    # Between 10, 20, 30, 40 the 5th percentile lies at 0.05 · 3 = 0.15 of the way from the first to the second.
    found = describe(rows_of(frame_of({"n": [40.0, 10.0, 20.0, 30.0]}, "step_time_ms")))["step_time_ms"]
    assert (found["value"], found["median"], found["mean"]) == (25.0, 25.0, 25.0)
    assert (found["samples"], found["first_step"], found["last_step"]) == (4, 1, 4)
    assert found["p05"] == pytest.approx(11.5)
    assert found["p95"] == pytest.approx(38.5)
    assert found["stdev"] == pytest.approx(statistics.stdev([10, 20, 30, 40]))


def test_a_metric_has_the_value_of_its_own_statistic():
    values = [3.0, 9.0, 5.0]
    expected = {"step_time_ms": 5.0, "tokens_per_sec_per_gpu": 5.0, "memory_fraction": 9.0, "loss": 5.0}
    for metric, value in expected.items():
        assert describe(rows_of(frame_of({"n": values}, metric)))[metric]["value"] == value


@pytest.mark.parametrize(
    ("metric", "has_one"), [("step_time_ms", True), ("tflops_per_gpu", True), ("loss", False), ("grad_norm", False)]
)
def test_only_medians_that_a_threshold_bounds_have_an_interval(metric, has_one):
    found = describe(rows_of(frame_of({"n": [3.0, 9.0, 5.0, 4.0, 6.0]}, metric)))[metric]
    assert (found["interval"] is not None) is (found["mean_interval"] is not None) is has_one


def test_only_counted_steps_are_described_and_told():
    found = describe(rows_of(frame_of({"n": [1000.0, 500.0, 10.0, 30.0]}, "step_time_ms", warmup_steps=2)))[
        "step_time_ms"
    ]
    assert (found["median"], found["samples"], found["first_step"], found["last_step"]) == (20.0, 2, 3, 4)


def test_values_that_are_missing_nan_or_infinite_are_no_samples():
    found = describe(rows_of(frame_of({"n": [10.0, math.nan, math.inf, 30.0, math.nan]}, "step_time_ms")))[
        "step_time_ms"
    ]
    assert (found["mean"], found["samples"], found["first_step"], found["last_step"]) == (20.0, 2, 1, 4)


def test_one_value_has_no_deviation_and_no_value_no_statistics():
    assert describe(rows_of(frame_of({"n": [10.0]}, "step_time_ms")))["step_time_ms"]["stdev"] is None
    assert "step_time_ms" not in describe(rows_of(frame_of({"n": [10.0]}, "step_time_ms", warmup_steps=1)))


@pytest.mark.parametrize(
    ("metric", "worst"),
    [("tokens_per_sec_per_gpu", "slow"), ("step_time_ms", "fast"), ("memory_fraction", "fast"), ("loss", "fast")],
)
def test_the_value_of_a_run_is_that_of_its_worst_node_and_the_rest_is_of_all(metric, worst):
    values = {"slow": [1.0, 2.0, 3.0], "fast": [5.0, 6.0, 7.0]}
    steps = frame_of(values, metric)
    by_node = of_nodes(attempts_of(steps)[0])
    run = of_run(steps, by_node)[metric]
    assert run["value_node"] == worst
    assert run["value"] == by_node[worst][metric]["value"]
    assert run["interval"] == by_node[worst][metric]["interval"]
    assert (run["mean"], run["median"], run["samples"]) == (4.0, 4.0, 6)


def test_a_loss_of_an_earlier_step_is_not_that_of_the_worst_node():
    steps = frame_of({"ended": [3.0, 2.5, 2.0], "other": [3.0, 2.5, 2.1], "cut": [3.0, 2.5]}, "loss")
    run = of_run(steps, of_nodes(attempts_of(steps)[0]))["loss"]
    assert (run["value"], run["value_node"], run["last_step"]) == (2.1, "other", 3)


def test_nodes_keep_their_order_and_a_node_without_the_metric_has_none():
    by_node = of_nodes(attempts_of(frame_of({"z": [1.0], "a": [2.0], "m": [math.nan]}, "step_time_ms"))[0])
    assert list(by_node) == ["z", "a", "m"]
    assert "step_time_ms" not in by_node["m"]
