"""Runs playbooks as a user would: as a process of its own, on real processes, with nothing replaced.

A play that runs to its end is spared the second that Ansible takes to start; a started one starts as a user starts it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from ansible_commands import Playing, finished, started
from paced_trainer import LONG, paced_trainer
from ports import free_port

ROOT = Path(__file__).resolve().parents[2]
LOCAL = ROOT / "inventories" / "local"
BIN = Path(sys.executable).parent

# Has Ansible's own connection to this machine, but for nodes that are lost.
_CONNECTIONS = Path(__file__).resolve().parent / "connections"


@dataclass
class Finished:
    """The leftovers of a playbook."""

    status: int
    output: str
    runs: Path

    @property
    def run_dir(self) -> Path:
        (plan,) = self.runs.glob("*/plan.json")
        return plan.parent

    @property
    def summary(self) -> dict:
        return json.loads((self.run_dir / "summary.json").read_text())


def wait_until(condition, seconds: float = 60):
    """Return the first true value of a condition; fail if there is none in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    pytest.fail(f"this did not come true in {seconds} s: {condition}")


class Bench:
    """A folder of its own for one test: its configs, its inventory, its logs on the nodes and its runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = folder / "runs"
        self.nodes = folder / "nodes"
        self.locks = folder / "locks"
        self._lost = folder / "lost"
        self.paced: dict[str, str] = {}

    def config(self, mode: str = "multi_node", **changes) -> Path:
        """Write the local inventory's config with changed values, each at the place of its key.

        A run of many steps pauses in each of them; a run of some steps computes in each; a test that sets no number of
        steps gets a short run.
        """
        data = json.loads((LOCAL / "tiny_llama.json").read_text())
        data["model_params"] = {mode: data["model_params"].pop("multi_node")}
        branch = data["model_params"][mode]["llama3_tiny"]["cpu"]
        changes = {
            "log_dir": str(self.nodes),
            "training_iterations": "8",
            "sequence_length": "16" if 8 < int(changes.get("training_iterations", 8)) < LONG else "2",
            # The current speed of this machine is no reason to fail.
            "tokens_per_gpu": "1",
            "elapsed_time_per_iteration": "100000",
            "loss": "100",
            **changes,
        }
        if int(changes["training_iterations"]) >= LONG:
            self.paced = {"training_megatron_root": str(paced_trainer(self.folder))}
        for key, value in changes.items():
            for section in (branch["result_dict"], branch, data["config"]):
                if key in section or section is data["config"]:
                    section[key] = value
                    break
        path = self.folder / "config.json"
        path.write_text(json.dumps(data, indent=1))
        return path

    def inventory(self, **hosts: dict) -> Path:
        """Write an inventory of hosts on this machine, each with its own variables."""
        path = self.folder / "hosts"
        common = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "container_engine": "none",
            "training_gpus_per_node": 1,
            "training_megatron_root": str(ROOT / "roles/training/files/trainer"),
        }
        path.write_text(json.dumps({"all": {"hosts": {name: {**common, **own} for name, own in hosts.items()}}}))
        return path

    def megatron(self, script: str) -> str:
        """Write a Megatron-LM that has this script for Llama 3, and return its folder."""
        folder = self.folder / "megatron"
        path = folder / "examples/llama/train_llama3.sh"
        path.parent.mkdir(parents=True)
        path.write_text(script)
        return str(folder)

    def arguments(self, playbook: str, inventory: Path, config: Path, **variables) -> list[str]:
        everything = {
            "training_config": str(config),
            "training_output_dir": str(self.runs),
            "training_master_port": free_port(),
            # Other work of the machine makes steps slow at any time.
            "training_warmup_steps": "2",
            **self.paced,
            **variables,
        }
        return [
            str(BIN / "ansible-playbook"),
            str(ROOT / "playbooks" / playbook),
            "-i",
            str(inventory),
            "-e",
            json.dumps(everything),
        ]

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
        # Another bench has nodes of the same names on this machine.
        own = {"TRAINOPS_LOCK_FOLDER": str(self.locks), "TRAINOPS_LOST_NODES": str(self._lost)}
        # The same for all benches, so that a process is of use to all.
        of_ansible = {"CONNECTION_PLUGINS": str(_CONNECTIONS), "NOCOLOR": "1", "SHOW_CUSTOM_STATS": "1"}
        own |= {f"ANSIBLE_{name}": value for name, value in of_ansible.items()}
        return {**kept, **own, "TRAINOPS_PROGRESS_INTERVAL": "0.5"}

    def play(
        self,
        playbook: str,
        inventory: Path,
        config: Path,
        *more: str,
        cwd: Path = ROOT,
        env: dict[str, str] | None = None,
        **variables,
    ) -> Finished:
        """Play a playbook to its end; with a folder or an environment of its own from the start of Ansible on."""
        command = [*self.arguments(playbook, inventory, config, **variables), *more]
        if cwd != ROOT or env is not None:
            return self.ended(self.started(command, cwd, env or {}))
        done = finished(["ansible-playbook", *command[1:]], self.environment())
        return Finished(done.returncode, done.stdout, self.runs)

    def ended(self, run: subprocess.Popen[str]) -> Finished:
        output, _ = run.communicate(timeout=300)
        return Finished(run.returncode, output, self.runs)

    def start(self, playbook: str, inventory: Path, config: Path, **variables) -> Playing:
        command = self.arguments(playbook, inventory, config, **variables)
        return started(["ansible-playbook", *command[1:]], self.environment())

    def start_as_user(self, playbook: str, inventory: Path, config: Path, **variables) -> subprocess.Popen[str]:
        return self.started(self.arguments(playbook, inventory, config, **variables), ROOT, {})

    def started(self, command: list[str], cwd: Path, env: dict[str, str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            cwd=cwd,
            env=self.environment() | env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def lose(self, node: str) -> None:
        """Make a node stop answering."""
        self._lost.mkdir(exist_ok=True)
        (self._lost / node).touch()

    def find_again(self, node: str) -> None:
        """Let a node that was lost answer again."""
        (self._lost / node).unlink()

    def trainings(self, node: str = "") -> list[int]:
        """Return the pids of live processes, on one node or on all, whose training logs below this bench's folder."""
        marker, of_node = f"LOG_DIR={self.nodes}".encode(), f"TRAINOPS_NODE={node}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    environment = (entry / "environ").read_bytes()
                    state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                except OSError:
                    continue
                if marker in environment and of_node in environment and state != "Z":
                    found.append(int(entry.name))
        return found

    def controllers(self) -> list[int]:
        """Return the pids of live processes of ansible-playbook that work for this bench."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes()
            except OSError:
                continue
            if b"ansible-playbook" in words and str(self.folder).encode() in words:
                found.append(int(path.parent.name))
        return found
