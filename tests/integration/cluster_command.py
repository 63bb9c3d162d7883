# SPDX-License-Identifier: GPL-3.0-or-later
"""The command of the cluster of real nodes, as tests run it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from not_run import need_root

COMMAND = Path(__file__).parent / "cluster/cluster.py"
IMAGE = "localhost/trainops/trainer:1"
_CANNOT = 77

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    Done = subprocess.CompletedProcess[str]


class ClusterCommand:
    """The command, for the cluster that keeps what it knows in the folder ``state``."""

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
        """Run a command on a node, outside of Ansible, and return what it prints."""
        done = self.run("exec", node, *command)
        assert done.returncode == 0 or not check, done.stdout + done.stderr
        return done.stdout


@contextlib.contextmanager
def nodes_up(cluster: ClusterCommand, count: int) -> Iterator[None]:
    """Have so many nodes up meanwhile; the test is skipped in words where the machine cannot hold them."""
    need_root("only root can make nodes")
    done = cluster.run("up", "--nodes", str(count))
    if done.returncode == _CANNOT:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    try:
        yield
    finally:
        cluster.down()
