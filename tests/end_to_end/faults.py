"""Faults of a run of two nodes, and the signs of each: a fault is done to node1 once both train."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import time
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from fault_table import IS_WRITTEN
from playbook_bench import Bench

# It takes no processor time and prints its steps until somebody ends it, NaN if one file asks for it, and the last
# words from another file.
TRAINER = """
export "$@"
step=0
while [ "$step" -lt "$TOTAL_ITERS" ]; do
  step=$((step + 1)); loss=4.0E+00
  [ -e {folder}/nan ] && [ "$NODE_RANK" = 1 ] && loss=nan
  [ -e {folder}/last_words ] && [ "$NODE_RANK" = 1 ] && {{ cat {folder}/last_words; exit 1; }}
  echo " iteration $step/ $TOTAL_ITERS | elapsed time per iteration (ms): 200.0 | lm loss: $loss |"
  sleep 0.2
done
"""


def signal_all(number: int) -> t.Callable[[Bench, Path], None]:
    def fault(bench: Bench, _folder: Path) -> None:
        for pid in bench.trainings("node1"):
            # Some are there for a moment only.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    return fault


def kill_the_trainer(bench: Bench, _folder: Path) -> None:
    """Kill the children of the launch script, and leave it to record that."""
    for pid in bench.trainings("node1"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if b"launch.sh" not in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)


def hang(bench: Bench, _folder: Path) -> None:
    """Stop all processes of the run, like a collective that one rank does not join."""
    for pid in bench.trainings():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)


def python_that_can_go(bench: Bench) -> dict[str, str]:
    """Return variables of a node whose Python is a file of the test."""
    python = bench.folder / "python3"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return {"ansible_python_interpreter": str(python)}


_COUNTERS = "class/infiniband/mlx5_0/ports/1/counters"
# The files of a node's kernel, and the test's file or folder in the place of each.
_KERNEL = {"/proc/sys/kernel/random/boot_id": "boot_id", "/dev/kmsg": "kmsg", "/sys/class": "class"}


def kernel_of_its_own(bench: Bench) -> dict[str, str]:
    """Return variables of a node that has a boot, a kernel log and counters of a network adapter of its own."""
    (bench.folder / "boot_id").write_text("the first boot\n")
    (bench.folder / "kmsg").touch()
    (bench.folder / _COUNTERS).mkdir(parents=True)
    for name in ("link_downed", "symbol_error", "port_rcv_data"):
        (bench.folder / _COUNTERS / name).write_text("2\n")
    mounts = "".join(f"mount --bind {bench.folder / own} {path}\n" for path, own in _KERNEL.items())
    python = bench.folder / "python3"
    inside = f'{mounts}exec {sys.executable} "$@"'
    python.write_text(f"#!/bin/sh\nexec unshare --mount --propagation private sh -ec '{inside}' sh \"$@\"\n")
    python.chmod(0o755)
    return {"ansible_python_interpreter": str(python)}


def boot(bench: Bench, folder: Path) -> None:
    bench.lose("node1")
    (bench.folder / "boot_id").write_text("the second boot\n")
    signal_all(signal.SIGKILL)(bench, folder)
    bench.find_again("node1")


def lose_a_gpu(bench: Bench, folder: Path) -> None:
    said = "NVRM: Xid (PCI:0000:0c:00): 79, pid=4711, name=python3, GPU has fallen off the bus."
    (bench.folder / "kmsg").write_text(f"3,17,{(time.monotonic() + 1) * 1e6:.0f},-;{said}\n")
    kill_the_trainer(bench, folder)


def lose_a_link(bench: Bench, _folder: Path) -> None:
    for name in ("link_downed", "port_rcv_data"):
        (bench.folder / _COUNTERS / name).write_text("3\n")
    said = "gpu1:17:42 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer with status=12 opcode=0"
    draft = bench.folder / "draft"
    draft.write_text(f"{said}\n")
    draft.rename(bench.folder / "last_words")


def move_the_log(_bench: Bench, folder: Path) -> None:
    (folder / "train.log").rename(folder / "train.log.1")


@dataclass
class Fault:
    """A fault, the first sign of it on the board of node1, and the class or code of the report.

    ``node1`` prepares that node and returns its variables, ``undo`` ends the fault if nothing could be ended on the
    node meanwhile. ``evidence`` is a line of the first failure's. ``at_most`` is in seconds; it bounds the times in the
    table, generously, because the machine may be loaded.
    """

    name: str
    do: t.Callable[[Bench, Path], None]
    failure: str
    verdict: str
    quick: bool = False
    at_most: float = 60.0
    noticed: t.Callable[[dict], t.Any] = lambda status: status["status"] != "running"
    options: dict[str, t.Any] = field(default_factory=dict)
    steps: int = 100_000
    node1: t.Callable[[Bench], dict[str, str]] = lambda _bench: {}
    undo: t.Callable[[Bench], t.Any] | None = None
    evidence: str = ""


FAULTS = [
    Fault("a rank is killed", kill_the_trainer, "killed", "FAIL", quick=True),
    Fault("all processes of a node are killed", signal_all(signal.SIGKILL), "killed", "FAIL"),
    Fault(
        "the run's folder is removed",
        lambda _bench, folder: shutil.rmtree(folder),
        "run_folder_gone",
        "ERROR",
        quick=True,
    ),
    Fault(
        "the loss is NaN, with training_abort_on_nan",
        lambda bench, _folder: (bench.folder / "nan").touch(),
        "nan",
        "FAIL",
        quick=True,
        noticed=lambda status: "training_abort_on_nan" in status.get("message", ""),
        options={"training_abort_on_nan": True},
    ),
    Fault(
        "the node does not answer",
        lambda bench, _folder: bench.lose("node1"),
        "unreachable",
        "ERROR",
        undo=lambda bench: bench.find_again("node1"),
    ),
    Fault(
        "the node no longer has Python",
        lambda bench, _folder: (bench.folder / "python3").unlink(),
        "unreachable",
        "ERROR",
        node1=python_that_can_go,
        undo=python_that_can_go,
    ),
    Fault(
        "the log is moved away",
        move_the_log,
        "log_cut",
        "INCONCLUSIVE",
        noticed=lambda status: status.get("log_problem"),
        steps=60,
    ),
    Fault("every rank hangs", hang, "stalled", "FAIL"),
    Fault("the node reboots", boot, "rebooted", "FAIL", node1=kernel_of_its_own),
    Fault(
        "the kernel logs that a GPU fell off the bus, and its rank is killed",
        lose_a_gpu,
        "gpu_error",
        "FAIL",
        node1=kernel_of_its_own,
    ),
    Fault(
        "a link of the network goes down, as its counter says, and NCCL gives up",
        lose_a_link,
        "nccl",
        "FAIL",
        node1=kernel_of_its_own,
        evidence="node1: mlx5_0/1 link_downed grew by 1 during the run",
    ),
]


def status(bench: Bench, node: str = "node1") -> dict[str, t.Any]:
    path = bench.runs / f"fault/nodes/{node}/status.json"
    return json.loads(path.read_text()) if path.exists() else {"status": "not_started"}


def needs_time() -> None:
    if not IS_WRITTEN:
        pytest.skip("it takes its time; run `make test-faults`")


def trainer(bench: Bench) -> dict[str, str]:
    """Write the trainer, and return the variables of a run with it."""
    root = bench.megatron(TRAINER.format(folder=bench.folder))
    return {"training_run_id": "fault", "training_megatron_root": root}


def trains(bench: Bench, step: int = 3) -> bool:
    return all(status(bench, node).get("last_step", 0) > step for node in ("node0", "node1"))
