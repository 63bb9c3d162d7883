# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever number a log or a node reports, there is a verdict and a report, and all their readers go on."""

from __future__ import annotations

import json
import math
import typing as t
from pathlib import Path

import pytest
from training_logs import STARTED_AT, Node, known_of, lines, plan_of

from ansible_collections.trainops.cluster.plugins.module_utils.logs.record import EVIDENCE, METRICS
from ansible_collections.trainops.cluster.plugins.module_utils.logs.settings import SETTINGS
from ansible_collections.trainops.cluster.plugins.module_utils.node.contracts import Reading
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.compare import comparison_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.compare_write import write_comparison
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.dialects.known import DIALECTS
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.runs_index import write_index
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.side_by_side import side_by_side
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.text import verdict_lines
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.write import write_report
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board

STEPS = 24
LARGE = (1e308, -1e308, 3.4e38)
SMALL = (5e-324, -5e-324, 1e-45, 0.0)
NO_NUMBERS = (math.inf, -math.inf, math.nan)
COUNTS = (0, 2**31, 2**53)
TIMES = (0.0, 5e-324, 1e10)
OF_STATUS = {
    **dict.fromkeys(
        ("first_step", "steps_total", "last_step", "world_size", "log_bytes", "starts", "conflicts"), COUNTS
    ),
    **dict.fromkeys(("started_at", "ended_at", "last_step_at"), TIMES),
    "exit_status": (-(2**31), 2**31),
}
USUAL = {
    "step_time_ms": 100.0,
    "tflops_per_gpu": 400.0,
    "tokens_per_sec_per_gpu": 40_960.0,
    "memory_fraction": 0.5,
    "loss": 4.0,
    "grad_norm": 1.0,
    "learning_rate": 1e-4,
    "skipped_iterations": 0.0,
    "nan_iterations": 0.0,
    "clock": STARTED_AT,
    "consumed_samples": 8.0,
    "global_batch_size": 8.0,
}
BOUNDS = [
    {"metric": metric, "kind": "max" if of.better == "lower" else "min", "value": 1.0}
    for metric, of in METRICS.items()
    if of.better != "none"
]
NAMES = (*METRICS, *EVIDENCE)
OF_SETTINGS = (1e308, 5e-324, math.inf, 0.0)
READINGS = [name for name in Reading.__annotations__ if name != "held_down_by"]
Values = t.Sequence[float]


def run_of(runs: Path, run_id: str, changed: t.Mapping[str, Values] | None = None, **status: t.Any) -> Path:
    """Return the folder of a run of two nodes, one with other values of some metrics, or another status."""
    board = Board(runs / run_id)
    board.write_plan(
        plan_of(["gpu00", "gpu01"], run_id=run_id, parameters={"iterations": STEPS, "nnodes": 2}, expected=BOUNDS)
    )
    for rank, name in enumerate(("gpu00", "gpu01")):
        known, _rows = known_of(Node(name, lines(range(1, STEPS + 1), STEPS)), runs, rank)
        board.update(**{**known, "log_run_id": run_id, **(status if rank else {})})
        per_step = {"clock": 0.1, "consumed_samples": 8.0, "loss": -0.05}
        metrics: dict[str, list[float]] = {
            metric: [value + per_step.get(metric, 0.0) * step for step in range(STEPS)]
            for metric, value in USUAL.items()
        }
        metrics |= {metric: list(values) for metric, values in (changed or {}).items()} if rank else {}
        block = {"attempt": 1, "steps": [*range(1, STEPS + 1)], "steps_total": STEPS, "metrics": metrics}
        board.append_steps(name, [t.cast("t.Any", block)])
    return board.run_dir


def report(runs: Path, *run_dirs: Path) -> None:
    """Report runs, and write everything made from them, too: dialects, history, comparisons and index."""
    summaries = []
    for run_dir in (run_of(runs, "usual"), *run_dirs):
        summary, _changed = write_report(run_dir, 2, runs / "history", sorted(DIALECTS))
        assert summary["verdict"] in ("PASS", "FAIL", "ERROR", "INCONCLUSIVE")
        assert json.loads((run_dir / "summary.json").read_text(), parse_constant=pytest.fail) == summary
        assert verdict_lines(str(run_dir / "report.html"), verbose=True)
        summaries.append(summary)
    for run_dir in run_dirs:
        write_comparison(runs / "comparison", comparison_of(["usual", run_dir.name], runs, runs / "history"))
    assert side_by_side(summaries)
    write_index(runs)


