# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast a run is launched, followed, stopped and judged, beside the last release, bare ssh, and playbooks.

The nodes are sshds on loopback addresses of this machine, so wall times have the work of the nodes in them, and of
whatever else the machine does: compare arms, which are interleaved, by their ratios. ``controller_cpu_s`` is the user
and system time of the arm's process, all that it started and the ssh masters it left; ``peak_mb`` their PSS, looked at
once a second; ``round_trips`` the commands that all nodes were given; ``node_cpu_ms`` what each node spent (for root,
whose nodes have processes of their own). The training is the same script for each arm.

``ssh_two_trips`` is bare ssh with as many round trips as a run needs, and its key exchange; ``ssh_floor`` asks a third
time for the log, with OpenSSH's own key exchange. ``empty`` is a playbook with one task that does nothing. Arms that
begin with ``release`` are the last release, or the commit of ``--release``.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib.util
import json
import os
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import typing as t
from pathlib import Path

from _nodes import Nodes, cpu_seconds, family
from _release import checkout, last_release

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parent
_BIN = Path(sys.executable).parent
ARMS = (
    "empty", "trainops", "release", "trainops_warm", "release_warm", "preflight", "release_preflight",
    "ssh_two_trips", "ssh_floor", "pssh", "naive",
)  # fmt: skip
_FIELDS = ("arm", "nodes", "round", "wall_s", "controller_cpu_s", "peak_mb", "round_trips", "node_cpu_ms")
_LIBRARY_BYTES: t.Final = 30_000
# On 64 nodes a naive playbook takes minutes, and a round of the other arms as well.
_SEVERAL_UP_TO: t.Final = 16
# It waits in bash, as a process for each step of each node would be most of what is measured.
_TRAINER = """\
exec 9<> <(:)
for ((i = 1; i <= {steps}; i++)); do
  echo " iteration $i/ {steps} | elapsed time per iteration (ms): 100.0 | lm loss: $((50 - i % 40)).0E-01 |"
  read -rt {seconds} -u 9
done
exit 0
"""


