"""The page about faults lists the settings with which a fault was measured."""

from __future__ import annotations

from pathlib import Path

import fault_table
import pytest
from fault_table import page, settings_in_words

ROOT = Path(__file__).resolve().parents[2]


def test_a_row_names_each_setting_that_is_not_the_default_and_the_default(tmp_path, monkeypatch):
    monkeypatch.setattr(fault_table, "_PATH", str(tmp_path / "rows"))
    fault_table.add_row("a node hangs", 13.2, "it hangs", "FAIL", settings={"training_stall_timeout": 8})
    fault_table.add_row("a rank is killed", 0.2, "killed", "FAIL")
    rows = [row.split(" | ") for row in page((tmp_path / "rows").read_text()).splitlines() if "FAIL" in row]
    assert [row[-1] for row in rows] == ["`training_stall_timeout` 8 (default: 1800) |", "the defaults |"]


def test_a_setting_that_no_run_has_is_a_mistake_of_the_test():
    with pytest.raises(KeyError):
        settings_in_words({"training_stall_time": 8})


def test_every_row_of_the_page_names_its_settings():
    rows = [line for line in (ROOT / "docs/faults.md").read_text().splitlines() if line.startswith("| ")]
    heading, *_others = rows
    assert {row.replace("\\|", "").count(" |") for row in rows} == {heading.count(" |")}
    assert any("`training_lost_timeout` 5 (default: 60)" in row for row in rows)
