# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps without a loss in a log that has losses."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from training_logs import ALL, Node, codes, judged, line, lines

WHOLE = line(10)


def verdict_on(log: str, folder: Path) -> dict[str, t.Any]:
    return judged([Node("gpu00"), Node("gpu01", log)], folder)


@pytest.mark.parametrize(
    ("size", "verdict"),
    [(WHOLE.index("consumed"), "INCONCLUSIVE"), (WHOLE.index("lm loss") + 12, "INCONCLUSIVE"), (len(WHOLE), "PASS")],
    ids=["behind its head", "in its loss", "nowhere"],
)
def test_a_last_step_whose_line_is_torn_is_no_pass(size: int, verdict: str, tmp_path: Path) -> None:
    summary = verdict_on(lines(range(1, 10)) + WHOLE[:size], tmp_path)
    assert summary["verdict"] == verdict
    assert (("last_loss_missing", "gpu01") in codes(summary)) is (verdict != "PASS")


def test_torn_lines_in_between_are_told(tmp_path: Path) -> None:
    log = lines(range(1, 6)) + line(6)[:90] + "\n" + lines(range(7, 11))
    summary = verdict_on(log, tmp_path)
    assert summary["verdict"] == "PASS"
    [note] = [note for note in summary["notes"] if note["code"] == "loss_missing"]
    assert note["message"] == "The log of gpu01 has no loss of 1 step, the first of them 6."
    assert note["evidence"] == {"first_step": 6, "steps": 1}


@pytest.mark.parametrize("log", [ALL, lines(range(1, 10)) + line(10, loss=0, skipped=1)])
def test_whole_lines_and_skipped_iterations_lack_nothing(log: str, tmp_path: Path) -> None:
    summary = verdict_on(log, tmp_path)
    assert summary["verdict"] == "PASS"
    assert "loss_missing" not in [note["code"] for note in summary["notes"]]


def test_what_an_earlier_attempt_lacked_is_past(tmp_path: Path) -> None:
    log = lines(range(1, 4)) + line(4)[:90] + "\n" + ALL
    assert "loss_missing" not in [note["code"] for note in verdict_on(log, tmp_path)["notes"]]
