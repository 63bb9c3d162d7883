# SPDX-License-Identifier: GPL-3.0-or-later
"""What a history of many runs costs the report of a new one.

Makes a history in a temporary folder, all of one key, which is the worst case, and judges the same run without and with
it, in turn and in a process of its own each time. What counts is the processor time of the process (user and system),
with the start of Python in it, as the machine may have other work. With the history the report has to take less than
the limit.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import typing as t
from datetime import UTC, datetime, timedelta
from pathlib import Path

if t.TYPE_CHECKING:
    from collections.abc import Sequence

_ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_ROOT / "collections"))
_STEPS = 100
_BEGAN = datetime(2026, 6, 1, tzinfo=UTC)

_REPORT = """
import sys
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.write import write_report
write_report(sys.argv[1], 2, sys.argv[2] or None)
"""


def main(arguments: Sequence[str]) -> int:
    """Measure, print a table, and fail where a report with the history takes longer than the limit."""
    parser = argparse.ArgumentParser("history.py", description="Measures what a history costs the report of a run.")
    parser.add_argument("--runs", type=int, default=10_000, help="runs in the history (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="reports of each kind that count (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=5.0, help="CPU seconds of a report (default: %(default)s)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="trainops-bench-") as name:
        folder = Path(name)
        write_run(folder / "run")
        history = folder / "history"
        fill(history, folder / "run", options.runs)
        print(f"{options.runs} runs in the history, {sum(1 for _ in history.rglob('*.parquet'))} files")
        seconds: dict[str, list[float]] = {"": [], str(history): []}
        warms_up = options.rounds > 1  # the first round warms up the page cache
        for number in range(options.rounds + warms_up):
            for given, taken in seconds.items():
                spent = measured(folder / "run", given)
                if number >= warms_up:
                    taken.append(spent)
    without, beside = (statistics.median(taken) for taken in seconds.values())
    for label, taken in zip(("without a history", "with the history"), seconds.values(), strict=True):
        print(f"{label:20}{statistics.median(taken):8.2f} CPU s ({min(taken):.2f}-{max(taken):.2f})")
    print(f"{'ratio':20}{beside / without:8.2f}")
    if beside > options.limit:
        print(f"history.py: the report took {beside:.2f} s, the limit is {options.limit} s", file=sys.stderr)
        return 1
    return 0


def write_run(run_dir: Path) -> None:
    """Write the folder of a run on two nodes as following them leaves it."""
    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.ranks import Node
    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import make_plan
    from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board

    text = (_ROOT / "inventories/local/tiny_llama.json").read_text(encoding="utf-8")
    options = {"training_gpus_per_node": 1, "container_engine": "none", "training_megatron_root": "/m"}
    options |= {"training_run_id": "run", "training_overrides": {"training_iterations": _STEPS}}
    nodes = [Node(f"node{rank}", "127.0.0.1", "me", local=True) for rank in range(2)]
    board = Board(run_dir)
    board.write_plan(make_plan(text, "tiny_llama.json", options, nodes, "now"))
    ended = _BEGAN.timestamp() + 100
    for node in nodes:
        board.update(node.name, status="exited", exit_status=0, started_at=_BEGAN.timestamp(), ended_at=ended)
        board.update(node.name, first_step=1, last_step=_STEPS, steps_total=_STEPS)
        steps = list(range(1, _STEPS + 1))
        metrics = {"step_time_ms": [100.0 + step % 7 for step in steps], "loss": [9.0 - step / 50 for step in steps]}
        board.append_steps(node.name, [{"attempt": 1, "steps": steps, "steps_total": _STEPS, "metrics": metrics}])


def fill(history: Path, run_dir: Path, runs: int) -> None:
    """Write so many earlier runs of the same key."""
    from ansible_collections.trainops.cluster.plugins.plugin_utils.report.history_row import row_of
    from ansible_collections.trainops.cluster.plugins.plugin_utils.report.history_store import read_history, write_row
    from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board

    measured(run_dir, str(history))
    board = Board(run_dir)
    plan = board.plan()
    summary = json.loads((run_dir / "summary.json").read_text(encoding="utf-8"))
    row = row_of(summary, plan, [board.status(node["node"]) for node in plan["nodes"]])
    assert len(read_history(history, [])) == 1
    shutil.rmtree(history)
    # What looks for an earlier row of the same run would list the folder once for each.
    parts = [history / f"part{number}" for number in range(100)]
    for number in range(runs):
        began = (_BEGAN - timedelta(hours=number + 1)).isoformat()
        changed = {"run_id": f"run{number}", "started_at": began, "ended_at": began, "step_time_ms": 100.0 + number % 5}
        write_row(parts[number % len(parts)], {**row, **changed})
    for part in parts:
        for path in part.rglob("*.parquet"):
            target = history / path.relative_to(part)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, target)
        shutil.rmtree(part, ignore_errors=True)


def measured(run_dir: Path, history: str) -> float:
    """Judge the run again in a process of its own; return its processor time in seconds."""
    for name in ("summary.json", "history.json", "report.html"):
        (run_dir / name).unlink(missing_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(_ROOT / "collections")}
    with subprocess.Popen([sys.executable, "-c", _REPORT, str(run_dir), history], env=environment) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"history.py: the report ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
