# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible's commands, each in a process of its own, without the second that Ansible takes to start."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import typing as t
from pathlib import Path

if t.TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).resolve().parents[1]
SERVER = Path(__file__).with_name("ansible_server.py")
# The sockets of a test run's servers, and the process with which they end.
SERVERS, OWNER = "TRAINOPS_ANSIBLE_SERVERS", "TRAINOPS_ANSIBLE_SERVERS_OWNER"
# The variables that plugins read when they are loaded; all others beginning with ANSIBLE_ are read as Ansible is
# imported.
READ_LATE = {"ANSIBLE_CACHE_PLUGIN_CONNECTION", "ANSIBLE_CALLBACK_RESULT_FORMAT"}
# The further imports of a play that judges a run.
OF_REPORTS = ("pandas", "scipy.special", "pyarrow.dataset", "pyarrow.parquet")


def pytest_configure(config: pytest.Config) -> None:
    """Let all processes of a test run share its servers: those of pytest-xdist and a pytest within a test."""
    if SERVERS not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="ansible-")
        config.add_cleanup(folder.cleanup)
        os.environ |= {SERVERS: folder.name, OWNER: str(os.getpid())}


def connected(folder: Path, settings: dict[str, str], packages: tuple[str, ...]) -> socket.socket:
    """Connect with the server of a folder and of variables that Ansible reads as it is imported, started once."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "SLURM_"))}
    kind = hashlib.sha256(json.dumps([str(folder), sorted(settings.items()), packages]).encode()).hexdigest()[:16]
    address = Path(os.environ[SERVERS], kind)
    with address.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not address.exists():
            # Not the standard output of who asks first, which its reader would wait for.
            with socket.socket(socket.AF_UNIX) as listener, address.with_suffix(".log").open("w") as log:
                listener.bind(str(address))
                listener.listen(64)
                subprocess.Popen(
                    [sys.executable, "-P", SERVER, json.dumps([listener.fileno(), int(os.environ[OWNER]), packages])],
                    cwd=folder,
                    env={**kept, "OPENBLAS_NUM_THREADS": "1", **settings},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[listener.fileno()],
                )
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(address))
        ready = connection.recv(1)
    except ConnectionError:
        ready = b""
    if not ready:
        said = address.with_suffix(".log").read_text(encoding="utf-8")
        raise ChildProcessError(f"the server of Ansible's commands ended: {said}")
    return connection


class Playing:
    """A running command of Ansible, with the same methods as ``subprocess.Popen``."""

    def __init__(
        self, command: t.Sequence[str], connection: socket.socket, asked: t.Sequence[t.Any], *, apart: bool
    ) -> None:
        self.args = command
        self.returncode: int | None = None
        self._connection = connection
        self._outputs = [tempfile.mkstemp(dir=os.environ[SERVERS])[1] for _output in range(2 if apart else 1)]
        connection.sendall(json.dumps([command, *asked, self._outputs[0], self._outputs[-1]]).encode() + b"\n")
        # Without a buffer: `select` would not see an answer in one.
        self._answers = connection.makefile("rb", buffering=0)
        self.pid = int(self._answers.readline())

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._connection], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = int(self._answers.readline())
            self._answers.close()
            self._connection.close()
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        self.wait(timeout)
        output, *errors = [Path(file).read_text(encoding="utf-8") for file in self._outputs]
        return output, "".join(errors)


def started(
    command: t.Sequence[str],
    environment: t.Mapping[str, str],
    folder: Path = ROOT,
    *,
    apart: bool = False,
    packages: tuple[str, ...] = OF_REPORTS,
) -> Playing:
    """Start a command of Ansible, named without its folder, in an environment and a folder.

    Its standard error is among its standard output unless they are to be ``apart``.
    """
    read = {name for name in environment if name.startswith("ANSIBLE_")} - READ_LATE
    settings = {name: environment[name] for name in read}
    connection = connected(folder if (folder / "ansible.cfg").exists() else Path("/"), settings, packages)
    return Playing(command, connection, [dict(environment), str(folder)], apart=apart)


def finished(
    command: t.Sequence[str],
    environment: t.Mapping[str, str],
    folder: Path = ROOT,
    *,
    apart: bool = False,
    packages: tuple[str, ...] = OF_REPORTS,
    seconds: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Run a command of Ansible to its end, as ``started``."""
    playing = started(command, environment, folder, apart=apart, packages=packages)
    try:
        playing.wait(seconds)
    except subprocess.TimeoutExpired:
        os.kill(playing.pid, signal.SIGKILL)
    output, errors = playing.communicate()
    return subprocess.CompletedProcess(command, playing.wait(), output, errors)


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the clone; the environment must not have variables that Ansible reads first of all."""
    assert not any(name.startswith("ANSIBLE_") for name in environment.keys() - READ_LATE)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "SLURM_"))}
    return finished(command, {**kept, "ANSIBLE_NOCOLOR": "1", **environment}, apart=True, packages=())


if __name__ == "__main__":  # as a program that a shell calls in the place of Ansible's
    done = finished(sys.argv[1:], os.environ, Path.cwd(), apart=True)
    sys.stderr.write(done.stderr)
    sys.stdout.write(done.stdout)
    sys.exit(done.returncode)
