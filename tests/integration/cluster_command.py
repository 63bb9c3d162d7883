# SPDX-License-Identifier: GPL-3.0-or-later
"""The command of the cluster of real nodes, for tests."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from not_run import need_root

COMMAND = Path(__file__).parent / "cluster/cluster.py"
sys.path.insert(0, str(COMMAND.parent))
import _access
import _cluster

IMAGE = "localhost/trainops/trainer:1"
_CANNOT = 77

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    Done = subprocess.CompletedProcess[str]


class ClusterCommand:
    """The command, for the cluster that keeps its state in the folder ``state``."""

    def __init__(self, state: Path) -> None:
        self.state = state

    def argv(self, name: str, *arguments: str) -> list[str]:
        return [sys.executable, str(COMMAND), name, "--state", str(self.state), *arguments]

    def run(self, name: str, *arguments: str, stdin: t.IO[bytes] | int = subprocess.DEVNULL) -> Done:
        return subprocess.run(self.argv(name, *arguments), capture_output=True, text=True, check=False, stdin=stdin)

    def down(self) -> None:
        done = self.run("down")
        assert (done.returncode, done.stdout) == (0, "the cluster is down\n"), done.stderr
        assert done.stderr in ("", "waiting for another command of the cluster\n")

    def on(self, node: str, *command: str, check: bool = True) -> str:
        """Run a command on a node, outside of Ansible, and return its output."""
        done = self.ssh(node, *command)
        assert done.returncode == 0 or not check, done.stdout + done.stderr
        return done.stdout

    def ssh(self, node: str, *command: str, stdin: t.IO[bytes] | int = subprocess.DEVNULL) -> Done:
        """Run a command on a node as `exec` does, without a Python that starts for it."""
        nodes = {node.name: node for node in _cluster.running(_cluster.Cluster(self.state, COMMAND.parent))}
        argv = _access.ssh_command(self.state, nodes[node], command)
        return subprocess.run(argv, capture_output=True, text=True, check=False, stdin=stdin)


@contextlib.contextmanager
def nodes_up(cluster: ClusterCommand, count: int) -> Iterator[None]:
    """Keep this many nodes up meanwhile; the test is skipped in words if the machine is too small for them."""
    need_root("only root can make nodes", "make test-cluster")
    done = cluster.run("up", "--nodes", str(count))
    if done.returncode == _CANNOT:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    try:
        yield
    finally:
        cluster.down()
