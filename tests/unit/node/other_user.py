"""Another user of the node: without any rights, but free to act wherever everybody may."""

from __future__ import annotations

import os
import subprocess
import typing as t
from pathlib import Path

import pytest
from not_run import AS_ROOT

MALLORY = 54321

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason=f"only root can play another user; {AS_ROOT}")


class Mallory:
    """Runs commands of the shell as another user; ``open_folder`` is one that everybody may write, such as /tmp."""

    def __init__(self, open_folder: Path) -> None:
        self.open_folder = open_folder
        self._started: list[subprocess.Popen[bytes]] = []

    def does(self, script: str) -> str:
        """Run a script, which must succeed, and return its output."""
        return subprocess.run(
            ["sh", "-euc", script],
            user=MALLORY,
            group=MALLORY,
            extra_groups=[],
            cwd=self.open_folder,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout

    def starts(self, *command: str, **environment: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            command, user=MALLORY, group=MALLORY, extra_groups=[], cwd=self.open_folder, env=environment
        )
        self._started.append(process)
        return process

    def end(self) -> None:
        for process in self._started:
            process.kill()
            process.wait()


def as_user(uid: int, function: t.Callable[[], str]) -> str:
    """Return a function's result as another user, or the exception that it raises."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            told = function()
        except BaseException as error:
            told = repr(error)
        os.write(writer, told.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        told = stream.read()
    os.waitpid(pid, 0)
    return told
