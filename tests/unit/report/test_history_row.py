# SPDX-License-Identifier: GPL-3.0-or-later
"""The conditions under which two runs are the same measurement."""

from __future__ import annotations

import json
import math

import pytest
from history_runs import plan_of, run_row, statuses_of, summary_of

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.history_row import row_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.status import status_of


def test_a_row_tells_the_run_its_key_and_its_values():
    row = run_row("a", 9_900.0)
    assert (row["run_id"], row["framework"], row["model"], row["gpu"]) == ("a", "megatron", "llama3_1_8b", "mi300x")
    assert (row["nnodes"], row["gpus_per_node"], row["precision"], row["global_batch_size"]) == (2, 8, "bf16", 128)
    assert (row["image"], row["image_digest"]) == ("rocm/megatron-lm:v25.5", "sha256:one")
    assert (row["tokens_per_sec_per_gpu"], row["loss"], row["mfu"], row["samples"]) == (9_900.0, None, None, 28)


def test_an_interval_and_the_mfu_of_the_summary_are_kept():
    plan = plan_of("a")
    summary = summary_of(plan)
    summary["metrics"]["tokens_per_sec_per_gpu"]["interval"] = {"low": 9_000.0, "high": 11_000.0}
    row = row_of(summary | {"mfu": 0.41}, plan, statuses_of(plan))
    assert (row["tokens_per_sec_per_gpu_low"], row["tokens_per_sec_per_gpu_high"]) == (9_000.0, 11_000.0)
    assert row["mfu"] == 0.41


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1.7e308])
def test_a_value_that_nothing_can_be_reckoned_with_is_none(value):
    plan = plan_of("a")
    summary = summary_of(plan, value)
    summary["metrics"]["tokens_per_sec_per_gpu"]["interval"] = {"low": 1.0, "high": math.inf}
    row = row_of(summary | {"mfu": value}, plan, statuses_of(plan))
    assert {row[f"tokens_per_sec_per_gpu{bound}"] for bound in ("", "_low", "_high")} | {row["mfu"]} == {None}


@pytest.mark.parametrize(
    "same",
    [
        {"iterations": 90},
        {"nic_type": "cx7"},
        {"env": {"NCCL_DEBUG": "INFO"}},
        {"overrides": {"config.training_iterations": 90, "batch_size": 128}},
    ],
)
def test_what_changes_no_measurement_changes_no_key(same):
    assert run_row("a")["key"] == run_row("b", hour=5, verdict="FAIL", **same)["key"]


@pytest.mark.parametrize(
    "other",
    [
        {"nodes": 4},
        {"precision": "fp8"},
        {"global_batch_size": 256},
        {"gpu": "mi325x"},
        {"model": "llama3_1_70b"},
        {"image_id": "sha256:two"},
        {"overrides": {"recompute": 1}},
        {"gpus_per_node": 4},
    ],
)
def test_what_changes_the_measurement_changes_the_key(other):
    assert run_row("a")["key"] != run_row("b", **other)["key"]


def test_the_scaling_key_is_the_same_for_other_node_counts_and_batches_only():
    row = run_row("a")
    assert row["scaling_key"] == run_row("b", nodes=4, global_batch_size=256)["scaling_key"]
    assert row["scaling_key"] != run_row("b", nodes=4, precision="fp8")["scaling_key"]


def test_a_single_node_is_the_first_point_of_a_scaling_curve_but_jobs_beside_each_other_are_none():
    key = run_row("a")["scaling_key"]
    assert key == run_row("b", nodes=1, mode="single_node")["scaling_key"]
    assert key != run_row("b", nodes=2, mode="single_node")["scaling_key"]


def test_a_run_that_never_came_to_its_image_is_known_by_the_image_s_name():
    plan = plan_of("a")
    statuses = [status_of({"node": node["node"], "status": "not_started"}) for node in plan["nodes"]]
    row = row_of(summary_of(plan, None, "ERROR", None), plan, statuses)
    assert row["image_digest"] == "rocm/megatron-lm:v25.5"
    assert row["samples"] == 0
    assert json.loads(row["identity"])["image_digest"] == "rocm/megatron-lm:v25.5"
