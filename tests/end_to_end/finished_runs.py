# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that were played to their end once for a whole test run, and are read by many tests.

A test asks for one by its name in RUNS: ``run = finished_run("pass")``. Several processes of pytest-xdist share it, so
a test reads it and changes nothing; a test that continues a run takes ``changeable``, a copy of its own.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import typing as t
from collections.abc import Callable
from pathlib import Path

from ansible_commands import SERVERS
from playbook_bench import LOCAL, Bench, Finished

if t.TYPE_CHECKING:
    FinishedRun = Callable[[str], Finished]


class Wanted(t.NamedTuple):
    """How a run is played: a playbook, the nodes and their variables, changes of the config, variables.

    Without nodes it has the inventory and the config of ``make demo``.
    """

    playbook: str
    nodes: dict[str, dict[str, t.Any]]
    config: dict[str, str] = {}  # noqa: RUF012  # never changed
    variables: dict[str, t.Any] = {}  # noqa: RUF012


_TWO: t.Final[dict[str, dict[str, t.Any]]] = {"node0": {}, "node1": {}}
RUNS: t.Final = {
    "demo": Wanted("megatron_multinode.yml", {}),
    "pass": Wanted("megatron_multinode.yml", _TWO, {"training_iterations": "30"}),
    "single": Wanted(
        "megatron_single_node.yml",
        {"node0": {}},
        {"mode": "single_node", "nnodes": "1", "master_address": "localhost", "training_iterations": "7"},
    ),
    "fail": Wanted("megatron_multinode.yml", _TWO, {"elapsed_time_per_iteration": "0.001"}),
    # Nobody can inspect node1.
    "error": Wanted(
        "megatron_multinode.yml", {"node0": {}, "node1": {"ansible_python_interpreter": "/nowhere/python3"}}
    ),
}


def folder_of(name: str) -> Path:
    """Return the folder of a finished run: its bench's folder."""
    return Path(os.environ[SERVERS], "runs", name)


def finished_run(name: str) -> Finished:
    """Return a run of RUNS, which the first test that asks plays."""
    wanted, folder = RUNS[name], folder_of(name)
    folder.mkdir(parents=True, exist_ok=True)
    status, output = folder / "status", folder / "output"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        bench = Bench(folder)
        if not status.exists():
            inventory, config = LOCAL / "hosts", LOCAL / "tiny_llama.json"
            if wanted.nodes:
                inventory, config = bench.inventory(**wanted.nodes), bench.config(**wanted.config)
            done = bench.play(wanted.playbook, inventory, config, **wanted.variables)
            output.write_text(done.output, encoding="utf-8")
            status.write_text(str(done.status))
    return Finished(int(status.read_text()), output.read_text(encoding="utf-8"), bench.runs)


def changeable(name: str, folder: Path) -> Finished:
    """Return a copy of a finished run's results in a folder of the test's own."""
    done = finished_run(name)
    shutil.copytree(done.runs, folder / "runs")
    return Finished(done.status, done.output, folder / "runs")
