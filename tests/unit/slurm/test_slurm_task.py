# SPDX-License-Identifier: GPL-3.0-or-later
"""A job of Slurm that places its run on the nodes that it was given."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.slurm import task
from ansible_collections.trainops.cluster.plugins.module_utils.slurm.desk import ID_NAME
from ansible_collections.trainops.cluster.plugins.module_utils.slurm.placement import MADE_NAME, name_before

SCONTROL = """\
#!/bin/sh
case "$*" in *hostnames*) echo gpu07;; *) echo NodeName=gpu07 NodeAddr=10.0.0.7;; esac
"""


def test_whoever_reads_the_number_of_the_job_meanwhile_reads_a_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The controller asked Slurm for a job without a number, and took that for the end of the run."""
    (tmp_path / "scontrol").write_text(SCONTROL)
    (tmp_path / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    Path(MADE_NAME).write_text(json.dumps({"nodes": [{"node": name_before(0)}]}))
    Path(ID_NAME).write_text("6\n")
    with open(ID_NAME) as reader:
        assert task.main(["place", "7", "gpu07"]) == 0
        assert reader.read() == "6\n"
    assert Path(ID_NAME).read_text() == "7\n"
    assert json.loads(Path("plan.json").read_text())["nodes"] == [{"node": "gpu07"}]
    # Who looks at the run later may be another user.
    assert Path("plan.json").stat().st_mode & 0o777 == 0o644
