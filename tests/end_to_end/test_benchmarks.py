"""The benchmarks work; how fast anything is, they show on a machine that does nothing else."""

from __future__ import annotations

import csv
import os
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
def test_two_nodes_are_launched_beside_bare_ssh_with_as_many_round_trips(tmp_path):
    arms = ["empty", "trainops", "ssh_two_trips", "ssh_floor", "pssh"]
    of_launch = ["--nodes", "2", "--rounds", "1", "--release", ""]
    bench("launch.py", *of_launch, "--arms", ",".join(arms), "--results", str(tmp_path))
    with open(tmp_path / "launch.csv", newline="") as stream:
        rows = {row["arm"]: row for row in csv.DictReader(stream)}
    assert list(rows) == arms
    trips = {arm: int(row["round_trips"]) for arm, row in rows.items()}
    assert (trips["empty"], trips["ssh_two_trips"], trips["ssh_floor"], trips["pssh"]) == (0, 4, 6, 30)
    # A node is asked twice, and once more for each time that it is asked how it goes.
    assert 4 <= trips["trainops"] < 30
    # Of nodes that are apart.
    assert os.geteuid() != 0 or int(rows["trainops"]["node_cpu_ms"]) > int(rows["empty"]["node_cpu_ms"])


@pytest.mark.slow
def test_plans_and_reports_are_measured_beside_an_empty_playbook(tmp_path):
    small = ["--hosts", "2", "--nodes", "2", "--long", "2x20", "--rounds", "1", "--release", "HEAD"]
    bench("scale.py", *small, "--results", str(tmp_path))
    with open(tmp_path / "scale.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    measured = [row["what"] for row in rows if row["version"] == "now"]
    assert [name.split()[0] for name in measured] == ["an", "plan.yml", "report.yml", "report", "report"]
    assert [row["what"] for row in rows if row["version"] == "release"] == measured[1:]
    assert all(float(row["cpu_s"]) > 0 for row in rows)


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
