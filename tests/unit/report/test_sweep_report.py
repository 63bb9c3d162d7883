# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a sweep."""

from __future__ import annotations

import csv
import json

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.side_by_side import (
    found_in_words,
    sweep_lines,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.sweep import write_sweep_report
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.sweep import write_sweep

OUT_OF_MEMORY = {"node": "node1", "class": "out_of_memory", "message": "HIP out of memory"}


@pytest.fixture
def sweep(tmp_path):
    """Return a function that writes a sweep over two keys (or one), of cells with verdict and tokens/s/GPU."""

    def write(outcomes, keys=("size", "precision"), **of_sweep):
        cells = []
        for place, (verdict, tokens) in enumerate(outcomes):
            values = {key: (place >> bit) % 2 for bit, key in enumerate(keys)} if len(keys) > 1 else {keys[0]: place}
            cells.append({"name": f"cell{place}", "values": values, "run_id": f"s-cell{place}"})
            run_dir = tmp_path / f"s-cell{place}"
            run_dir.mkdir(exist_ok=True)
            if verdict:
                summary = {
                    "verdict": verdict,
                    "first_failure": OUT_OF_MEMORY if verdict == "FAIL" and tokens is None else None,
                    "reasons": [{"message": "It is too slow.", "verdict": verdict, "row": "time"}],
                    "thresholds": [],
                    "rehearsal": of_sweep.get("rehearsal", False),
                    "metrics": {} if tokens is None else {"tokens_per_sec_per_gpu": {"value": tokens}},
                    "mfu": 0.4,
                }
                (run_dir / "summary.json").write_text(json.dumps(summary))
        write_sweep(tmp_path / "s", {"sweep_id": "s", "config_file": "c.json", **of_sweep, "cells": cells})
        return tmp_path / "s"

    return write


def test_the_best_cell_is_the_fastest_of_those_that_passed(sweep):
    told, changed = write_sweep_report(sweep([("PASS", 100.0), ("PASS", 120.0), ("FAIL", 130.0), (None, None)]))
    assert changed is True
    assert told["best"] == "cell1"
    assert told["counts"] == {"PASS": 2, "FAIL": 1, "NOT RUN": 1}
    assert [cell["reason"] for cell in told["cells"]] == [None, None, "It is too slow.", None]


def test_a_sweep_of_rehearsals_says_so_everywhere_and_has_no_best_cell(sweep):
    folder = sweep([("PASS", 100.0), ("PASS", 120.0)], rehearsal=True)
    told, _changed = write_sweep_report(folder)
    assert (told["rehearsal"], told["best"]) == (True, None)
    assert json.loads((folder / "sweep.json").read_text())["rehearsal"] is True
    with (folder / "sweep.csv").open() as stream:
        assert [row["rehearsal"] for row in csv.DictReader(stream)] == ["True", "True"]
    page = (folder / "sweep.html").read_text()
    assert '<p class="rehearsal">' in page
    assert "<title>REHEARSAL Sweep s" in page
    assert sweep_lines(str(folder / "sweep.html"))[0].startswith("REHEARSAL sweep s: ")


def test_a_sweep_that_an_earlier_version_planned_is_one_of_rehearsals_if_its_runs_are(sweep):
    folder = sweep([("PASS", 100.0)], rehearsal=True)
    data = json.loads((folder / "sweep.json").read_text())
    del data["rehearsal"]
    (folder / "sweep.json").write_text(json.dumps(data))
    assert write_sweep_report(folder)[0]["rehearsal"] is True


@pytest.mark.parametrize(
    ("outcomes", "missed", "found"),
    [
        (
            [("FAIL", None), ("FAIL", 3.0), ("FAIL", None), (None, None)],
            [["out of memory"], ["check of time not passed"], ["out of memory"], []],
            "No cell has passed: out of memory in 2 of 3 cells, check of time not passed in 1 of 3 cells",
        ),
        ([("FAIL", None)] * 2, [["out of memory"]] * 2, "No cell has passed: out of memory in both cells"),
        ([("PASS", 100.0), ("FAIL", None)], [[], ["out of memory"]], "Best: cell0 with 100.0 tokens/s per GPU"),
        ([(None, None)], [[]], "No cell has run yet"),
    ],
    ids=["of several kinds", "of one kind", "one passed", "none has run"],
)
def test_a_sweep_says_which_cell_is_best_or_what_all_missed(sweep, outcomes, missed, found):
    told, _changed = write_sweep_report(sweep(outcomes))
    assert [cell["missed"] for cell in told["cells"]] == missed
    assert found_in_words(told) == found


def test_a_sweep_of_runs_is_not_said_to_be_of_rehearsals(sweep):
    folder = sweep([("PASS", 100.0)])
    write_sweep_report(folder)
    page = (folder / "sweep.html").read_text()
    assert page.partition("<main>")[2].strip().startswith('<section class="banner')
    assert "REHEARSAL" not in page
    assert sweep_lines(str(folder / "sweep.html"))[0].startswith("sweep s: ")


def test_the_same_again_changes_nothing_and_a_further_cell_does(sweep):
    folder = sweep([("PASS", 100.0), (None, None)])
    write_sweep_report(folder)
    assert write_sweep_report(folder)[1] is False
    sweep([("PASS", 100.0), ("FAIL", None)])
    told, changed = write_sweep_report(folder)
    assert changed is True
    assert told["cells"][1]["reason"] == "node1: out_of_memory: HIP out of memory"


def test_the_table_has_a_row_per_cell_with_its_values(sweep):
    folder = sweep([("PASS", 100.0), ("FAIL", None)])
    write_sweep_report(folder)
    with open(folder / "sweep.csv", newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["cell"], row["size"], row["verdict"], row["tokens_per_sec_per_gpu"]) for row in rows] == [
        ("cell0", "0", "PASS", "100.0"),
        ("cell1", "1", "FAIL", ""),
    ]


@pytest.mark.parametrize("keys", [("size", "precision"), ("size",)])
def test_the_page_shows_chart_table_and_what_did_not_pass(sweep, keys):
    folder = sweep([("PASS", 100.0), ("PASS", 120.0), ("FAIL", None), ("ERROR", None)], keys)
    write_sweep_report(folder)
    page = (folder / "sweep.html").read_text()
    assert 'href="../s-cell1/report.html"' in page
    assert "Best: cell1 with 120.0 tokens/s per GPU" in page
    assert "node1: out_of_memory: HIP out of memory" in page
    assert ('class="tiles"' if len(keys) == 2 else 'class="bars"') in page


def test_a_page_without_any_value_has_no_chart(sweep):
    folder = sweep([("ERROR", None), (None, None)])
    write_sweep_report(folder)
    page = (folder / "sweep.html").read_text()
    assert 'id="chart"' not in page
    assert "No cell has passed" in page


def test_the_terminal_is_told_how_to_go_on(sweep):
    folder = sweep([("PASS", 100.0), (None, None)])
    write_sweep_report(folder)
    lines = sweep_lines(str(folder / "sweep.html"))
    assert lines[0] == "sweep s: 1 PASS, 1 NOT RUN"
    assert lines[-2:] == [
        "Continue with the same command and -e training_sweep_id=s",
        f"Report: {folder}/sweep.html",
    ]
