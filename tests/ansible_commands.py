# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible's commands, each in a process of its own, without the second that Ansible takes to start."""

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

ROOT = Path(__file__).resolve().parents[1]
# A process that has imported what Ansible's commands import and read, which is most of what they take, and forks each.
SERVER = """
import functools, gc, importlib, json, os, signal, sys, tempfile, traceback, warnings
commands, packages = json.loads(sys.argv[1])
mains = {f"ansible{name}": importlib.import_module(f"ansible.cli.{of}").main for name, of in commands}
import ClusterShell.NodeSet, jmespath, omegaconf, pydantic.main, pydantic.types, pydantic.type_adapter, pydantic.fields
import ansible.constants, ansible.executor.process.worker, ansible.plugins.strategy
for package in packages:
    importlib.import_module(package)
import ansible.utils.collection_loader._collection_finder as finder
finder._meta_yml_to_dict = functools.cache(finder._meta_yml_to_dict)
with open(os.path.dirname(ansible.__file__) + "/config/ansible_builtin_runtime.yml", "rb") as file:
    finder._meta_yml_to_dict(file.read(), ("ansible.builtin", "runtime.yml"))
# It compiles the modules of a collection anew in each process.
def get_code(self, name, compiled_anew=finder._AnsibleCollectionPkgLoaderBase.get_code):
    path = self.get_filename(name)
    if not os.path.isfile(path):
        return compiled_anew(self, name)
    return importlib.machinery.SourceFileLoader(name, path).get_code(name)
finder._AnsibleCollectionPkgLoaderBase.get_code = get_code
warnings.filterwarnings("ignore", "This process .* is multi-threaded")  # its threads are those of packages, and idle
gc.freeze()
for line in sys.stdin:
    command, environment, folder, seconds, *outputs = json.loads(line)
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        for number, path in enumerate(["/dev/null", *outputs]):
            os.dup2(os.open(path, os.O_RDWR | os.O_APPEND), number)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        ansible.constants.DEFAULT_LOCAL_TMP = tempfile.mkdtemp(dir=ansible.constants.DEFAULT_LOCAL_TMP)
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
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
    signal.alarm(seconds)
    status = os.waitpid(child, 0)[1]
    signal.alarm(0)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""
FORKED = {"": "adhoc", "-inventory": "inventory", "-playbook": "playbook", "-config": "config", "-doc": "doc"}
# What plugins read when they are loaded; all else that begins with ANSIBLE_ is read as Ansible is imported.
READ_LATE = {"ANSIBLE_CACHE_PLUGIN_CONNECTION", "ANSIBLE_CALLBACK_RESULT_FORMAT"}
# What a play that judges a run imports as well.
OF_REPORTS = ("pandas", "scipy.special", "pyarrow.dataset", "pyarrow.parquet")


@functools.cache
def server(folder: Path, settings: tuple[tuple[str, str], ...], packages: tuple[str, ...]) -> subprocess.Popen[str]:
    """Start a process in a folder whose ansible.cfg Ansible reads as it is imported, and with the variables it reads.

    It imports packages, too.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "SLURM_"))}
    started = subprocess.Popen(
        [sys.executable, "-c", SERVER, json.dumps([list(FORKED.items()), packages])],
        cwd=folder,
        env={**kept, "OPENBLAS_NUM_THREADS": "1", **dict(settings)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(started.communicate)  # without a line to read it ends
    return started


def finished(
    command: t.Sequence[str],
    environment: t.Mapping[str, str],
    folder: Path = ROOT,
    *,
    apart: bool = False,
    packages: tuple[str, ...] = OF_REPORTS,
    seconds: int = 300,
) -> subprocess.CompletedProcess[str]:
    """Run a command of Ansible, named without its folder, in an environment and a folder.

    Its standard error is among its standard output unless they are to be ``apart``.
    """
    read = {name for name in environment if name.startswith("ANSIBLE_")} - READ_LATE
    settings = tuple((name, environment[name]) for name in sorted(read))
    process = server(folder if (folder / "ansible.cfg").exists() else Path("/"), settings, packages)
    asked, answers = t.cast("t.IO[str]", process.stdin), t.cast("t.IO[str]", process.stdout)
    with tempfile.NamedTemporaryFile("r") as out, tempfile.NamedTemporaryFile("r") as err:
        outputs = [out.name, (err if apart else out).name]
        print(json.dumps([command, dict(environment), str(folder), seconds, *outputs]), file=asked, flush=True)
        return subprocess.CompletedProcess(command, int(answers.readline()), out.read(), err.read())


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the clone; the environment must not have variables that Ansible reads first of all."""
    assert not any(name.startswith("ANSIBLE_") for name in environment.keys() - READ_LATE)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "SLURM_"))}
    return finished(command, {**kept, "ANSIBLE_NOCOLOR": "1", **environment}, apart=True, packages=())
