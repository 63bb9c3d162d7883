# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs commands of Ansible for the tests: it imports the slow modules once, and forks each command.

Its argument is JSON: the descriptor of its socket for requests, the process with which it ends, and packages to import.
A connection sends a line of JSON: a command, its environment, its folder, and the files of its standard output and
standard error. The answer is the pid, and later the exit status.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import importlib.machinery
import json
import os
import selectors
import socket
import sys
import tempfile
import traceback
import types
import typing as t
import warnings
from pathlib import Path

import ansible
from ansible import constants
from ansible.utils.collection_loader import _collection_finder as finder

# The modules that commands import as they run.
LATER = (
    "ansible.executor.process.worker",
    "ansible.plugins.strategy",
    "ClusterShell.NodeSet",
    "jmespath",
    "omegaconf",
    "pydantic.fields",
    "pydantic.main",
    "pydantic.type_adapter",
    "pydantic.types",
)
MAINS = {
    f"ansible{name}": importlib.import_module(f"ansible.cli.{module}").main
    for name, module in {
        "": "adhoc",
        "-inventory": "inventory",
        "-playbook": "playbook",
        "-config": "config",
        "-doc": "doc",
    }.items()
}


def read_once() -> None:
    """Let Ansible keep the files it reads and compiles anew in each process."""
    finder._meta_yml_to_dict = functools.cache(finder._meta_yml_to_dict)
    runtime = Path(ansible.__file__).parent / "config/ansible_builtin_runtime.yml"
    finder._meta_yml_to_dict(runtime.read_bytes(), ("ansible.builtin", "runtime.yml"))
    loader = finder._AnsibleCollectionPkgLoaderBase
    compiled_anew = loader.get_code

    def get_code(self: t.Any, name: str) -> types.CodeType | None:
        path = self.get_filename(name)
        if not os.path.isfile(path):
            return compiled_anew(self, name)
        return importlib.machinery.SourceFileLoader(name, path).get_code(name)

    loader.get_code = get_code


def run(command: list[str], environment: dict[str, str], folder: str, *outputs: str) -> t.NoReturn:
    """Become a command."""
    for number, path in enumerate(["/dev/null", *outputs]):
        os.dup2(os.open(path, os.O_RDWR | os.O_APPEND), number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    constants.DEFAULT_LOCAL_TMP = tempfile.mkdtemp(dir=constants.DEFAULT_LOCAL_TMP)
    status = 250
    try:
        MAINS[command[0]](command)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main(listener: socket.socket, owner: int) -> None:
    waits = selectors.DefaultSelector()
    waits.register(listener, selectors.EVENT_READ)
    waits.register(os.pidfd_open(owner), selectors.EVENT_READ, os._exit)
    while True:
        for key, _events in waits.select():
            if key.fileobj is not listener:
                key.data(0)
                continue
            connection, _address = listener.accept()
            connection.sendall(b"+")
            asked = json.loads(connection.makefile().readline())
            pid = os.fork()
            if not pid:
                listener.close()
                run(*asked)
            connection.sendall(b"%d\n" % pid)
            end = os.pidfd_open(pid)
            waits.register(end, selectors.EVENT_READ, functools.partial(ended, waits, connection, pid, end))


def ended(waits: selectors.BaseSelector, connection: socket.socket, pid: int, end: int, _events: int) -> None:
    waits.unregister(end)
    os.close(end)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with connection, contextlib.suppress(BrokenPipeError):  # a test that failed waits for nothing
        connection.sendall(b"%d\n" % status)


if __name__ == "__main__":
    descriptor, owner, packages = json.loads(sys.argv[1])
    for package in (*LATER, *packages):
        importlib.import_module(package)
    read_once()
    # The threads belong to packages, and are idle.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded")
    gc.freeze()
    main(socket.socket(fileno=descriptor), owner)
