# SPDX-License-Identifier: GPL-3.0-or-later
"""How a run compares with the earlier ones of its key."""

from __future__ import annotations

import json

import pytest
from history_runs import run_row

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.history import (
    LOOKED_AT,
    NOISE,
    REAL,
    UNKNOWN,
    charts_of,
    history_of,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.history_store import write_row

TOKENS = "tokens_per_sec_per_gpu"


def remember(folder, values, **changes):
    for hour, value in enumerate(values):
        write_row(folder, run_row(f"run{hour}", value, hour=hour, **changes))


def test_a_run_is_held_against_the_earlier_ones_that_passed(tmp_path):
    remember(tmp_path, [100.0, 101.0, 99.0, 100.5, 99.5])
    write_row(tmp_path, run_row("bad", 1.0, hour=6, verdict="FAIL"))
    write_row(tmp_path, run_row("later", 1.0, hour=99))
    history = history_of(run_row("now", 90.0, hour=10), tmp_path)
    assert [run["run_id"] for run in history["runs"]] == ["run0", "run1", "run2", "run3", "run4", "bad", "now"]
    change = history["comparison"][TOKENS]
    assert (change["outcome"], change["better"], change["before"], change["percent"]) == (REAL, False, 100.0, -10.0)
    assert history["last_good"] == "run4"
    assert history_of(run_row("now", 100.2, hour=10), tmp_path)["comparison"][TOKENS]["outcome"] == NOISE


def test_a_loss_is_held_against_those_of_the_same_step_and_others_tell_nothing(tmp_path):
    for hour in range(8):
        write_row(tmp_path, run_row(f"run{hour}", hour=hour, loss=(30, 2.5 + hour / 100) if hour < 5 else (10, 5.0)))
    write_row(tmp_path, run_row("older", hour=9) | {"loss": 4.0})
    history = history_of(run_row("now", hour=10, loss=(30, 2.52)), tmp_path)
    change = history["comparison"]["loss"]
    assert (change["before"], change["outcome"]) == (pytest.approx(2.52), NOISE)
    assert "loss" not in history_of(run_row("long", hour=10, loss=(90, 1.0)), tmp_path)["comparison"]
    assert "loss" not in history_of(run_row("unknown", hour=10) | {"loss": 4.0}, tmp_path)["comparison"]


def test_the_noise_is_that_of_all_metrics_that_are_tested_at_once(tmp_path):
    for hour in range(6):
        write_row(tmp_path, run_row(f"run{hour}", hour=hour, loss=(30, 2.5)) | {"mfu": 0.4 if hour else None})
    write_row(tmp_path, run_row("short", hour=7) | {"step_time_ms": 1.0})
    history = history_of(run_row("now", hour=10, loss=(30, 2.5)) | {"mfu": 0.4, "step_time_ms": 1.0}, tmp_path)
    at_once = {metric for metric, change in history["comparison"].items() if "3 metrics together" in change["test"]}
    assert at_once == {TOKENS, "loss", "mfu"}
    assert "step_time_ms" in history["comparison"]


def test_the_first_run_of_a_key_is_told_as_such(tmp_path):
    remember(tmp_path, [100.0] * 6, precision="fp8")
    history = history_of(run_row("now", 90.0, hour=10), tmp_path)
    assert [run["run_id"] for run in history["runs"]] == ["now"]
    assert history["comparison"][TOKENS]["outcome"] == UNKNOWN
    assert (history["last_good"], history["environment"]) == (None, [])
    assert charts_of(history) == {}
    json.dumps(history, allow_nan=False)


def test_what_has_changed_is_told_against_the_last_run_that_passed(tmp_path):
    write_row(tmp_path, run_row("good", hour=1, env={"NCCL_DEBUG": "WARN"}))
    write_row(tmp_path, run_row("bad", hour=2, env={"NCCL_DEBUG": "TRACE"}, verdict="FAIL"))
    history = history_of(run_row("now", hour=3, env={"NCCL_DEBUG": "INFO"}), tmp_path)
    (change,) = history["environment"]
    assert (history["last_good"], change["before"], change["after"]) == ("good", "WARN", "INFO")


def test_of_many_runs_the_last_ones_are_looked_at(tmp_path):
    remember(tmp_path, [100.0] * (LOOKED_AT + 5))
    history = history_of(run_row("now", 100.0, hour=999), tmp_path)
    assert len(history["runs"]) == 21
    assert history["not_looked_at"] is True


def test_the_chart_shows_the_throughput_and_else_the_step_time(tmp_path):
    remember(tmp_path, [100.0] * 3)
    assert list(charts_of(history_of(run_row("now", 1.0, hour=9), tmp_path))) == [TOKENS]
    assert charts_of(history_of(run_row("now", None, hour=9), tmp_path)).keys() <= {TOKENS, "step_time_ms"}
