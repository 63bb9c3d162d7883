"""A cluster of real nodes for playing this project's playbooks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from ansible_commands import Playing, started
from cluster_command import ClusterCommand

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent


class Cluster(ClusterCommand):
    """Three nodes, reached by SSH, with docker and podman, and the project's own trainer in an image."""

    @property
    def inventory(self) -> Path:
        return self.state / "hosts"

    @property
    def nodes(self) -> list[str]:
        inventory = json.loads(self.inventory.read_text())
        return next(list(group["hosts"]) for group in inventory.values() if "hosts" in group)

    def copy(self, node: str, source: Path, target: str) -> None:
        """Copy a file to a node."""
        with source.open("rb") as stream:
            done = self.ssh(node, "dd", f"of={target}", "status=none", stdin=stream)
        assert done.returncode == 0, done.stderr

    def play(self, playbook: str, *more: str, **variables) -> subprocess.CompletedProcess[str]:
        playing = self.start(playbook, *more, **variables)
        output, errors = playing.communicate(timeout=1200)
        return subprocess.CompletedProcess(playing.args, playing.wait(), output, errors)

    def start(self, playbook: str, *more: str, **variables) -> Playing:
        command = ["ansible-playbook", *self.command(playbook, *more, **variables)[1:]]
        return started(command, self.environment())

    def command(self, playbook: str, *more: str, **variables) -> list[str]:
        return [
            str(BIN / "ansible-playbook"),
            str(ROOT / "playbooks" / playbook),
            "-i",
            str(self.inventory),
            "-e",
            json.dumps(variables),
            *more,
        ]

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
        return {**kept, "ANSIBLE_NOCOLOR": "1", "TRAINOPS_PROGRESS_INTERVAL": "1"}
