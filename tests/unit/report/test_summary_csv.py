"""summary.csv: a run is a row."""

from __future__ import annotations

import csv
import io

import pandas as pd
import pytest
from judged_runs import failed_run, judged_run, log_only_run

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.dialects.summary_csv import summary_csv
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.files import csv_text


def test_a_run_is_one_row_with_its_verdict_sizes_and_metrics() -> None:
    (row,) = csv.DictReader(io.StringIO(summary_csv(judged_run())))
    told = ("run_id", "verdict", "nodes", "gpus_per_node", "seconds", "image_digest", "mfu", "step_time_ms_value")
    assert [row[name] for name in told] == ["run-7", "PASS", "2", "8", "341.0", "sha256:abc", "0.41", "10000.0"]
    assert (row["step_time_ms_threshold"], row["step_time_ms_met"], row["loss_value"]) == ("12000.0", "True", "")


def test_a_failure_is_told_in_short() -> None:
    (row,) = csv.DictReader(io.StringIO(summary_csv(failed_run())))
    assert row["reasons"] == "node_failed threshold_missed"
    assert (row["first_failure_node"], row["first_failure_class"]) == ("gpu1", "out_of_memory")


@pytest.mark.parametrize("said", ["=cmd|'/C calc'!A0", "+1+cmd", "-2+3", "@SUM(1)", "=1"])
def test_what_a_node_says_is_no_formula(said: str) -> None:
    run = judged_run()
    for status in run.statuses:
        status["machine"]["image_id"] = said
    (row,) = csv.DictReader(io.StringIO(summary_csv(run)))
    assert row["image_digest"] == f"'{said}"


def test_a_number_below_zero_stays_one() -> None:
    assert csv_text(["a", "b"], [{"a": -1.5, "b": "-0.25"}]) == "a,b\n-1.5,-0.25\n"


def test_the_rows_of_all_runs_have_the_same_columns() -> None:
    frames = [pd.read_csv(io.StringIO(summary_csv(run))) for run in (judged_run(), failed_run(), log_only_run())]
    assert pd.concat(frames).shape == (3, len(frames[0].columns))
