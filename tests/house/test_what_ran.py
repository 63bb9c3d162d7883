"""What was really run: every trainer has a row, and every test that a row points to is one."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "collections")]

from docs._what_ran import DATA, with_table

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.trainers.known import TRAINERS


def test_every_trainer_says_what_was_run_of_it() -> None:
    assert {name for row in DATA["rows"] for name in row.get("trainers", ())} == TRAINERS.keys()


def test_whatever_was_run_has_a_date_and_whatever_a_test_runs_is_there() -> None:
    assert [row["what"] for row in DATA["rows"] if ("when" in row) == (row["level"] == "not_yet")] == []
    assert [row["test"] for row in DATA["rows"] if "test" in row and not (ROOT / row["test"]).is_file()] == []


def test_the_readme_has_the_table_of_today() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert with_table(readme) == readme
    assert all(row["what"] in readme for row in DATA["rows"])
