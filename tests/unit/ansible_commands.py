# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible's commands, each in a process of its own, without the seconds that Ansible takes to start."""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# A process that has imported what Ansible's commands import and read, which is most of what they take, and forks each.
SERVER = """
import functools, gc, importlib, json, os, sys, tempfile, traceback
mains = {f"ansible{name}": importlib.import_module(f"ansible.cli.{of}").main for name, of in json.loads(sys.argv[1])}
import ClusterShell.NodeSet, jmespath, omegaconf, pydantic.main, pydantic.types, pydantic.type_adapter, pydantic.fields
import ansible.executor.process.worker, ansible.plugins.strategy
import ansible.utils.collection_loader._collection_finder as finder
finder._meta_yml_to_dict = functools.cache(finder._meta_yml_to_dict)
with open(os.path.dirname(ansible.__file__) + "/config/ansible_builtin_runtime.yml", "rb") as file:
    finder._meta_yml_to_dict(file.read(), ("ansible.builtin", "runtime.yml"))
gc.freeze()
for line in sys.stdin:
    command, environment, *outputs = json.loads(line)
    child = os.fork()
    if not child:
        for number, path in enumerate(["/dev/null", *outputs]):
            os.dup2(os.open(path, os.O_RDWR), number)
        os.environ.update(environment)
        status = 250
        try:
            mains[command[0]](command)
        except SystemExit as end:
            status = end.code or 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
FORKED = {"": "adhoc", "-inventory": "inventory", "-playbook": "playbook", "-config": "config"}


@functools.cache
def server() -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "SLURM_"))}
    started = subprocess.Popen(
        [sys.executable, "-c", SERVER, json.dumps(list(FORKED.items()))],
        cwd=ROOT,
        env={**kept, "ANSIBLE_NOCOLOR": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(started.communicate)  # without a line to read it ends
    return started


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the clone; the environment must not have variables that Ansible reads first of all."""
    assert not any(name.startswith("ANSIBLE_") for name in environment)
    with tempfile.NamedTemporaryFile("r") as out, tempfile.NamedTemporaryFile("r") as err:
        asked, answers = t.cast("t.IO[str]", server().stdin), t.cast("t.IO[str]", server().stdout)
        print(json.dumps([command, environment, out.name, err.name]), file=asked, flush=True)
        return subprocess.CompletedProcess(command, int(answers.readline()), out.read(), err.read())
