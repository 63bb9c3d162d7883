# SPDX-License-Identifier: GPL-3.0-or-later
"""What long runs, and many in a row, cost and leave: memory, descriptors, sockets, processes, on controller and nodes.

The nodes are processes of this machine. A long run is measured after its start, in the middle and shortly before its
end; of many runs, the first, the middle and the last one. What lasts must not grow, and nothing may be left.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import typing as t
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_BIN = Path(sys.executable).parent
_COLUMNS = ("processes", "rss_mb", "largest_mb", "descriptors", "sockets")
_TRAINER = """\
export "$@"
i=1
while [ $i -le $TOTAL_ITERS ]; do
  loss=$((50 - i * 40 / TOTAL_ITERS)).0E-01
  echo " iteration $i/ $TOTAL_ITERS | elapsed time per iteration (ms): 20.0 | lm loss: $loss |"
  sleep {seconds}
  i=$((i + 1))
done
"""


class Usage(t.NamedTuple):
    """What some processes use: how many there are, resident MB of all and of the largest, open descriptors, sockets."""

    processes: int
    rss_mb: float
    largest_mb: float
    descriptors: int
    sockets: int


def main() -> None:
    """Soak, and print the tables."""
    parser = argparse.ArgumentParser("soak.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, default=8, help="default: %(default)s")
    parser.add_argument("--steps", type=int, default=5000, help="of the long run (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=100, help="in a row (default: %(default)s)")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="trainops-soak-") as name,
        contextlib.closing(Soak(Path(name), options.nodes)) as soak,
    ):
        if options.steps:
            print(f"\nOne run of {options.steps} steps on {options.nodes} nodes\n")
            print_table(("moment", "step", "of", *_COLUMNS), soak.long_run(options.steps))
        if options.runs:
            print(f"\n{options.runs} runs in a row on {options.nodes} nodes\n")
            head = ("run", "seconds", "peak_mb", "left_processes", "left_in_locks", "left_in_shm", "exit_status")
            print_table(head, soak.many_runs(options.runs))


def print_table(head: t.Sequence[str], rows: t.Iterable[t.Sequence[t.Any]]) -> None:
    """Print rows as they come, in Markdown."""
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(f'{cell:.1f}' if isinstance(cell, float) else str(cell) for cell in row)} |", flush=True)


class Soak:
    """Runs below a folder, one after the other."""

    def __init__(self, folder: Path, nodes: int) -> None:
        self._controller: subprocess.Popen[bytes] | None = None
        self._folder, self._names = folder, [f"node{number}" for number in range(nodes)]
        for name in ("megatron/examples/llama", "locks", "runs"):
            (folder / name).mkdir(parents=True)
        of_all = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "container_engine": "none",
            "training_gpus_per_node": 1,
            "training_record_only": True,
            "training_megatron_root": str(folder / "megatron"),
        }
        hosts = dict.fromkeys(self._names, of_all)
        (folder / "hosts").write_text(json.dumps({"all": {"hosts": hosts}}))

    def close(self) -> None:
        """End what an interrupted run left."""
        if self._controller and self._controller.poll() is None:
            left = [*self._of_controller(), *self._of_nodes()]
            for path in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(path.name), signal.SIGKILL)
            self._controller.wait()

    def long_run(self, steps: int) -> t.Iterator[tuple[t.Any, ...]]:
        """Yield what controller and nodes use at three moments of one run, and what is there after it."""
        controller = self._start("long", steps, seconds=0.05)
        for moment, part in (("start", 0.02), ("middle", 0.5), ("end", 0.95)):
            while controller.poll() is None and (step := self._step("long")) < part * steps:
                time.sleep(0.2)
            yield moment, step, "controller", *usage(self._of_controller())
            yield moment, step, "nodes", *usage(self._of_nodes())
        self._check(controller.wait())
        yield "after", self._step("long"), "controller", *usage(self._of_controller())
        yield "after", self._step("long"), "nodes", *usage(self._of_nodes())

    def many_runs(self, runs: int) -> t.Iterator[tuple[t.Any, ...]]:
        """Yield of the first, the middle and the last run what it took and left."""
        shown = {0, runs // 2, runs - 1}
        for number in range(runs):
            began, peak = time.monotonic(), 0.0
            controller = self._start(f"run{number}", steps=10, seconds=0.05)
            while controller.poll() is None:
                peak = max(peak, usage(self._of_controller()).rss_mb)
                time.sleep(0.5)
            if number in shown or controller.returncode:
                left = [*self._of_nodes(), *self._of_controller()]
                locks = sum(1 for path in (self._folder / "locks").rglob("*") if path.is_file())
                shm = sum(1 for path in Path("/dev/shm").glob(f"trainops-run{number}-*"))
                yield number + 1, time.monotonic() - began, peak, len(left), locks, shm, controller.returncode
            self._check(controller.returncode)

    def _check(self, status: int) -> None:
        """End here where a run did not pass, with the last that it said."""
        if status:
            said = (self._folder / "output.log").read_text(errors="replace").splitlines()[-40:]
            raise SystemExit("\n".join([*said, f"A run ended with exit status {status}."]))

    def _start(self, run_id: str, steps: int, seconds: float) -> subprocess.Popen[bytes]:
        script = self._folder / "megatron/examples/llama/train_llama3.sh"
        script.write_text(_TRAINER.format(seconds=seconds))
        config = json.loads((_ROOT / "inventories/local/tiny_llama.json").read_text())
        config["config"] |= {"log_dir": str(self._folder / "logs"), "training_iterations": str(steps)}
        (self._folder / "config.json").write_text(json.dumps(config))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        variables = {
            "training_config": str(self._folder / "config.json"),
            "training_output_dir": str(self._folder / "runs"),
            "training_master_port": port,
            "training_run_id": run_id,
            "training_require_pass": False,
            "training_overrides": {"nnodes": len(self._names), "batch_size": 4 * len(self._names)},
        }
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
        with open(self._folder / "output.log", "ab") as output:
            self._controller = subprocess.Popen(
                [
                    *(_BIN / "ansible-playbook", _ROOT / "playbooks/megatron_multinode.yml"),
                    *("-i", self._folder / "hosts", "-e", json.dumps(variables)),
                ],
                cwd=_ROOT,
                env={**kept, "TRAINOPS_LOCK_FOLDER": str(self._folder / "locks")},
                stdout=output,
                stderr=output,
            )
        return self._controller

    def _step(self, run_id: str) -> int:
        try:
            status = json.loads((self._folder / f"runs/{run_id}/nodes/{self._names[0]}/status.json").read_text())
        except FileNotFoundError:
            return 0
        return int(status.get("last_step") or 0)

    def _of_controller(self) -> list[Path]:
        """Return the controller and what it started, also what outlived it, without what runs on the nodes."""
        nodes = self._of_nodes()
        marker = f"TRAINOPS_LOCK_FOLDER={self._folder}/locks".encode()
        return [path for path in _processes() if marker in _read(path / "environ") and path not in nodes]

    def _of_nodes(self) -> list[Path]:
        return [path for path in _processes() if f"LOG_DIR={self._folder}/logs".encode() in _read(path / "environ")]


def usage(processes: t.Iterable[Path]) -> Usage:
    """Return what processes use, by their folders in /proc; one that ends meanwhile counts as far as it was seen."""
    count = descriptors = sockets = 0
    sizes = [0.0]
    for path in processes:
        count += 1
        status = _read(path / "status").splitlines()
        sizes.append(sum(int(line.split()[1]) for line in status if line.startswith(b"VmRSS")) / 1024)
        for descriptor in _names(path / "fd"):
            descriptors += 1
            try:
                sockets += os.readlink(descriptor).startswith("socket:")
            except OSError:
                continue
    return Usage(count, sum(sizes), max(sizes), descriptors, sockets)


def _processes() -> list[Path]:
    return [path for path in Path("/proc").iterdir() if path.name.isdigit()]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _names(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


if __name__ == "__main__":
    main()
