# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan of 1,024 nodes and a report of 128 nodes and 1,000 steps cost, in processor time of all processes."""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_ROOT / "collections"))
_REPORT = """
import sys
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.write import write_report
write_report(sys.argv[1], "auto", None)
"""


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser("scale.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hosts", default="64,256,1024", help="of the plans, with commas (default: %(default)s)")
    parser.add_argument("--nodes", type=int, default=128, help="of the reports (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=1000, help="of the reports (default: %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="trainops-bench-") as name:
        folder = Path(name)
        for hosts in map(int, options.hosts.split(",")):
            print(f"plan.yml of {hosts:5} hosts     {plan(folder, hosts):6.2f} CPU s", flush=True)
        for printing in (1, options.nodes):
            run_dir = folder / f"run-{printing}"
            write_run(run_dir, options.nodes, options.steps, printing)
            spent = measured([sys.executable, "-c", _REPORT, str(run_dir)])
            print(f"report, {printing:3} of {options.nodes} print  {spent:6.2f} CPU s", flush=True)


def measured(command: list[str]) -> float:
    """Return the user and system time of a command and its children, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"PYTHONPATH": str(_ROOT / "collections")}
    subprocess.run(command, cwd=_ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def config(folder: Path, nodes: int, steps: int) -> Path:
    """Write a training config of so many nodes."""
    data = json.loads((_ROOT / "inventories/local/tiny_llama.json").read_text())
    data["config"] |= {"nnodes": str(nodes), "master_address": "auto", "training_iterations": str(steps)}
    model = data["model_params"]["multi_node"]["llama3_tiny"]["cpu"]
    model |= {"batch_size": str(4 * nodes), "result_dict": {}}
    path = folder / f"config-{nodes}-{steps}.json"
    path.write_text(json.dumps(data))
    return path


def plan(folder: Path, nodes: int) -> float:
    """Return what a plan costs."""
    own = {"training_gpus_per_node": 1, "container_engine": "none", "training_megatron_root": "/m"}
    hosts = {f"node{n:04}": {"ansible_host": f"10.0.{n // 250}.{n % 250}", **own} for n in range(nodes)}
    inventory = folder / f"hosts-{nodes}"
    inventory.write_text(json.dumps({"all": {"hosts": hosts}}))
    given = {"training_config": str(config(folder, nodes, 10)), "training_record_only": True}
    playbook = [str(Path(sys.executable).parent / "ansible-playbook"), "playbooks/plan.yml", "-i", str(inventory)]
    return measured([*playbook, "-e", json.dumps(given)])


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
        metrics = {
            "step_time_ms": [100.0 + step % 7 for step in range(steps)],
            "loss": [5.0 - step / steps for step in range(steps)],
            "tokens_per_sec_per_gpu": [1000.0 - step % 7 for step in range(steps)],
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
