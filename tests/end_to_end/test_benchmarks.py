"""The benchmarks work; how fast anything is, they show on a machine that does nothing else."""

from __future__ import annotations

import csv
import subprocess
import sys

import pytest
from playbook_bench import ROOT
from sshd_here import needs_sshd


def bench(name: str, *options: str) -> str:
    command = [sys.executable, f"benchmarks/{name}", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["history", "launch", "parser", "scale"])
def test_a_benchmark_says_what_can_be_chosen(name: str) -> None:
    assert f"usage: {name}.py" in bench(f"{name}.py", "--help")


@pytest.mark.slow
@needs_sshd
@pytest.mark.long
def test_two_nodes_are_launched_cold_and_warm_and_beside_bare_ssh(tmp_path):
    arms = ["trainops", "trainops_warm", "ssh_floor", "pssh", "naive"]
    bench("launch.py", "--nodes", "2", "--rounds", "1", "--arms", ",".join(arms), "--results", str(tmp_path))
    with open(tmp_path / "launch.csv", newline="") as stream:
        rows = {row["arm"]: row for row in csv.DictReader(stream)}
    assert list(rows) == arms
    # A node is asked twice, and once more for each time that it is asked how it goes.
    assert rows["ssh_floor"]["round_trips"] == "6"
    assert rows["pssh"]["round_trips"] == "30"
    assert 4 <= int(rows["trainops"]["round_trips"]) < int(rows["naive"]["round_trips"])
    assert "ssh_floor" in (tmp_path / "launch.html").read_text()


@pytest.mark.slow
def test_plans_and_reports_are_measured():
    lines = bench("scale.py", "--hosts", "2", "--nodes", "2", "--steps", "20").splitlines()
    assert [line.split("  ")[0] for line in lines] == ["plan.yml of", "report,", "report,"]
    assert all(float(line.split()[-3]) > 0 for line in lines)


@pytest.mark.slow
def test_runs_are_judged_without_and_with_a_history():
    first, *rows = bench("history.py", "--runs", "3", "--rounds", "1", "--limit", "600").splitlines()
    assert first == "3 runs in the history, 3 files"
    assert [row.split("  ")[0] for row in rows] == ["without a history", "with the history", "ratio"]


@pytest.mark.slow
def test_the_steps_that_are_read_are_those_that_grep_counts():
    first, header, *rows = bench("parser.py", "--megabytes", "2", "--runs", "1").splitlines()
    assert first.startswith("2 MB, ")
    assert header.split() == ["CPU", "s", "(min-max)", "MB/s", "x", "grep", "peak", "MiB"]
    assert [row.split("  ")[0] for row in rows] == [
        "grep -c 'lm loss'",
        "a followed node, one call",
        "the same, calls of 16 MiB",
        "report.yml",
        "training_metrics",
    ]
