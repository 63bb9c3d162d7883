# SPDX-License-Identifier: GPL-3.0-or-later
"""The messages of a verdict about thresholds."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from training_logs import Node, judged, line, two

STEPS = 12
NOISE = (0.4, -0.9, 1.3, -0.2, 0.7, -1.4, 0.1, 1.0, -0.6, -0.3)


def told(folder: Path, *bounds: dict[str, t.Any], ms: t.Sequence[float] = (), **values: t.Any) -> dict[str, t.Any]:
    times = ms or [500.0 + 3 * noise for noise in (0.0, 0.0, *NOISE)]
    log = "".join(line(step, STEPS, ms=time, **values) for step, time in enumerate(times, 1))
    return judged(two(log), folder, parameters={"iterations": STEPS}, expected=list(bounds))


def bound(metric: str, kind: str, value: float, **more: t.Any) -> dict[str, t.Any]:
    return {"metric": metric, "kind": kind, "value": value, **more}


@pytest.mark.parametrize(
    ("one", "verdict", "message"),
    [
        (
            bound("tokens_per_sec_per_gpu", "min", 8200.0),
            "FAIL",
            "gpu01 reached 8,194 tokens/s per GPU, 0.07 % below the required 8,200.",
        ),
        (
            bound("tokens_per_sec_per_gpu", "min", 8000.0),
            "PASS",
            "gpu01 reached 8,194 tokens/s per GPU, 2.4 % above the required 8,000.",
        ),
        (
            bound("step_time_ms", "max", 480.0),
            "FAIL",
            "gpu01 took 499.9 ms per step, 4.1 % above the allowed 480 ms.",
        ),
        (
            bound("step_time_ms", "max", 480.0, statistic="p95"),
            "FAIL",
            "gpu01 took 503.5 ms per step at the 95th percentile, 4.9 % above the allowed 480 ms.",
        ),
        (
            bound("tflops_per_gpu", "within", 440.0, tolerance_pct=5.0),
            "FAIL",
            "gpu01 reached 400 TFLOP/s per GPU, 9.1 % below the expected 440 ± 5 %.",
        ),
        (
            bound("tflops_per_gpu", "ratio", 0.95, reference=440.0),
            "FAIL",
            "gpu01 reached 400 TFLOP/s per GPU, 4.3 % below the required 95 % of 440.",
        ),
        (
            bound("memory_fraction", "max", 0.4),
            "FAIL",
            "gpu01 used 50 % of its GPU memory, 25.0 % above the allowed 40 %.",
        ),
        (bound("loss", "max", 5.0), "PASS", "gpu01 ended with a loss of 3.98, 20.4 % below the allowed 5."),
    ],
)
def test_a_threshold_says_who_reached_what_and_the_margin(
    one: dict[str, t.Any], verdict: str, message: str, tmp_path: Path
) -> None:
    summary = told(tmp_path, one)
    assert summary["verdict"] == verdict
    assert message in [reason["message"] for reason in summary["reasons"]]


@pytest.mark.parametrize(
    ("limit", "verdict", "note"),
    [(500.5, "PASS", "met"), (499.5, "FAIL", "missed"), (480.0, "FAIL", None), (520.0, "PASS", None)],
)
def test_the_value_decides_and_a_note_tells_of_the_noise(
    limit: float, verdict: str, note: str | None, tmp_path: Path
) -> None:
    summary = told(tmp_path, bound("step_time_ms", "max", limit))
    assert summary["verdict"] == verdict
    notes = [(one["node"], one["case"]) for one in summary["notes"] if one["code"] == "threshold_in_noise"]
    assert notes == ([("gpu01", note)] if note else [])
    assert bool(notes) is summary["thresholds"][0]["within_noise"]


def test_a_value_just_off_its_threshold_does_not_read_as_equal_to_it(tmp_path: Path) -> None:
    summary = told(tmp_path, bound("step_time_ms", "max", 500.0), ms=[500.01] * STEPS)
    assert summary["verdict"] == "PASS"
    summary = told(tmp_path, bound("tokens_per_sec_per_gpu", "min", 8192.1), ms=[500.0] * STEPS)
    assert "gpu01 reached 8,192 tokens/s per GPU, 0.001 % below the required 8,192.1." in [
        reason["message"] for reason in summary["reasons"]
    ]


def test_an_optional_metric_that_nobody_reported_is_a_note(tmp_path: Path) -> None:
    summary = told(tmp_path, bound("tflops_per_gpu", "min", 300.0, optional=True), tflops=None)
    assert summary["verdict"] == "PASS"
    assert "metric_missing" in [note["code"] for note in summary["notes"]]


def test_a_loss_of_a_training_that_did_not_finish_is_open(tmp_path: Path) -> None:
    log = "".join(line(step, STEPS) for step in range(1, 9))
    nodes = [Node("gpu00", "", status="stopped"), Node("gpu01", log, status="stopped")]
    summary = judged(nodes, tmp_path, parameters={"iterations": STEPS}, expected=[bound("loss", "max", 1.0)])
    assert "threshold_open" in [reason["code"] for reason in summary["reasons"]]
