# SPDX-License-Identifier: GPL-3.0-or-later
"""What following up to 4,096 nodes takes of the controller, whose answers cost nothing: ``simulate.py [SIZE ...]``.

Each node answers as a real one does, after the time that it is asked to wait, with a step each 0.1 s. What the process
of ssh that keeps its connection takes is added, as `launch.py` finds it.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import threading
import time
import typing as t
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_ROOT / "collections"))

from scale import config

from ansible_collections.trainops.cluster.plugins.module_utils.node.agent import ANSWER_MARK
from ansible_collections.trainops.cluster.plugins.plugin_utils.contracts import Plan
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.job.ranks import Node
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import make_plan
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.asking import Asker, Output
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.follow import Patience, interval_for
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.phases import Phases

SECONDS: t.Final = 60.0
_STEP_SECONDS: t.Final = 0.1
_SSH_MB: t.Final = 1.4


def main() -> None:
    """Measure each size in a process of its own, as the peak of memory is that of the process."""
    if len(sys.argv) == 3 and sys.argv[1] == "--one":
        print(json.dumps(followed(int(sys.argv[2]))))
        return
    import subprocess

    print("nodes  CPU s a minute  CPU ms a poll  threads  MB without ssh  MB with ssh  files  ssh processes")
    for size in sys.argv[1:] or ("256", "1024", "4096"):
        command = [sys.executable, __file__, "--one", size]
        measured = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        nodes = int(size)
        print(
            f"{nodes:5}  {measured['cpu']:14.1f}  {1000 * measured['cpu'] / measured['polls']:13.1f}"
            f"  {measured['threads']:7}  {measured['mb']:14.0f}"
            f"  {measured['mb'] + nodes * _SSH_MB:11.0f}  {4 * nodes:5}  {nodes:13}",
            flush=True,
        )


def planned(folder: Path, nodes: int) -> tuple[Plan, Board]:
    """Return the plan of a run on so many nodes, and its board below a folder."""
    path = config(folder, nodes, 100_000)
    options = {"training_gpus_per_node": 1, "container_engine": "none", "training_run_id": "run"}
    options |= {"training_record_only": True, "training_megatron_root": "/m"}
    hosts = [Node(f"node{n:04}", f"10.0.{n // 250}.{n % 250}", "me", local=False) for n in range(nodes)]
    plan = make_plan(path.read_text(), str(path), options, hosts, "now")
    board = Board(folder / "run")
    board.write_plan(plan)
    return plan, board


def followed(nodes: int) -> dict[str, t.Any]:
    """Return what following so many nodes for a minute takes."""
    with tempfile.TemporaryDirectory(prefix="trainops-bench-") as name:
        plan, board = planned(Path(name), nodes)
        links = {node["node"]: SimulatedNode() for node in plan["nodes"]}
        asks = {
            node["node"]: Asker(
                plan, node, links[node["node"]].send, "python3", {}, False, {"nonce": "0" * 32, "plan": {}}, "0" * 64
            ).ask
            for node in plan["nodes"]
        }
        threads = 0
        ended = threading.Event()

        def count() -> None:
            nonlocal threads
            while not ended.wait(1.0):
                threads = max(threads, threading.active_count())

        threading.Thread(target=count, daemon=True).start()
        before = time.process_time()
        Phases(plan, board, asks, nodes).train(Patience(interval_for(nodes), 60.0, 1800.0), 0.0)
        ended.set()
        return {
            "cpu": time.process_time() - before,
            "polls": sum(link.polls for link in links.values()),
            "threads": threads,
            "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }


class SimulatedNode:
    """A node that trains for a minute."""

    def __init__(self) -> None:
        """Begin when it is asked first."""
        self.polls = self._reported = 0
        self._began = time.monotonic()

    def send(self, _command: str, program: bytes) -> Output:
        """Answer what a node would."""
        self.polls += 1
        request = _request(program)
        if request.get("start"):
            self._began = time.monotonic()
        left = self._began + SECONDS - time.monotonic()
        time.sleep(max(0.0, min(request["wait_seconds"], left)))
        return _output(self.followed())

    def followed(self) -> dict[str, t.Any]:
        """Return what the node has to say of its training."""
        seconds = time.monotonic() - self._began
        over = seconds >= SECONDS
        first, self._reported = self._reported + 1, int(seconds / _STEP_SECONDS)
        steps = list(range(first, self._reported + 1))
        block = {"attempt": 1, "steps": steps, "steps_total": 100_000, "metrics": {}}
        block["metrics"] = {"step_time_ms": [100.0] * len(steps), "loss": [1.0] * len(steps)}
        common: dict[str, t.Any] = {"transports": [], "world_size": None, "settings": {}, "signs": [], "ranks": []}
        common |= {"conflicts": 0, "arguments": {}}
        cursor: dict[str, t.Any] = {
            "offset": self._reported * 90,
            "fingerprint": 1,
            "attempt": 1,
            "step": self._reported,
        }
        cursor |= {"memory": {}, "starts": {}, **common}
        return {
            "changed": False, "status": "exited" if over else "running", "exit_status": 0 if over else None,
            "oom_killed": False, "has_ended": over, "started_at": time.time() - seconds,
            "ended_at": time.time() if over else None, "now": time.time(), "log_bytes": self._reported * 90,
            "log_run_id": "run", "blocks": [block] if steps else [], "failures": [], "survived": [],
            "starts": 1, **common,
            "cursor": {**cursor, "steps_seen": self._reported, "steps_total": 100_000},
        }  # fmt: skip


def _request(program: bytes) -> dict[str, t.Any]:
    import base64
    import zlib

    sent = json.loads(zlib.decompress(base64.b64decode(program.splitlines()[0])))
    return t.cast("dict[str, t.Any]", sent["request"])


def _output(answer: dict[str, t.Any]) -> Output:
    return Output(0, f"\n{ANSWER_MARK}{json.dumps({'failed': False, **answer})}\n", "")


if __name__ == "__main__":
    main()
