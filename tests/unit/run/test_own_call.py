# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of the commands that a user is told to run: they find the runs that this call finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.controller_action import own_call, playbook_command


def test_a_command_sets_the_folder_of_runs_unless_it_is_the_default_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert own_call("runs")["output_dir"] == ""
    assert own_call(tmp_path / "runs")["output_dir"] == ""
    assert own_call("mine")["output_dir"] == " -e training_output_dir=mine"
    assert own_call("/data/my runs")["output_dir"] == " -e 'training_output_dir=/data/my runs'"
    assert playbook_command("stop", "/data/runs/one").endswith(
        "/stop.yml -e training_output_dir=/data/runs -e training_run_id=one"
    )
