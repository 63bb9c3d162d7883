from __future__ import annotations

import runpy
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).resolve().parents[3] / "benchmarks" / "history.py"


def test_the_benchmark_judges_a_run_without_and_with_a_history(capsys: pytest.CaptureFixture[str]) -> None:
    status = runpy.run_path(str(BENCHMARK))["main"](["--runs", "3", "--rounds", "1", "--limit", "600"])
    out, err = capsys.readouterr()
    assert (status, err) == (0, "")
    first, *rows = out.splitlines()
    assert first == "3 runs in the history, 3 files"
    assert [row.split("  ")[0] for row in rows] == ["without a history", "with the history", "ratio"]
