"""The folder of a run is made for its plan, found again with the same plan, and refused with another one."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.identity import ADOPTS
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.runs import open_run


def plan(**more: t.Any) -> t.Any:
    return {"run_id": "r", "nodes": [{"node": "a", "master_port": 1}], **more}


def test_the_same_plan_resumes_a_run_and_another_one_is_refused_with_what_differs(tmp_path: Path) -> None:
    run_dir = str(tmp_path / "r")
    assert open_run(run_dir, plan(), run_dir, adopts=False) == ""
    nonce = Board(run_dir).nonce()
    assert "r" in open_run(run_dir, plan(), run_dir, adopts=False).split()
    assert Board(run_dir).nonce() == nonce
    with pytest.raises(ValueError, match=r"nodes\.0\.master_port"):
        open_run(run_dir, plan(nodes=[{"node": "a", "master_port": 2}]), run_dir, adopts=False)


def test_a_run_that_the_nodes_hold_is_adopted_unless_it_is_a_job_of_slurm(tmp_path: Path) -> None:
    run_dir = str(tmp_path / "r")
    assert "run r " in open_run(run_dir, plan(), run_dir, adopts=True)
    assert Board(run_dir).nonce() == ADOPTS
    with pytest.raises(ValueError, match="Slurm"):
        open_run(str(tmp_path / "s"), plan(slurm={}), str(tmp_path / "s"), adopts=True)
    assert not (tmp_path / "s").exists()


def test_in_check_mode_the_run_that_is_there_keeps_its_identity(tmp_path: Path) -> None:
    there, checked = str(tmp_path / "runs/r"), str(tmp_path / "local/r")
    open_run(there, plan(), there, adopts=False)
    assert open_run(checked, plan(), there, adopts=False) == ""
    assert Board(checked).nonce() == Board(there).nonce()