def series_of(name: str) -> dict[str, list[float]]:
    """Return values of a metric that no trainer has, by a name for each."""
    usual = USUAL.get(name, 1.0)
    return {
        **{f"{value}": [value] * STEPS for value in (1e308, -1e308, 5e-324, math.inf, math.nan)},
        "once": [usual] * (STEPS - 3) + [1e308, *[usual] * 2],
        "both": [3.4e38, -3.4e38] * (STEPS // 2),
        "last": [usual] * (STEPS - 1) + [5e-324],
    }


def test_values_that_no_trainer_has_leave_a_verdict_and_a_report(tmp_path: Path) -> None:
    # Each run has other values of every metric, and all have all of each.
    runs = [
        {name: list(series_of(name).values())[(place + number) % 8] for place, name in enumerate(NAMES)}
        for number in range(8)
    ]
    report(tmp_path, *(run_of(tmp_path, f"run-{number}", changed) for number, changed in enumerate(runs)))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_such_values_of_one_metric_leave_a_verdict_and_a_report(name: str, tmp_path: Path) -> None:
    report(tmp_path, *(run_of(tmp_path, run_id, {name: values}) for run_id, values in series_of(name).items()))


@pytest.mark.slow
def test_one_value_of_all_metrics_leaves_a_verdict_and_a_report(tmp_path: Path) -> None:
    values = (*LARGE, *SMALL, *NO_NUMBERS)
    report(tmp_path, *(run_of(tmp_path, f"{value}", dict.fromkeys(NAMES, [value] * STEPS)) for value in values))


@pytest.mark.parametrize("shift", [pytest.param(shift, marks=pytest.mark.slow) for shift in range(len(OF_SETTINGS))])
def test_settings_that_no_trainer_has_leave_a_verdict_and_a_report(shift: int, tmp_path: Path) -> None:
    # Each is tried alone: one that is refused may hide the others.
    for place, name in enumerate(SETTINGS):
        value = OF_SETTINGS[(place + shift) % len(OF_SETTINGS)]
        write_report(run_of(tmp_path, name, None, settings={name: [value]}), 2)


def test_readings_that_no_sensor_gives_leave_a_verdict_and_a_report(tmp_path: Path) -> None:
    run_dirs = []
    for value in (1.7e308, -1.7e308, 5e-324):
        run_dirs.append(run_of(tmp_path, f"{value}"))
        for seconds in range(5):
            reading = {**dict.fromkeys(READINGS, value), "held_down_by": None}
            Board(run_dirs[-1]).append_readings("gpu01", STARTED_AT + 15 * seconds, [t.cast("t.Any", reading)] * 2)
    report(tmp_path, *run_dirs)


def test_step_numbers_that_no_training_has_leave_a_verdict_and_a_report(tmp_path: Path) -> None:
    run_dirs = []
    for steps in ([1, 2**53], [2**53 - 1, 2**53], [1, 2, 10**30]):
        run_dirs.append(run_of(tmp_path, f"run-{len(run_dirs)}"))
        block = {"attempt": 2, "steps": steps, "steps_total": 2**53, "metrics": {"loss": [1.0] * len(steps)}}
        Board(run_dirs[-1]).append_steps("gpu01", [t.cast("t.Any", block)])
    report(tmp_path, *run_dirs)


@pytest.mark.parametrize("shift", [pytest.param(shift, marks=pytest.mark.slow) for shift in range(len(COUNTS))])
def test_counts_and_times_that_no_node_has_leave_a_verdict_and_a_report(shift: int, tmp_path: Path) -> None:
    statuses = [{name: values[(place + shift) % len(values)]} for place, (name, values) in enumerate(OF_STATUS.items())]
    report(tmp_path, *(run_of(tmp_path, f"run-{place}", None, **status) for place, status in enumerate(statuses)))
