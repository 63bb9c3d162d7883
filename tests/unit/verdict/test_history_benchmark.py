from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).resolve().parents[3] / "benchmarks" / "history.py"


def test_the_benchmark_judges_a_run_without_and_with_a_history() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "--runs", "3", "--rounds", "1", "--limit", "600"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, *rows = done.stdout.splitlines()
    assert first == "3 runs in the history, 3 files"
    assert [row.split("  ")[0] for row in rows] == ["without a history", "with the history", "ratio"]
