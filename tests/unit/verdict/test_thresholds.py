# SPDX-License-Identifier: GPL-3.0-or-later
"""Bounds of each kind against the nodes' measurements."""

from __future__ import annotations

import math
import typing as t

import pytest
from training_logs import frame_of

from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.frame import attempts_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.statistics import of_nodes
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.thresholds import (
    judge_bounds,
    margin_of,
    with_thresholds,
)


def bound(kind: str, value: float, **more: t.Any) -> dict[str, t.Any]:
    return {"metric": "tflops_per_gpu", "kind": kind, "value": value, **more}


def judged(one: dict[str, t.Any], /, **values: list[float]) -> dict[str, t.Any]:
    """Return a bound as judged of nodes with these TFLOP/s."""
    return judge_bounds([one], of_nodes(attempts_of(frame_of(values, "tflops_per_gpu"))[0]))[0]


@pytest.mark.parametrize(
    ("one", "node", "measured", "limits", "met"),
    [
        (bound("min", 395.0), "slow", 390.0, (395.0, None), False),
        (bound("min", 390.0), "slow", 390.0, (390.0, None), True),
        (bound("max", 405.0), "fast", 410.0, (None, 405.0), False),
        (bound("within", 400.0, tolerance_pct=2.5), "slow", 390.0, (390.0, 410.0), True),
        (bound("within", 408.0, tolerance_pct=3.0), "slow", 390.0, (408 * 0.97, 408 * 1.03), False),
        (bound("ratio", 0.9, reference=450.0), "slow", 390.0, (405.0, None), False),
        (bound("ratio", 1.0, reference="tflops_per_gpu"), "slow", 390.0, (390.0, None), True),
        (bound("info", 999.0), "slow", 390.0, (None, None), None),
    ],
)
def test_each_kind_is_held_against_the_node_that_is_worst_for_it(
    one: dict[str, t.Any], node: str, measured: float, limits: tuple[t.Any, t.Any], met: bool | None
) -> None:
    found = judged(one, slow=[390.0] * 5, fast=[410.0] * 5)
    assert (found["node"], found["measured"], found["met"]) == (node, measured, met)
    assert (found["least"], found["greatest"]) == pytest.approx(limits)
    assert (found["samples"], found["first_step"], found["last_step"]) == (5, 1, 5)


def test_the_interval_of_the_worst_node_comes_with_it() -> None:
    found = judged(bound("min", 390.0), one=[390.0, 391.0, 392.0, 393.0, 399.0])
    low, high = found["interval"].values()
    assert 390.0 <= low < found["measured"] == 392.0 < high <= 399.0


def test_of_a_mean_the_interval_is_its_own() -> None:
    values = [400.0, 400.0, 400.0, 400.0, 400.0, 340.0]
    found = judged(bound("min", 380.0, statistic="mean"), one=values)
    assert (found["measured"], found["within_noise"]) == (390.0, True)
    assert found["interval"]["low"] < 380.0
    assert 390.0 < found["interval"]["high"] <= 400.0


@pytest.mark.parametrize(
    ("one", "within_noise"),
    [
        (bound("min", 401.0), True),
        (bound("min", 399.0), True),
        (bound("max", 401.0), True),
        (bound("within", 390.0, tolerance_pct=2.5), True),
        (bound("min", 380.0), False),
        (bound("max", 380.0), False),
        (bound("info", 400.0), False),
        (bound("min", 401.0, statistic="p95"), False),
    ],
)
def test_a_threshold_inside_the_interval_is_within_the_noise(one: dict[str, t.Any], within_noise: bool) -> None:
    values = [396.0, 404.0, 398.0, 402.0, 400.0, 397.0, 403.0, 399.0, 401.0, 400.0]
    assert judged(one, one=values)["within_noise"] is within_noise


def test_values_without_noise_are_never_within_it() -> None:
    assert judged(bound("min", 400.0), one=[400.0] * 10)["within_noise"] is False


def test_another_statistic_may_be_asked_for_and_has_no_interval() -> None:
    found = judged(bound("min", 380.0, statistic="p05"), one=[380.0, 400.0, 400.0, 400.0, 400.0])
    assert (found["statistic"], found["measured"], found["met"], found["interval"]) == ("p05", 384.0, True, None)


def test_a_reference_that_was_not_measured_leaves_a_ratio_unmeasured() -> None:
    found = judged(bound("ratio", 0.9, reference="step_time_ms"), one=[400.0] * 5)
    assert (found["measured"], found["met"], found["missing"]) == (None, False, ["one"])


@pytest.mark.parametrize(("more", "met"), [({}, False), ({"optional": True}, True)])
def test_what_some_nodes_did_not_measure_is_not_met_unless_it_is_optional(more: t.Any, met: bool) -> None:
    found = judged(bound("min", 300.0, **more), one=[400.0] * 5, other=[float("nan")] * 5)
    assert (found["missing"], found["measured"], found["met"]) == (["other"], 400.0, met)


@pytest.mark.parametrize(("more", "met"), [({}, False), ({"optional": True}, None)])
def test_what_nobody_measured_is_not_met_unless_it_is_optional(more: t.Any, met: bool | None) -> None:
    found = judge_bounds([bound("min", 300.0, **more)], {})[0]
    assert (found["measured"], found["met"], found["least"], found["samples"]) == (None, met, 300.0, 0)


def test_metrics_get_their_threshold_direction_and_whether_it_is_met() -> None:
    by_node = of_nodes(attempts_of(frame_of({"one": [401.0] * 5}, "tflops_per_gpu"))[0])
    bounds = judge_bounds([bound("min", 400.0), bound("info", 1.0), {**bound("max", 9.0), "metric": "loss"}], by_node)
    shown = with_thresholds({"tflops_per_gpu": {"value": 401.0}, "grad_norm": {"value": 1.0}}, bounds)
    assert shown == {
        "tflops_per_gpu": {"unit": "TFLOP/s", "value": 401.0, "threshold": 400.0, "direction": "min", "met": True},
        "grad_norm": {"unit": "1", "value": 1.0, "threshold": None, "direction": None, "met": None},
        "loss": {"unit": "1", "value": None, "samples": 0, "threshold": 9.0, "direction": "max", "met": False},
    }


@pytest.mark.parametrize(
    ("kind", "value", "least", "greatest", "measured", "margin"),
    [
        ("max", 100.0, None, 100.0, 155.9, (0.559, "above", False)),
        ("max", 100.0, None, 100.0, 60.0, (0.4, "below", True)),
        ("min", 5000.0, 5000.0, None, 150.0, (0.97, "below", False)),
        ("min", 5000.0, 5000.0, None, 5000.0, (0.0, "below", True)),
        ("ratio", 0.95, 9500.0, None, 19000.0, (1.0, "above", True)),
        ("within", 400.0, 380.0, 420.0, 410.0, (0.025, "above", True)),
        ("within", 400.0, 380.0, 420.0, 360.0, (0.1, "below", False)),
        ("max", 0.0, None, 0.0, 3.0, None),
        ("max", 100.0, None, 100.0, None, None),
        ("max", 100.0, None, 100.0, math.inf, None),
        ("info", 100.0, None, None, 90.0, None),
    ],
)
def test_a_margin_says_on_which_side_of_its_threshold_a_value_is(kind, value, least, greatest, measured, margin):
    found = margin_of({"kind": kind, "value": value, "least": least, "greatest": greatest, "measured": measured})
    expected = margin and {"share": pytest.approx(margin[0]), "side": margin[1], "met": margin[2]}
    assert found == expected
