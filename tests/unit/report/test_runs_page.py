# SPDX-License-Identifier: GPL-3.0-or-later
"""Several runs on one page."""

from __future__ import annotations

import json

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.runs_index import write_runs_page


def summary(run_id, verdict="PASS", **metrics):
    return {
        "run_id": run_id,
        "verdict": verdict,
        "framework": "megatron",
        "model": "llama3_1_8b",
        "gpu": "mi300x",
        "nodes": [{"last_step": 30}],
        "metrics": {metric: {"value": value} for metric, value in metrics.items()},
        "reasons": [] if verdict == "PASS" else [{"message": "Node <b> never wrote a step."}],
        "first_failure": None,
        "mfu": 0.4125 if metrics else None,
    }


@pytest.fixture
def written(tmp_path):
    """Return a function that writes the page of runs beside their folders, and returns whether that changed it."""

    def write(*summaries):
        return write_runs_page(tmp_path, [str(tmp_path / found["run_id"]) for found in summaries], summaries)

    return write


def test_each_run_has_its_verdict_its_metrics_and_a_link_to_its_report(written, tmp_path):
    fast, slow = summary("fast", step_time_ms=100.0), summary("slow", step_time_ms=125.0)
    assert written(fast, slow, summary("dead", "ERROR")) is True
    page = (tmp_path / "comparison.html").read_text()
    assert '<a href="slow/report.html">slow</a>' in page
    assert "+25.0 %" in page
    assert ">41.2<" in page
    assert "2 PASS, 1 ERROR" in page
    assert "Node &lt;b&gt; never wrote a step." in page
    runs = {run["name"]: run for run in json.loads((tmp_path / "comparison.json").read_text())}
    assert runs["slow"]["changes"] == {"step_time_ms": 25.0}
    assert (runs["fast"]["changes"], runs["dead"]["reason"]) == ({}, "Node <b> never wrote a step.")


def test_what_is_not_known_of_a_run_is_a_dash(written, tmp_path):
    written(summary("logs") | {"framework": "", "model": "", "gpu": ""}, summary("a"))
    assert "<td>–</td>" in (tmp_path / "comparison.html").read_text()


def test_losses_of_different_steps_have_no_percentage(written, tmp_path):
    short, long, same = (summary(name, loss=loss) for name, loss in (("short", 2.5), ("long", 1.5), ("same", 2.0)))
    for found, step in ((short, 30), (long, 90), (same, 30)):
        found["metrics"]["loss"]["last_step"] = step
    written(short, long, same)
    runs = {run["name"]: run for run in json.loads((tmp_path / "comparison.json").read_text())}
    assert (runs["long"]["changes"], runs["same"]["changes"]) == ({}, {"loss": pytest.approx(-20.0)})


def test_runs_are_drawn_by_the_first_metric_that_one_of_them_tells(written, tmp_path):
    written(summary("a", step_time_ms=100.0), summary("b", step_time_ms=100.0, tflops_per_gpu=400.0))
    assert "<h2>Compute per GPU (TFLOP/s)</h2>" in (tmp_path / "comparison.html").read_text()
    written(summary("a"), summary("b"))
    assert 'id="chart"' not in (tmp_path / "comparison.html").read_text()


def test_the_same_runs_are_written_once(written):
    runs = summary("a", step_time_ms=100.0), summary("b", step_time_ms=101.0)
    assert (written(*runs), written(*runs), written(runs[0], summary("b", step_time_ms=102.0))) == (True, False, True)
