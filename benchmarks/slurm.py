# SPDX-License-Identifier: GPL-3.0-or-later
"""What following a job of Slurm of up to 1,024 nodes takes of the controller: ``slurm.py [SIZE ...]``.

The tasks of all nodes are one process, which answers as they do; what they tell goes through the process that gathers
it in a job, into the journal that the controller reads. Slurm is a command that says that the job runs.
"""

from __future__ import annotations

import heapq
import json
import os
import subprocess
import sys
import tempfile
import time
import typing as t
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_ROOT / "collections"))

from simulate import SECONDS, SimulatedNode, planned

from ansible_collections.trainops.cluster.plugins.module_utils.slurm import task
from ansible_collections.trainops.cluster.plugins.module_utils.slurm.journal import JOURNAL_NAME, Sieve, Teller, gather
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.follow import Patience, interval_for
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.phases import Phases
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.job import SlurmJob
from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.journal import JobNode, Journal

_SCONTROL = "#!/bin/sh\necho JobId=1 JobState=RUNNING Reason=None Restarts=0\n"


def main() -> None:
    """Measure each size, or play a part of one."""
    if sys.argv[1:2] == ["--tasks"]:
        tell(int(sys.argv[2]))
    elif sys.argv[1:2] == ["--gather"]:
        gather(sys.stdin.fileno(), sys.argv[2], Sieve(print, print))
    elif sys.argv[1:2] == ["--one"]:
        print(json.dumps(followed(int(sys.argv[2]))))
    else:
        print("nodes  CPU s a minute  read calls  write calls  MB  journal MB an hour")
        for size in sys.argv[1:] or ("3", "512", "1024"):
            command = [sys.executable, __file__, "--one", size]
            told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            print(
                f"{size:>5}  {told['cpu']:14.1f}  {told['reads']:10}  {told['writes']:11}  {told['mb']:2.0f}"
                f"  {told['journal'] * 3600 / SECONDS:18.1f}",
                flush=True,
            )


class _Labelled:
    """Marks lines with the number of their task, as srun does."""

    def __init__(self, stream: t.BinaryIO, task_number: int) -> None:
        self._stream, self._label = stream, f"{task_number}: ".encode()

    def write(self, line: bytes) -> None:
        self._stream.write(self._label + line)

    def flush(self) -> None:
        self._stream.flush()


def tell(nodes: int) -> None:
    """Tell what the tasks of so many nodes do in a minute."""
    trained = [SimulatedNode() for _ in range(nodes)]
    tellers = [Teller(t.cast(t.BinaryIO, _Labelled(sys.stdout.buffer, number))) for number in range(nodes)]
    began, wait = time.monotonic(), interval_for(nodes)
    due = [(began + wait * (number + 1) / nodes, number) for number in range(nodes)]
    while due:
        at, number = heapq.heappop(due)
        time.sleep(max(0.0, at - time.monotonic()))
        answer = {"failed": False, **trained[number].followed()}
        tellers[number].tell("follow", answer)
        if not answer["has_ended"]:
            heapq.heappush(due, (min(at + wait, began + SECONDS + 0.1), number))


def followed(nodes: int) -> dict[str, t.Any]:
    """Return what following so many nodes for a minute takes."""
    with tempfile.TemporaryDirectory(prefix="trainops-bench-") as name:
        folder = Path(name)
        (folder / "scontrol").write_text(_SCONTROL)
        (folder / "scontrol").chmod(0o755)
        os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
        plan, board = planned(folder, nodes)
        (board.run_dir / task.ID_NAME).write_text("1\n")
        tasks = subprocess.Popen([sys.executable, __file__, "--tasks", str(nodes)], stdout=subprocess.PIPE)
        subprocess.Popen([sys.executable, __file__, "--gather", str(board.run_dir / JOURNAL_NAME)], stdin=tasks.stdout)
        before, calls = time.process_time(), _calls()
        journal = Journal(SlurmJob(board.run_dir), ("follow", "stop"), range(nodes))
        asks = {node["node"]: JobNode(journal, node["node"], node["node_rank"]).ask for node in plan["nodes"]}
        Phases(plan, board, asks, nodes).train(Patience(interval_for(nodes), 60.0, 1800.0), 0.0)
        after = _calls()
        tasks.wait()
        return {
            "cpu": time.process_time() - before,
            "reads": after["syscr"] - calls["syscr"],
            "writes": after["syscw"] - calls["syscw"],
            "mb": _megabytes(),
            "journal": (board.run_dir / JOURNAL_NAME).stat().st_size / 1e6,
        }


def _calls() -> dict[str, int]:
    """Return how many calls of this process have read and written."""
    pairs = (line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return {name: int(count) for name, count in pairs}


def _megabytes() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
