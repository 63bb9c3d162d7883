# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that a run has once: when its loss reached the target, and how long it took to write a checkpoint."""

from __future__ import annotations

import math
import typing as t
from pathlib import Path

import numpy as np
import pytest
from training_logs import OVER, Node, codes, judged, line, plan_of

from ansible_collections.trainops.cluster.plugins.plugin_utils.run.status import status_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.frame import Rows
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.statistics import with_whole_run

LOSSES = [9.0, 7.0, 5.0, 6.0, 4.5, 4.4, 4.3, 4.2, 4.1, 4.0]
SAVED = "(min, max) time across ranks (ms):\n    save-checkpoint ................................: (1950.20, 2000.50)\n"


def log_of(steps: t.Iterable[int] = range(1, 11), every: int = 1) -> str:
    told = "".join(line(step, loss=LOSSES[step - 1], ms=1000.0) for step in steps)
    return f"  log_interval ................................ {every}\n{told}{OVER}"


def measured(folder: Path, log: str, **plan: t.Any) -> dict[str, t.Any]:
    return judged([Node("gpu0", log)], folder, **{"mode": "single_node", **plan})


def value_of(summary: dict[str, t.Any], metric: str) -> float | None:
    found = summary["metrics"].get(metric)
    return found and found["value"]


@pytest.mark.parametrize(
    ("target", "step"),
    [(5.0, 3), (9.0, 1), (4.0, 10), (3.9, None)],
)
def test_the_first_step_at_or_below_the_target_and_the_time_up_to_it(
    tmp_path: Path, target: float, step: int | None
) -> None:
    summary = measured(tmp_path, log_of(), target_loss=target)
    # Steps of the warm-up, which count for nothing else, took their time as well.
    assert value_of(summary, "steps_to_target_loss") == value_of(summary, "time_to_target_loss") == step
    assert [name for name in summary["nodes"][0]["metrics"] if "target" in name] == (
        ["steps_to_target_loss", "time_to_target_loss"] if step else []
    )
    assert summary["verdict"] == "PASS"


def test_a_line_stands_for_the_steps_since_the_one_before(tmp_path: Path) -> None:
    summary = measured(tmp_path, log_of((2, 4, 6, 8, 10), every=2), target_loss=4.4)
    assert (value_of(summary, "steps_to_target_loss"), value_of(summary, "time_to_target_loss")) == (6, 6)


@pytest.mark.parametrize(("times", "seconds"), [([math.nan, 1000.0, 500.0], 14.0), ([2000.0, math.nan, 500.0], None)])
def test_only_the_time_of_the_first_line_may_be_missing(times: list[float], seconds: float | None) -> None:
    rows = Rows(
        {name: np.array(of) for name, of in (("step", [1, 10, 20]), ("loss", [9.0, 5.0, 4.0]), ("step_time_ms", times))}
    )
    plan: t.Any = plan_of(["gpu0"], target_loss=4.0)
    statuses = [status_of({"node": "gpu0", "settings": {"steps_per_line": [10.0]}})]
    found = with_whole_run({"gpu0": {}}, plan, statuses, {"gpu0": rows})["gpu0"]
    assert found["steps_to_target_loss"]["value"] == 20
    assert (found["time_to_target_loss"]["value"] if "time_to_target_loss" in found else None) == seconds


def test_a_training_that_went_on_from_a_checkpoint_may_have_been_there_before(tmp_path: Path) -> None:
    assert value_of(measured(tmp_path, log_of(range(4, 11)), target_loss=5.0), "steps_to_target_loss") is None


def test_without_a_target_there_is_none(tmp_path: Path) -> None:
    assert value_of(measured(tmp_path, log_of()), "steps_to_target_loss") is None


@pytest.mark.parametrize(
    ("most", "target", "expected"),
    [
        (3.0, 5.0, ("PASS", [])),
        (2.0, 5.0, ("FAIL", [("threshold_missed", None)])),
        (20.0, 3.0, ("INCONCLUSIVE", [("metric_missing", "gpu0")])),
    ],
)
def test_it_is_judged_where_it_has_a_bound(
    tmp_path: Path, most: float, target: float, expected: tuple[str, list[tuple[str, str | None]]]
) -> None:
    bounds = [
        {"metric": name, "kind": "max", "value": most} for name in ("steps_to_target_loss", "time_to_target_loss")
    ]
    for bound in bounds:
        summary = measured(tmp_path, log_of(), target_loss=target, expected=[bound])
        wrong = [] if summary["verdict"] == "PASS" else codes(summary)
        assert (summary["verdict"], wrong) == expected
        assert summary["metrics"][bound["metric"]]["threshold"] == most


def test_the_longest_save_is_recorded_with_the_statistics_of_steps_unchanged(tmp_path: Path) -> None:
    log = log_of()
    place = log.index(" iteration        6/")
    longer = SAVED.replace("2000.50", "7500.00")
    plain, saved = measured(tmp_path, log), measured(tmp_path, log[:place] + longer + log[place:] + SAVED)
    assert value_of(saved, "checkpoint_save_seconds") == 7.5
    assert saved["verdict"] == plain["verdict"] == "PASS"
    assert {name: found for name, found in saved["metrics"].items() if name in plain["metrics"]} == plain["metrics"]
