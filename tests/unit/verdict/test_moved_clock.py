# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's clock that was set while it trained."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from training_logs import SILENT, STARTED_AT, Node, judged, line

STEPS = 20


def log_of(moved: float, *, after: int = 10, negative: int = 0) -> str:
    """Return a log of steps of 1 s whose timestamps move after one of them; so many of them then take moved seconds."""
    clock, log = datetime.fromtimestamp(STARTED_AT, tz=UTC), ""
    for step in range(1, STEPS + 1):
        clock += timedelta(seconds=1.0 + (moved if step == after + 1 else 0.0))
        ms = 1000.0 * (1.0 + moved) if after < step <= after + negative else 1000.0
        log += f"[{clock:%Y-%m-%d %H:%M:%S}]{line(step, STEPS, ms=ms, loss=9 - step / 10)}"
    return log


def summary_of(tmp_path: Path, log: str, ran: float | None, by_clock: float) -> dict[str, t.Any]:
    told = {"clock_seconds": by_clock} | ({} if ran is None else {"ran_seconds": ran})
    nodes = [Node("gpu00", SILENT), Node("gpu01", log, told=told)]
    return judged(nodes, tmp_path, parameters={"iterations": STEPS}, expected=[])


def notes(summary: dict[str, t.Any]) -> list[tuple[str, str]]:
    return [(note["case"], note["node"]) for note in summary["notes"] if note["code"] == "clock_moved"]


@pytest.mark.parametrize(
    ("moved", "by_clock", "case"),
    # The node itself takes no end before the start.
    [(-3600.0, 0.0, "back"), (-8.0, 14.0, "back"), (7200.0, 7222.0, "ahead")],
)
def test_it_is_a_note(moved: float, by_clock: float, case: str, tmp_path: Path) -> None:
    summary = summary_of(tmp_path, log_of(moved), 22.0, by_clock)
    assert (summary["verdict"], notes(summary)) == ("PASS", [(case, "gpu01")]), summary["reasons"]
    assert not {"clock_back", "pauses"} & {note["code"] for note in summary["notes"]}


def test_the_step_in_which_it_was_set_back_has_no_time_below_zero(tmp_path: Path) -> None:
    summary = summary_of(tmp_path, log_of(-3600.0, negative=1), 22.0, 0.0)
    assert (summary["verdict"], notes(summary)) == ("PASS", [("back", "gpu01")]), summary["reasons"]
    found = summary["metrics"]["step_time_ms"]
    assert (found["samples"], found["p05"]) == (STEPS - 3, 1000.0)


@pytest.mark.parametrize(
    ("negative", "ran", "by_clock"), [(2, 22.0, 0.0), (1, 22.0, 22.0), (1, 22.0, 7222.0), (1, None, 0.0)]
)
def test_other_times_below_zero_fail_the_run(negative: int, ran: float | None, by_clock: float, tmp_path: Path) -> None:
    summary = summary_of(tmp_path, log_of(-3600.0, negative=negative), ran, by_clock)
    assert summary["verdict"] == "FAIL"
    assert "below_zero" in {reason["code"] for reason in summary["reasons"]}


@pytest.mark.parametrize(("ran", "by_clock"), [(22.0, 22.0), (22.0, 21.0), (22.0, 80.0), (None, 0.0)])
def test_clocks_that_agree_are_no_note(ran: float | None, by_clock: float, tmp_path: Path) -> None:
    assert notes(summary_of(tmp_path, log_of(0.0), ran, by_clock)) == []
