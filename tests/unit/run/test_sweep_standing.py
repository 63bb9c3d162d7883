# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a sweep's cells in a folder of runs."""

from __future__ import annotations

import json

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.sweep import (
    AGAIN,
    FINISHED,
    NEW,
    RESUMED,
    Standing,
    Sweep,
    read_sweep,
    standing_of,
)


def run(folder, run_id, verdict=None, begun=True, iterations=1):
    board = Board(folder / run_id)
    board.write_plan({"run_id": run_id, "iterations": iterations})
    if begun:
        board.update("node0", status="running")
    if verdict:
        (board.run_dir / "summary.json").write_text(json.dumps({"verdict": verdict}))


def planned(run_id, name="a", iterations=1):
    return {"name": name, "values": {"x": 1}, "plan": {"run_id": run_id, "iterations": iterations}}


def test_a_cell_without_a_run_and_one_that_was_only_planned_are_new(tmp_path):
    run(tmp_path, "s-b", begun=False)
    assert standing_of(tmp_path, "s-a") == Standing("s-a", NEW)
    assert standing_of(tmp_path, "s-b") == Standing("s-b", NEW)


def test_one_that_has_begun_and_was_not_judged_is_picked_up(tmp_path):
    run(tmp_path, "s-a")
    assert standing_of(tmp_path, "s-a") == Standing("s-a", RESUMED)


@pytest.mark.parametrize("verdict", ["PASS", "FAIL", "INCONCLUSIVE"])
def test_one_that_was_judged_is_finished(tmp_path, verdict):
    run(tmp_path, "s-a", verdict)
    assert standing_of(tmp_path, "s-a") == Standing("s-a", FINISHED)


def test_one_that_ended_in_an_error_runs_anew_under_a_further_name(tmp_path):
    run(tmp_path, "s-a", "ERROR")
    assert standing_of(tmp_path, "s-a") == Standing("s-a-2", AGAIN, "s-a")
    run(tmp_path, "s-a-2", "ERROR")
    assert standing_of(tmp_path, "s-a") == Standing("s-a-3", AGAIN, "s-a-2")
    run(tmp_path, "s-a-3", "PASS")
    assert standing_of(tmp_path, "s-a") == Standing("s-a-3", FINISHED)


def test_opening_writes_the_list_of_cells_and_the_plans_of_the_new_ones(tmp_path):
    sweep = Sweep(tmp_path, "s")
    run(tmp_path, "s-a", "PASS")
    cells = [planned(sweep.run_id_of("a")), planned(sweep.run_id_of("b"), "b")]
    sweep.open(cells, "c.json")
    assert [cell["run_id"] for cell in read_sweep(tmp_path / "s")["cells"]] == ["s-a", "s-b"]
    assert Board(tmp_path / "s-b").plan()["run_id"] == "s-b"
    assert [cell["state"] for cell in sweep.cells(cells)] == [FINISHED, NEW]
    assert sweep.next_of_cells() == {"a": "has run already, as s-a", "b": "will run"}


def test_who_gives_the_command_again_is_told_what_becomes_of_each_cell(tmp_path):
    run(tmp_path, "s-a")
    run(tmp_path, "s-b", "ERROR")
    sweep = Sweep(tmp_path, "s")
    assert [sweep.run_id_of(name) for name in "ab"] == ["s-a", "s-b-2"]
    assert sweep.next_of_cells() == {
        "a": "is picked up where it stands, as s-a",
        "b": "will run again, as s-b-2: s-b ended in an ERROR",
    }


def test_a_cell_that_was_planned_otherwise_is_refused_and_nothing_is_written(tmp_path):
    run(tmp_path, "s-a", "PASS", iterations=2)
    sweep = Sweep(tmp_path, "s")
    with pytest.raises(ValueError, match=r"a differs in iterations\. Choose another training_sweep_id"):
        sweep.open([planned(sweep.run_id_of("a")), planned(sweep.run_id_of("b"), "b")], "c.json")
    assert not (tmp_path / "s-b").exists()
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(("name", "told"), [("../x", "cannot be called '../x'"), ("taken", "is a run, not a sweep")])
def test_a_name_that_a_sweep_cannot_have_is_refused(tmp_path, name, told):
    run(tmp_path, "taken")
    with pytest.raises(ValueError, match=told):
        Sweep(tmp_path, name).run_id_of("a")


def test_a_folder_without_a_sweep_is_named(tmp_path):
    with pytest.raises(ValueError, match="contains no sweep"):
        read_sweep(tmp_path)


@pytest.mark.parametrize("content", [b'{"verdict":', b"\xff"])
def test_a_damaged_summary_is_named(tmp_path, content):
    run(tmp_path, "sweep-a", "PASS")
    path = tmp_path / "sweep-a/summary.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"^{path} cannot be read: it is not complete JSON"):
        standing_of(tmp_path, "sweep-a")
