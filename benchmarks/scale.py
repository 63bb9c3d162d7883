# SPDX-License-Identifier: GPL-3.0-or-later
"""What plans and reports cost, beside an empty playbook and the last release: wall and processor time, and memory.

``cpu_s`` is the user and system time of a command and all that it started, ``peak_mb`` the resident memory of the
largest of these processes. Rounds are interleaved: an empty playbook, each command here, and the same of the release.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import typing as t
from pathlib import Path

from _release import ROOT, checkout, last_release

sys.path.insert(0, str(ROOT / "collections"))
_HERE = Path(__file__).resolve().parent
_FIELDS = ("what", "version", "round", "wall_s", "cpu_s", "peak_mb")
_NOW, _RELEASE = "now", "release"
EMPTY: t.Final = "an empty playbook"
# What takes longer is measured once.
_SECONDS_AGAIN: t.Final = 8.0
_REPORT = """
import sys
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.write import write_report
write_report(sys.argv[1], "auto", None)
"""
# Of a step on each GPU, with the batch of `config`.
_TOKENS = 256
_LINE = (
    " [2026-01-02 03:04:05] iteration {step:8d}/ 10 | consumed samples: {step} |"
    " elapsed time per iteration (ms): 100.0 | throughput per GPU (TFLOP/s/GPU): 400.0 | learning rate: 1.0E-04 |"
    " global batch size: 16 | lm loss: 5.0E+00 |\n"
)


def main() -> None:
    """Measure, print the medians, and write all figures."""
    parser = argparse.ArgumentParser("scale.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hosts", default="4,1024", help="of the plans, with commas (default: %(default)s)")
    parser.add_argument("--nodes", default="64,512,1024", help="of the reports of 10 steps (default: %(default)s)")
    parser.add_argument("--long", default="8x10000", help="a report of NODESxSTEPS (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="of what takes less than 8 s (default: %(default)s)")
    parser.add_argument("--release", default=last_release(), help="a commit, or '' for none (default: %(default)s)")
    parser.add_argument("--results", type=Path, default=_HERE / "results", help="folder (default: %(default)s)")
    options = parser.parse_args()
    rows: list[dict[str, t.Any]] = []
    with tempfile.TemporaryDirectory(prefix="trainops-bench-") as name, checkout(options.release) as release:
        commands = dict(_commands(Path(name), options.hosts, options.nodes, options.long))
        made = set(Path(name).rglob("*"))
        versions = {_NOW: ROOT} | ({_RELEASE: release} if release else {})
        for number in range(1, options.rounds + 1):
            for what, command in commands.items():
                for version, root in versions.items():
                    if what == EMPTY and version != _NOW:
                        continue
                    earlier = [row["wall_s"] for row in rows if (row["what"], row["version"]) == (what, version)]
                    if not earlier or earlier[0] < _SECONDS_AGAIN:
                        _remove_all_but(made, Path(name))
                        found = measured(command, root, must_work=version == _NOW)
                        rows += [{"what": what, "version": version, "round": number, **found}] if found else []
    _print_medians(rows, list(commands))
    options.results.mkdir(parents=True, exist_ok=True)
    with open(options.results / "scale.csv", "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, _FIELDS)
        writer.writeheader()
        writer.writerows(rows)


def _remove_all_but(made: set[Path], folder: Path) -> None:
    """Remove an earlier command's files: a report that is there already is not written again."""
    for path in sorted(set(folder.rglob("*")) - made, reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def _commands(folder: Path, hosts: str, nodes: str, long: str) -> t.Iterator[tuple[str, list[str]]]:
    yield EMPTY, [_playbook(), "-i", "localhost,", str(_HERE / "empty.yml")]
    for count in map(int, hosts.split(",")):
        yield f"plan.yml of {count} hosts", plan(folder, count)
    logs = folder / "logs"
    logs.mkdir()
    (logs / "node0.log").write_text("".join(_LINE.format(step=step) for step in range(1, 11)))
    given = {"training_logs": str(logs), "training_output_dir": str(folder / "of_logs"), "training_require_pass": False}
    yield "report.yml on ten lines", [_playbook(), "playbooks/report.yml", "-e", json.dumps(given)]
    sizes = [(int(count), 10) for count in nodes.split(",")] + [tuple(map(int, long.split("x")))]
    for count, steps in sizes:
        run_dir = folder / f"run-{count}-{steps}"
        write_run(run_dir, count, steps, count)
        yield f"report of {count} nodes, {steps} steps", [sys.executable, "-c", _REPORT, str(run_dir)]


def _print_medians(rows: list[dict[str, t.Any]], names: t.Sequence[str]) -> None:
    for what in names:
        for version in dict.fromkeys(row["version"] for row in rows if row["what"] == what):
            of_version = [row for row in rows if (row["what"], row["version"]) == (what, version)]
            wall, cpu, peak = (statistics.median(row[field] for row in of_version) for field in _FIELDS[3:])
            print(f"{what:32} {version:8} {wall:7.2f} s  {cpu:7.2f} CPU s  {peak:5.0f} MB", flush=True)


def _playbook() -> str:
    return str(Path(sys.executable).parent / "ansible-playbook")


def measured(command: list[str], root: Path, *, must_work: bool) -> dict[str, float]:
    """Return wall time, processor time and peak of a command in a checkout; nothing where it fails and may."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment |= {"PYTHONPATH": str(root / "collections")}
    began = time.monotonic()
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, cwd=root, env=environment, stdout=log, stderr=subprocess.STDOUT)
        _pid, status, spent = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            log.seek(0)
            if must_work:
                raise SystemExit(f"{command} failed:\n{log.read().decode(errors='replace')}")
            return {}
    return {
        "wall_s": round(time.monotonic() - began, 2),
        "cpu_s": round(spent.ru_utime + spent.ru_stime, 2),
        "peak_mb": round(spent.ru_maxrss / 1024),
    }


def config(folder: Path, nodes: int, steps: int) -> Path:
    """Write a training config of so many nodes."""
    data = json.loads((ROOT / "inventories/local/tiny_llama.json").read_text())
    data["config"] |= {"nnodes": str(nodes), "master_address": "auto", "training_iterations": str(steps)}
    model = data["model_params"]["multi_node"]["llama3_tiny"]["cpu"]
    model |= {"batch_size": str(4 * nodes), "result_dict": {}}
    path = folder / f"config-{nodes}-{steps}.json"
    path.write_text(json.dumps(data))
    return path


def plan(folder: Path, nodes: int) -> list[str]:
    """Return the command that plans a run."""
    own = {"training_gpus_per_node": 1, "container_engine": "none", "training_megatron_root": "/m"}
    hosts = {f"node{n:04}": {"ansible_host": f"10.0.{n // 250}.{n % 250}", **own} for n in range(nodes)}
    inventory = folder / f"hosts-{nodes}"
    inventory.write_text(json.dumps({"all": {"hosts": hosts}}))
    given = {"training_config": str(config(folder, nodes, 10)), "training_record_only": True}
    return [_playbook(), "playbooks/plan.yml", "-i", str(inventory), "-e", json.dumps(given)]


def write_run(run_dir: Path, nodes: int, steps: int, printing: int) -> None:
    """Write the folder of a run as following leaves it, in which the last ``printing`` nodes print steps."""
    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.ranks import Node
    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import make_plan
    from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board

    options = {"training_gpus_per_node": 1, "container_engine": "none", "training_run_id": "run"}
    options |= {"training_record_only": True, "training_megatron_root": "/m"}
    hosts = [Node(f"node{n:04}", f"10.0.{n // 250}.{n % 250}", "me", local=False) for n in range(nodes)]
    path = config(run_dir.parent, nodes, steps)
    plan = make_plan(path.read_text(), str(path), options, hosts, "now")
    board = Board(run_dir)
    board.write_plan(plan)
    for number, node in enumerate(plan["nodes"]):
        # Nodes differ a little, or they would seem to share a log.
        times = [100.0 + step % 7 + number / nodes for step in range(steps)]
        metrics = {
            "step_time_ms": times,
            "loss": [5.0 - step / steps for step in range(steps)],
            "tokens_per_sec_per_gpu": [_TOKENS * 1000 / milliseconds for milliseconds in times],
            "learning_rate": [1e-4] * steps,
            "consumed_samples": [4.0 * nodes * (step + 1) for step in range(steps)],
            "global_batch_size": [4.0 * nodes] * steps,
            "skipped_iterations": [0.0] * steps,
            "nan_iterations": [0.0] * steps,
        }
        block = {"attempt": 1, "steps": list(range(1, steps + 1)), "steps_total": steps, "metrics": metrics}
        steps_of_node = {"first_step": 1, "last_step": steps, "steps_total": steps, "metrics": {"loss": 4.0}}
        prints = number >= nodes - printing
        if prints:
            board.append_steps(node["node"], [block])
        board.update(
            node["node"],
            status="exited",
            exit_status=0,
            node_rank=node["node_rank"],
            log_bytes=9,
            failures=[],
            started_at=1e9,
            ended_at=1e9 + 100,
            log_run_id="run",
            transports=[],
            world_size=None,
            **(steps_of_node if prints else {}),
        )


if __name__ == "__main__":
    main()
