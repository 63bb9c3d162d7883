"""The plan of the next attempt: the quarantined nodes, the requested hosts, and the cases without one."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.plan_again import NotJudgedError, plan_again
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.quarantine import Quarantine

Made = tuple[dict[str, t.Any], list[str]]


def run_of(folder: Path, failure: str = "gpu_ecc", **more: t.Any) -> str:
    """Return the folder of a run on three nodes that failed on b."""
    board = Board(folder / "r")
    nodes = [{"node": node} for node in "abc"]
    board.write_plan(t.cast("t.Any", {"run_id": "r", "mode": "multi_node", "nodes": nodes, "faults": [], **more}))
    first = {"node": "b", "class": failure, "message": "it broke", "echoes": []}
    (board.run_dir / "summary.json").write_text(json.dumps({"verdict": "FAIL", "first_failure": first}))
    return str(board.run_dir)


def maker(asked: list[Made]) -> t.Any:
    def make(options: t.Any, hosts: t.Any) -> t.Any:
        asked.append((dict(options), list(hosts)))
        return {"run_id": options["training_run_id"], "nodes": [{"node": host} for host in hosts], "faults": []}

    return make


def no_job(*_: t.Any) -> t.Any:
    raise AssertionError("no node of these runs was chosen by Slurm")


RETRIES = {"training_retries": 1, "training_exclude": ["x"]}


def test_the_node_at_fault_is_quarantined_and_a_spare_takes_its_place(tmp_path: Path) -> None:
    quarantine, asked = Quarantine(tmp_path / "quarantine.json", "hosts"), []
    plan = plan_again(run_of(tmp_path), RETRIES, ["s"], quarantine, maker(asked), no_job)
    assert list(quarantine.hosts()) == ["b"]
    [(options, hosts)] = asked
    assert hosts == options["training_rank_order"] == ["a", "s", "c"]
    assert (options["training_run_id"], options["training_exclude"]) == ("r-2", [])
    assert [(one["node"], one["spare"]) for one in plan["retry"]["left_out"]] == [("b", "s")]


def test_who_was_quarantined_before_is_left_out_as_well(tmp_path: Path) -> None:
    quarantine, asked = Quarantine(tmp_path / "quarantine.json", "hosts"), []
    quarantine.add({"c": "killed: y"}, "before")
    plan_again(run_of(tmp_path), RETRIES, [], quarantine, maker(asked), no_job)
    assert [hosts for _options, hosts in asked] == [["a"]]


@pytest.mark.parametrize(
    ("failure", "options", "interrupted"),
    [("nan", RETRIES, False), ("gpu_ecc", {"training_retries": "0"}, False), ("gpu_ecc", RETRIES, True)],
)
def test_what_is_not_retried_makes_no_plan_and_is_not_quarantined_if_it_was_stopped(
    tmp_path: Path, failure: str, options: dict[str, t.Any], interrupted: bool
) -> None:
    run_dir, quarantine, asked = run_of(tmp_path, failure), Quarantine(tmp_path / "quarantine.json", "hosts"), []
    if interrupted:
        Board(run_dir).update("a", interrupted=True)
    with pytest.raises(ValueError):  # noqa: PT011 - the reasons are those of why_not_again
        plan_again(run_dir, options, [], quarantine, maker(asked), no_job)
    assert asked == []
    assert list(quarantine.hosts()) == (["b"] if failure == "gpu_ecc" and not interrupted else [])


def test_a_run_without_a_plan_or_a_summary_cannot_be_retried(tmp_path: Path) -> None:
    run_dir = run_of(tmp_path)
    (tmp_path / "r/summary.json").unlink()
    for folder in (run_dir, str(tmp_path / "none")):
        with pytest.raises(NotJudgedError):
            plan_again(folder, RETRIES, [], None, maker([]), no_job)


def test_the_next_job_of_slurm_is_made_of_the_nodes_at_fault_and_none_is_quarantined(tmp_path: Path) -> None:
    quarantine, given = Quarantine(tmp_path / "quarantine.json", "hosts"), []
    make = maker([])
    plan_again(run_of(tmp_path, slurm={}), RETRIES, ["s"], quarantine, make, lambda *of: given.append(of) or {})
    [(plan, faults, *rest)] = given
    assert (plan["run_id"], list(faults), rest) == ("r", ["b"], [RETRIES, make])
    assert quarantine.hosts() == {}
