from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).resolve().parents[3] / "benchmarks" / "parser.py"


def test_the_benchmark_counts_the_steps_that_grep_counts() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "--megabytes", "2", "--runs", "1"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, header, *rows = done.stdout.splitlines()
    assert first.startswith("2 MB, ")
    assert header.split() == ["CPU", "s", "(min-max)", "MB/s", "x", "grep", "peak", "MiB"]
    assert [row.split("  ")[0] for row in rows] == [
        "grep -c 'lm loss'",
        "a followed node, one call",
        "the same, calls of 16 MiB",
        "report.yml",
        "training_metrics",
    ]
