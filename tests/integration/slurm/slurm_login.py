# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine that submits runs to the Slurm of `slurm_bench`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_commands import Playing, started
from paced_trainer import LONG, TRAINER, paced_trainer
from ports import free_port
from slurm_bench import Slurm

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 150


@dataclass
class Login:
    """The machine that submits: an inventory of one host, and a folder of runs that the nodes share."""

    slurm: Slurm
    folder: Path
    # Programs that come before the machine's.
    programs: Path | None = None
    # The options of salloc, inside which the playbook of the nodes' own inventory runs; or the job that it runs in.
    salloc: tuple[str, ...] = ()
    allocation: str | None = None
    # The place of the runs and of the nodes' logs, if not in a shared folder.
    apart: Path | None = None
    # All nodes are this machine, and so are the nodes of other tests.
    port: int = field(default_factory=free_port)

    @property
    def runs(self) -> Path:
        return (self.apart or self.folder) / "runs"

    def arguments(self, playbook: str, run_id: str, **variables: Any) -> list[str]:
        """Return the arguments of ansible-playbook, with the inventory written."""
        hosts = self.folder / ("slurm_allocation.yml" if self.salloc else "hosts")
        of_allocation = {"plugin": "trainops.cluster.slurm_allocation"}
        one = {"all": {"hosts": {"login": {"ansible_connection": "local"}}}}
        hosts.write_text(json.dumps(of_allocation if self.salloc else one))
        nodes, steps = variables.pop("nodes", 3), variables.pop("steps", 20)
        changes = {"nnodes": nodes, "master_address": "auto", "batch_size": 4 * nodes, "training_iterations": steps}
        changes |= {
            "log_dir": str((self.apart or self.folder) / "logs"),
            "sequence_length": 2,
            "result_dict": {"tokens_per_gpu": 1, "elapsed_time_per_iteration": 100000, "loss": 100},
        }
        everything = {
            "training_launcher": "srun" if self.salloc or self.allocation else "slurm",
            "training_config": str(ROOT / "inventories/local/tiny_llama.json"),
            "training_overrides": changes,
            "training_megatron_root": str(paced_trainer(self.folder) if steps >= LONG else TRAINER),
            "training_megatron_release": "v26.1",
            "training_gpus_per_node": 1,
            "training_master_port": self.port,
            "container_engine": "none",
            "training_output_dir": str(self.runs),
            "training_run_id": run_id,
            # Other work of the machine makes steps slow at any time.
            "training_warmup_steps": 2,
            **({"training_slurm_job": self.allocation} if self.allocation else {}),
            **variables,
        }
        return [str(ROOT / "playbooks" / playbook), "-i", str(hosts), "-e", json.dumps(everything)]

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "SLURM_"))}
        own = {**kept, **self.slurm.environment, "ANSIBLE_NOCOLOR": "1"}
        if self.programs:
            own["PATH"] = f"{self.programs}:{own['PATH']}"
        return own

    def start(self, playbook: str, run_id: str, **variables: Any) -> Playing | subprocess.Popen[str]:
        if self.salloc:
            return self.start_as_user(playbook, run_id, **variables)
        return started(
            ["ansible-playbook", *self.arguments(playbook, run_id, **variables)], self.environment(), self.folder
        )

    def start_as_user(self, playbook: str, run_id: str, **variables: Any) -> subprocess.Popen[str]:
        """Start a playbook in a process group of its own."""
        return subprocess.Popen(
            [
                *((str(self.slurm.root / "usr/bin/salloc"), *self.salloc) if self.salloc else ()),
                str(Path(sys.executable).parent / "ansible-playbook"),
                *self.arguments(playbook, run_id, **variables),
            ],
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def play(self, playbook: str, run_id: str, **variables: Any) -> tuple[int, str]:
        return ended(self.start(playbook, run_id, **variables))

    def interrupted(self, run_id: str, playing: Playing | subprocess.Popen[str]) -> str:
        """Wait for the end of a run that Slurm ended, which is not a failure of the training, and return its output."""
        status, output = ended(playing)
        assert status == 2, output
        summary = self.summary(run_id)
        assert (summary["verdict"], summary["first_failure"]) == ("ERROR", None), output
        return output

    def with_trainer(self, begins: str) -> str:
        """Return the path of a copy of the trainer that does something more at first."""
        trainer = self.folder / "trainer"
        shutil.copytree(TRAINER, trainer)
        program = trainer / "tiny_lm/pretrain.py"
        head, mark, rest = program.read_text().partition("from __future__ import annotations\n")
        program.write_text(head + mark + begins + rest)
        return str(trainer)

    def summary(self, run_id: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.runs / run_id / "summary.json").read_text())
        return found

    def job(self, run_id: str) -> str:
        return (self.runs / run_id / "job_id").read_text().strip()

    def trains(self, run_id: str) -> bool:
        """Tell whether the controller has seen a step."""
        path = self.runs / run_id / "nodes/gpu01/steps.jsonl"
        return path.exists() and path.stat().st_size > 0


def ended(playing: Playing | subprocess.Popen[str]) -> tuple[int, str]:
    output, _ = playing.communicate(timeout=2 * PATIENCE)
    return playing.returncode, output


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.2)
