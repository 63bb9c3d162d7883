"""perf.csv, read as madengine's tools read it: with pandas, by column."""

from __future__ import annotations

import io

import pandas as pd
import pytest
from judged_runs import failed_run, judged_run, log_only_run

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.dialects.perf_csv import perf_csv


def read(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text), keep_default_na=False)


def test_each_metric_is_a_row_under_the_name_and_unit_of_mad() -> None:
    rows = read(perf_csv(judged_run()))
    assert list(zip(rows["metric"], rows["performance"], strict=True)) == [
        ("tok_per_s_per_gpu", 12_100.0),
        ("seconds_per_step", 10.0),
    ]
    first = rows.iloc[0]
    assert (first["n_gpus"], first["nnodes"], first["gpus_per_node"]) == (16, 2, 8)
    assert (first["model"], first["training_precision"], first["gpu_architecture"]) == ("llama3_1_8b", "fp8", "gfx942")
    assert (first["launcher"], first["deployment_type"]) == ("megatron-lm", "ansible")
    assert (first["docker_image"], first["docker_sha"]) == ("rocm/megatron-lm:v25.5", "sha256:abc")
    assert (first["status"], first["test_duration"], first["dataname"]) == ("SUCCESS", 341.0, "mock")


def test_the_relative_change_is_since_the_run_before() -> None:
    rows = read(perf_csv(judged_run(previous={"tokens_per_sec_per_gpu": 11_000.0, "step_time_ms": None})))
    assert [float(change or "nan") for change in rows["relative_change"]] == pytest.approx(
        [0.1, float("nan")], nan_ok=True
    )


def test_without_a_run_before_there_is_no_relative_change() -> None:
    assert set(read(perf_csv(judged_run()))["relative_change"]) == {""}


@pytest.mark.parametrize(
    ("verdict", "status"), [("PASS", "SUCCESS"), ("INCONCLUSIVE", "FAILURE"), ("ERROR", "FAILURE")]
)
def test_only_a_pass_is_a_success(verdict: str, status: str) -> None:
    assert set(read(perf_csv(judged_run(verdict)))["status"]) == {status}


def test_a_failed_run_has_what_it_measured() -> None:
    rows = read(perf_csv(failed_run()))
    assert set(rows["metric"]) == {"TFLOPS_per_gpu", "seconds_per_step"}
    assert set(rows["status"]) == {"FAILURE"}


def test_a_rehearsal_and_a_run_without_metrics_are_one_row_without_performance() -> None:
    for run, status in ((judged_run(rehearsal=True), "SKIPPED"), (log_only_run(), "FAILURE")):
        (row,) = read(perf_csv(run)).to_dict("records")
        assert (row["performance"], row["metric"], row["status"]) == ("", "", status)