def main() -> None:
    """Measure, and write the figures."""
    parser = argparse.ArgumentParser("launch.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", default="4,16,64,128", help="sizes, with commas (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="of up to 16 nodes; of more, one (default: 5)")
    parser.add_argument("--arms", default=",".join(ARMS), help="with commas (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=10, help="of the training; 600 take a minute of following")
    parser.add_argument("--release", default=last_release(), help="a commit, or '' for none (default: %(default)s)")
    parser.add_argument("--name", default="launch", help="of the files of results (default: %(default)s)")
    parser.add_argument("--results", type=Path, default=_HERE / "results", help="folder (default: %(default)s)")
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    table = options.results / f"{options.name}.csv"
    for size in map(int, options.nodes.split(",")):
        with tempfile.TemporaryDirectory(prefix="trainops-bench-") as name, checkout(options.release) as release:
            found = measured(Path(name), release, size, options.rounds, options.arms.split(","), options.steps)
        # What an earlier call measured of other sizes stays.
        rows = sorted([*(row for row in rows_of(table) if row["nodes"] != size), *found], key=lambda row: row["nodes"])
        with open(table, "w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, _FIELDS)
            writer.writeheader()
            writer.writerows(rows)


def rows_of(table: Path) -> list[dict[str, t.Any]]:
    """Return the rows of a table that may not be there yet."""
    if not table.exists():
        return []
    with open(table, newline="", encoding="utf-8") as stream:
        return [
            {name: text if name == "arm" else float(text) if "." in text else int(text) for name, text in row.items()}
            for row in csv.DictReader(stream)
        ]


def measured(
    folder: Path, release: Path | None, size: int, rounds: int, arms: list[str], steps: int
) -> list[dict[str, t.Any]]:
    """Return a row for each round of each arm, and print the medians."""
    rows = []
    left_out = {"naive"} if size > _SEVERAL_UP_TO else set()
    left_out |= set() if release else {arm for arm in ARMS if arm.startswith("release")}
    if not importlib.util.find_spec("pssh"):
        left_out.add("pssh")
        print("pssh is left out: install parallel-ssh for it, as requirements-dev.txt does")
    with Nodes(folder / "sshd", size, free_port()) as nodes:
        bench = Bench(folder, nodes, steps, release)
        for number in range(1, (rounds if size <= _SEVERAL_UP_TO else 1) + 1):
            for arm in [arm for arm in arms if arm not in left_out]:
                rows.append({"arm": arm, "nodes": size, "round": number, **bench.run(arm, f"{arm}-{number}")})
                print(",".join(str(rows[-1][name]) for name in _FIELDS), flush=True)
            # Of what takes so long once is enough.
            left_out.add("naive")
    floor = [row["wall_s"] for row in rows if row["arm"] == "ssh_two_trips"]
    for arm in dict.fromkeys(row["arm"] for row in rows):
        of_arm = [row for row in rows if row["arm"] == arm]
        wall, cpu, peak = (
            statistics.median(row[name] for row in of_arm) for name in ("wall_s", "controller_cpu_s", "peak_mb")
        )
        ratio = f"{wall / statistics.median(floor):5.1f} × floor" if floor else ""
        print(f"{size:5} nodes  {arm:17} {wall:7.2f} s {ratio}  {1000 * cpu / size:7.1f} ms a node  {peak:6.0f} MB")
    return rows


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Bench:
    """One size: what each arm needs, and its measuring."""

    def __init__(self, folder: Path, nodes: Nodes, steps: int, release: Path | None) -> None:
        self.folder, self.nodes, self.release = folder, nodes, release
        self.sockets = folder / "cp"
        self.sockets.mkdir()
        script = folder / "trainer/examples/llama/train_llama3.sh"
        script.parent.mkdir(parents=True)
        script.write_text(_TRAINER.format(steps=steps, seconds=0.1))
        library = folder / "librdma.so"
        library.write_bytes(os.urandom(_LIBRARY_BYTES))
        options = {
            "Port": nodes.port,
            "IdentityFile": nodes.key,
            "UserKnownHostsFile": nodes.known_hosts,
            "ControlMaster": "auto",
            "ControlPersist": "60s",
            "ControlPath": f"{self.sockets}/%C",
            "BatchMode": "yes",
        }
        # The key exchange is what ansible.cfg asks for.
        kinds = {"ssh_floor": options, "ssh_two_trips": options | {"KexAlgorithms": "^curve25519-sha256"}}
        self._write("bench.json", {
            "addresses": nodes.addresses,
            "port": nodes.port,
            "key": str(nodes.key),
            "work": str(folder / "work"),
            "script": str(script),
            "ssh_options": {
                arm: ["-F", "none", *(f"-o{name}={value}" for name, value in of_arm.items())]
                for arm, of_arm in kinds.items()
            },
        })  # fmt: skip
        common = {
            "ansible_port": nodes.port,
            "ansible_ssh_private_key_file": str(nodes.key),
            "ansible_ssh_common_args": f"-F none -o UserKnownHostsFile={nodes.known_hosts}",
            "ansible_python_interpreter": "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable,
            "container_engine": "none",
            "training_gpus_per_node": 1,
            "training_megatron_root": str(folder / "trainer"),
            "bench_work": str(folder / "work"),
            "bench_script": str(script),
            "bench_library": str(library),
        }
        hosts = {f"node{number:04}": {"ansible_host": address} for number, address in enumerate(nodes.addresses)}
        self._write("hosts", {"all": {"hosts": hosts, "vars": common}})
        config = json.loads((_ROOT / "inventories/local/tiny_llama.json").read_text())
        config["config"] |= {
            "nnodes": str(len(hosts)),
            "master_address": "auto",
            "training_iterations": str(steps),
            "log_dir": str(folder / "logs"),
        }
        model = config["model_params"]["multi_node"]["llama3_tiny"]["cpu"]
        model |= {"batch_size": str(4 * len(hosts)), "result_dict": {}}
        self._write("config.json", config)

    def _write(self, name: str, value: t.Any) -> None:
        (self.folder / name).write_text(json.dumps(value))

    def _command(self, arm: str, run_id: str) -> tuple[list[str], dict[str, str]]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
        # As installed: compiled once.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment |= {"ANSIBLE_SSH_CONTROL_PATH_DIR": str(self.sockets)}
        playbook = [str(_BIN / "ansible-playbook"), "-i", str(self.folder / "hosts")]
        if arm == "empty":
            return [*playbook, str(_HERE / "empty.yml")], environment
        if arm in ("ssh_two_trips", "ssh_floor", "pssh"):
            return [sys.executable, str(_HERE / "_arms.py"), arm, str(self.folder)], environment
        if arm == "naive":
            # Ansible's own settings; only where the sockets are is ours.
            defaults = self.folder / "defaults.cfg"
            defaults.touch()
            return [*playbook, str(_HERE / "naive.yml")], environment | {"ANSIBLE_CONFIG": str(defaults)}
        given = {
            "training_config": str(self.folder / "config.json"),
            "training_output_dir": str(self.folder / "runs"),
            "training_run_id": run_id,
            "training_master_port": free_port(),
            "training_record_only": True,
            "training_require_pass": False,
        }
        # Ansible finds the settings of a checkout, and with them its collection, from where it is called.
        name = "preflight.yml" if arm.endswith("preflight") else "megatron_multinode.yml"
        return [*playbook, f"playbooks/{name}", "-e", json.dumps(given)], environment

    def run(self, arm: str, run_id: str) -> dict[str, t.Any]:
        """Run an arm once; every arm but a warm one begins without connections."""
        self._end_masters()
        if arm.endswith("_warm"):
            self._connect()
        round_trips, of_nodes = self.nodes.round_trips(), self.nodes.cpu_seconds()
        command, environment = self._command(arm, run_id)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        masters_before = sum(cpu_seconds(pid) for pid in masters(self.sockets))
        began = time.monotonic()
        with open(self.folder / f"{run_id}.log", "w+b") as log:
            root = self.release if self.release and arm.startswith("release") else _ROOT
            process = subprocess.Popen(command, cwd=root, env=environment, stdout=log, stderr=subprocess.STDOUT)
            with Peak(process.pid, self.sockets) as peak:
                status = process.wait()
            wall = time.monotonic() - began
            trains = arm.startswith(("trainops", "release")) and not arm.endswith("preflight")
            if status != 0 or (trains and not self._all_trained(run_id)):
                log.seek(0)
                raise SystemExit(f"{arm} failed with {status}:\n{log.read().decode(errors='replace')}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {
            "wall_s": round(wall, 2),
            "controller_cpu_s": round(cpu + peak.cpu_of_masters - masters_before, 2),
            "peak_mb": round(peak.megabytes),
            "round_trips": self.nodes.round_trips() - round_trips,
            "node_cpu_ms": round(1000 * (self.nodes.cpu_seconds() - of_nodes) / len(self.nodes.addresses)),
        }

    def _all_trained(self, run_id: str) -> bool:
        summary = json.loads((self.folder / "runs" / run_id / "summary.json").read_text())
        return [node["exit_code"] for node in summary["nodes"]] == [0] * len(self.nodes.addresses)

    def _connect(self) -> None:
        """Open the connections that a warm run finds."""
        (_playbook, *inventory, _name, _e, _given), environment = self._command("trainops", "none")
        ping = [str(_BIN / "ansible"), "all", *inventory, "-m", "ansible.builtin.raw", "-a", "true"]
        subprocess.run(ping, cwd=_ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)

    def _end_masters(self) -> None:
        while running := masters(self.sockets):
            for pid in running:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
            time.sleep(0.1)


def processes() -> t.Iterator[tuple[int, str]]:
    """Yield pid and command line of every process."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                yield int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")


def masters(sockets: Path) -> set[int]:
    """Return the processes of ssh that keep a connection whose socket is in a folder."""
    return {pid for pid, command in processes() if str(sockets) in command and "mux]" in command}


class Peak:
    """The greatest PSS of a process, its descendants and the masters of its connections, while it is open.

    The masters may end before the process does, so their processor time is as it was when they were last looked at.
    """

    def __init__(self, pid: int, sockets: Path) -> None:
        self._pid, self._sockets = pid, sockets
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._cpu_of_masters: dict[int, float] = {}
        self.megabytes = 0.0

    def __enter__(self) -> t.Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended.set()
        self._thread.join()
        self._look_at_masters()

    @property
    def cpu_of_masters(self) -> float:
        """Return the processor time of all masters, in seconds."""
        return sum(self._cpu_of_masters.values())

    def _watch(self) -> None:
        while not self._ended.wait(1.0):
            self.megabytes = max(self.megabytes, sum(map(_pss, family([self._pid]) | self._look_at_masters())))

    def _look_at_masters(self) -> set[int]:
        found = masters(self._sockets)
        for pid in found:
            self._cpu_of_masters[pid] = max(cpu_seconds(pid), self._cpu_of_masters.get(pid, 0.0))
        return found


def _pss(pid: int) -> float:
    with contextlib.suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:"))
    return 0.0


if __name__ == "__main__":
    main()
