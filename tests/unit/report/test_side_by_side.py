# SPDX-License-Identifier: GPL-3.0-or-later
"""Several runs in one table."""

from __future__ import annotations

import math
import typing as t

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.side_by_side import (
    change_of,
    side_by_side,
    value_of,
)


def summary(run_id: str, verdict: str, last_step: int | None, **values: float) -> dict[str, t.Any]:
    return {
        "run_id": run_id,
        "verdict": verdict,
        "nodes": [{"last_step": None}, {"last_step": last_step}],
        "metrics": {metric: {"value": value, "last_step": last_step} for metric, value in values.items()},
    }


def test_each_run_is_a_line_with_its_difference_from_the_first() -> None:
    runs = [
        summary("before", "PASS", 30, step_time_ms=10_000.0, tflops_per_gpu=400.0, loss=2.5),
        summary("after", "FAIL", 30, step_time_ms=11_000.0, tflops_per_gpu=380.0, loss=2.5),
        summary("none", "ERROR", None),
    ]
    assert side_by_side(runs) == [
        "run     verdict  nodes  last step  TFLOP/s per GPU    step time (ms)         loss",
        "before  PASS         2         30            400.0            10,000        2.500",
        "after   FAIL         2         30   380.0 (−5.0 %)  11,000 (+10.0 %)  2.500 (0 %)",
        "none    ERROR        2          –                –                 –            –",
    ]


def test_a_loss_of_another_step_or_of_none_is_no_change_for_better_or_worse() -> None:
    first = summary("short", "PASS", 30, step_time_ms=100.0, loss=2.5)
    assert change_of(summary("long", "PASS", 90, loss=1.5), first, "loss") is None
    assert change_of(summary("long", "PASS", 90, step_time_ms=110.0), first, "step_time_ms") == pytest.approx(10.0)
    assert change_of(summary("same", "PASS", 30, loss=2.0), first, "loss") == pytest.approx(-20.0)
    unknown = summary("unknown", "PASS", None, loss=2.5)
    assert change_of(summary("unknown too", "PASS", None, loss=2.5), unknown, "loss") is None


def test_a_change_from_nothing_or_from_what_is_below_zero_has_no_wrong_sign() -> None:
    first = summary("first", "PASS", 30, tflops_per_gpu=0.0, loss=-2.0, step_time_ms=1e-300)
    other = summary("other", "PASS", 30, tflops_per_gpu=1.0, loss=-1.0, step_time_ms=1e300)
    metrics = ("tflops_per_gpu", "loss", "step_time_ms", "memory_fraction")
    assert [change_of(other, first, metric) for metric in metrics] == [None, 50.0, None, None]


def test_a_value_that_is_nan_or_infinite_is_none() -> None:
    runs = [summary("a", "PASS", 30, step_time_ms=math.nan, loss=math.inf, tflops_per_gpu=1.0), summary("b", "PASS", 3)]
    assert [value_of(runs[0], metric) for metric in ("step_time_ms", "loss", "tflops_per_gpu")] == [None, None, 1.0]
    assert side_by_side(runs)[0] == "run  verdict  nodes  last step  TFLOP/s per GPU"


def test_a_metric_that_no_run_has_is_no_column() -> None:
    assert side_by_side([summary("a", "ERROR", None)])[0] == "run  verdict  nodes  last step"
