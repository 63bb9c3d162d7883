# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a run is proven to be worse than the earlier ones of its kind, and where that is reported."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from history_runs import run_row
from judged_runs import judged_run

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.compare_write import first_sentence
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.dialects.summary_csv import summary_csv
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.history import UNKNOWN, history_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.history_store import write_row
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.regression import (
    case_of,
    change_in_words,
    regression_of,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.text import notification

TOKENS = "tokens_per_sec_per_gpu"


@pytest.fixture
def against(tmp_path: Path) -> t.Callable[..., dict[str, t.Any]]:
    """Return a function that compares a value with nine earlier runs around 100 tokens/s."""
    for hour in range(9):
        write_row(tmp_path, run_row(f"old{hour}", 100.0 + hour % 3, hour))

    def compare(value: float) -> dict[str, t.Any]:
        return history_of(run_row("new", value, 20), tmp_path)

    return compare


def test_a_proven_regression_has_its_number_and_what_it_was_compared_with(against: t.Any) -> None:
    found = regression_of(against(90.0))
    assert found is not None
    assert (found["metric"], found["runs"], found["value"], found["before"]) == (TOKENS, 9, 90.0, 101.0)
    assert found["percent"] == pytest.approx(-10.9, abs=0.1)
    assert found["low"] > 90.0
    assert (found["code"], found["case"]) == ("regression", "slower")
    assert found["message"] == ("10.9 % slower than the last 9 runs of this kind: 90.00 tokens/s per GPU against 101.0")


@pytest.mark.parametrize(
    ("metric", "before", "after", "percent", "case", "said"),
    [
        (TOKENS, 100.0, 120.0, 20.0, "faster", "20.0 % faster than monday: 120.0 tokens/s per GPU against 100.0"),
        ("step_time_ms", 100.0, 120.0, 20.0, "slower", "20.0 % slower than monday: 120.0 ms against 100.0"),
        ("step_time_ms", 100.0, 100.0, 0.0, "as_fast", "as fast as monday: 100.0 ms against 100.0"),
        ("loss", 2.0, 2.1, 5.0, "higher", "Loss 5.0 % higher than in monday: 2.100 against 2.000"),
        ("loss", 2.0, 1.9, -5.0, "lower", "Loss 5.0 % lower than in monday: 1.900 against 2.000"),
        ("loss", 2.0, 2.0, 0.004, "same", "Loss as in monday: 2.000 against 2.000"),
        ("loss", 0.0, 2.0, None, "from_nothing", "Loss 2.000 against 0 in monday"),
    ],
)
def test_how_a_metric_changed_has_a_case_and_a_sentence(
    metric: str, before: float, after: float, percent: float | None, case: str, said: str
) -> None:
    change = {"before": before, "after": after, "percent": percent, "runs": 1}
    assert case_of(metric, change) == case
    assert change_in_words(metric, change, "monday") == said


@pytest.mark.parametrize("value", [100.0, 130.0])
def test_noise_and_a_better_run_are_no_regression(against: t.Any, value: float) -> None:
    assert regression_of(against(value)) is None


def test_few_runs_prove_nothing(tmp_path: Path) -> None:
    write_row(tmp_path, run_row("old", 100.0, 1))
    assert regression_of(history_of(run_row("new", 50.0, 2), tmp_path)) is None


def test_the_notification_and_the_row_of_the_run_have_it(against: t.Any, tmp_path: Path) -> None:
    run = judged_run(
        regression=regression_of(against(90.0)), notes=[], stragglers={"nodes": []}, thresholds_judged=True
    )
    folder = tmp_path / "run-7"
    folder.mkdir()
    (folder / "summary.json").write_text(json.dumps(run.summary))
    body = notification(folder, "", "")
    assert body["regression"]["message"] in body["text"]
    assert body["regression"]["metric"] == TOKENS
    header, row = (line.split(",") for line in summary_csv(run).splitlines())
    assert float(row[-1 - header[::-1].index("regression_percent")]) == pytest.approx(-10.9, abs=0.1)


def test_a_comparison_says_which_run_is_slower_by_how_much_and_whether_that_is_real(against: t.Any) -> None:
    changes = against(90.0)["comparison"]
    said = first_sentence(["monday", "tuesday"], changes)
    assert said.startswith("tuesday is 10.9 % slower than monday")
    assert "real" in said
    assert "noise" in first_sentence(["monday", "tuesday"], against(100.0)["comparison"])
    assert "Not known" in first_sentence(["a", "b"], {TOKENS: {**changes[TOKENS], "outcome": UNKNOWN}})
    assert first_sentence(["a", "b"], {TOKENS: {**changes[TOKENS], "after": 101.0, "percent": 0.0}}).startswith(
        "b is as fast"
    )
    assert first_sentence(["a", "b"], {})
