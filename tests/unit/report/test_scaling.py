# SPDX-License-Identifier: GPL-3.0-or-later
"""Scaling curves from runs that differ in their number of nodes."""

from __future__ import annotations

import pytest
from history_runs import run_row

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.history import scaling_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.history_store import read_history, write_row


def curves(folder, runs, **own):
    for number, (nodes, batch, tokens, changes) in enumerate(runs):
        write_row(folder, run_row(f"run{number}", tokens, hour=number, nodes=nodes, global_batch_size=batch, **changes))
    return scaling_of(read_history(folder, []), run_row("now", **own))


def test_weak_scaling_keeps_each_gpu_s_share_of_the_batch(tmp_path):
    runs = [(1, 64, 100.0, {}), (1, 64, 104.0, {}), (2, 128, 96.9, {}), (4, 256, 81.6, {}), (4, 128, 1.0, {})]
    found = curves(tmp_path, runs, nodes=2, global_batch_size=128)
    assert [(point["nnodes"], point["runs"], point["value"]) for point in found["weak"]] == [
        (1, 2, 102.0),
        (2, 1, 96.9),
        (4, 1, 81.6),
    ]
    assert [point["efficiency"] for point in found["weak"]] == pytest.approx([1, 0.95, 0.8])
    assert [point["nnodes"] for point in found["strong"]] == [2, 4]


def test_runs_that_failed_or_are_of_another_training_are_on_no_curve(tmp_path):
    runs = [
        (2, 128, 100.0, {}),
        (4, 256, 90.0, {"verdict": "FAIL"}),
        (4, 256, 90.0, {"precision": "fp8"}),
        (4, 256, None, {}),
    ]
    assert curves(tmp_path, runs, nodes=2, global_batch_size=128) == {}


def test_runs_without_throughput_or_whose_nodes_are_not_known_are_on_no_curve(tmp_path):
    runs = [(1, 64, 0.0, {}), (2, 128, 100.0, {})]
    assert curves(tmp_path, runs, nodes=2, global_batch_size=128) == {}
    assert curves(tmp_path, runs, parameters={"iterations": None}) == {}


def test_an_empty_history_has_no_curve(tmp_path):
    assert scaling_of(read_history(tmp_path, []), run_row("now")) == {}
