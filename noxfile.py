# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The support matrix: every ansible-core and Python that the collection promises, tried for real.

``make matrix`` runs all of it, a cell on each core at a time, and prints a table; ``nox --list`` names the cells. A
Python is looked for on PATH and among those of pyenv; where there is none, uv tries to get it. A cell whose Python
cannot be had is skipped with a word.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import tarfile
import tempfile
from pathlib import Path

import nox

# ansible-core 2.20 and 2.21 run on Python 3.12 and later.
SUPPORTED = {"2.19": ("3.11", "3.12", "3.13"), "2.20": ("3.12", "3.13"), "2.21": ("3.12", "3.13")}

nox.options.default_venv_backend = "uv"
nox.options.sessions = ["works", "sanity"]
nox.options.error_on_missing_interpreters = False
nox.options.reuse_existing_virtualenvs = True

_PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"

# What ansible-test wants to download before its first pip is of a host that is not a package index. It makes an
# environment for each test, and gets a copy of the same pip there, as pip takes seconds to install itself.
_GET_PIP = """\
import shutil, sysconfig
shutil.copytree({pip!r}, sysconfig.get_path("purelib"), dirs_exist_ok=True)
"""
_PIP_OF_ANSIBLE_TEST = """\
import re, pathlib, ansible_test._internal.python_requirements as requirements
print(re.search(r"pip='([0-9.]+)'", pathlib.Path(requirements.__file__).read_text()).group(1))
"""
# plugin_utils needs requirements.txt, which ansible-test does not install; the unit tests import all of it.
_IMPORTED_BY_SANITY = ("action", "callback", "doc_fragments", "filter", "inventory", "module_utils", "modules")
_IMPORTER = """\
[galaxy-importer]
RUN_ANSIBLE_TEST = False
RUN_ANSIBLE_LINT = False
RUN_ANSIBLE_DOC = True
CHECK_REQUIRED_TAGS = True
CHECK_CHANGELOG = True
REQUIRE_V1_OR_GREATER = True
"""


def _interpreter(python: str) -> str | None:
    # pyenv first, as its shims are on PATH for versions that are not active, too, and then end with an error.
    found = sorted(str(path) for path in _PYENV.glob(f"{python}.*/bin/python{python}"))
    return found[-1] if found else shutil.which(f"python{python}")


def _newest_python(core: str) -> str:
    pythons = SUPPORTED[core][::-1]
    return next((found for python in pythons if (found := _interpreter(python))), pythons[0])


def _install_core(session: nox.Session, core: str, *more: str) -> None:
    session.install(f"ansible-core~={core}.0", *more)


@nox.session
@nox.parametrize(
    ("python", "core"),
    [
        nox.param(_interpreter(python) or python, core, id=f"{core}-python{python}", tags=[f"core{core}"])
        for core, pythons in SUPPORTED.items()
        for python in pythons
    ],
)
def works(session: nox.Session, core: str) -> None:
    """Run the tests of all that Ansible sees, and the demo, with one ansible-core on one Python."""
    _install_core(session, core, "--requirement", "requirements.txt", "pytest>=8.3,<10", "pytest-xdist>=3.6,<4")
    session.run("pytest", "--numprocesses=0", "--only-ansible", "tests/unit", "tests/house", *session.posargs)
    folder = Path(session.create_tmp()).resolve()
    # Other cells play the same demo on this machine at the same time.
    run_id = f"{folder.parent.name}-{os.getpid()}"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    output = session.run(
        "ansible-playbook",
        "playbooks/megatron_multinode.yml",
        "--inventory=inventories/local/hosts",
        f"--extra-vars=training_output_dir={folder / 'runs'} training_master_port={port} training_run_id={run_id}",
        # Of no length, as steps depend on none of what a cell is about.
        '--extra-vars={"training_overrides": {"training_iterations": 9, "sequence_length": 16, "result_dict.loss": 9}}',
        env={"TRAINOPS_LOCK_FOLDER": str(folder / "locks"), "ANSIBLE_INJECT_FACT_VARS": "false"},
        silent=True,
    )
    print(output)
    if warning := re.search(r"^.*(?:\[DEPRECATION WARNING\]|\w+Warning: ).*$", output, re.MULTILINE):
        session.error(f"the demo uses what ansible-core {core} or a package deprecates: {warning.group()}")


@nox.session
@nox.parametrize(
    ("python", "core"),
    [nox.param(_newest_python(core), core, id=core, tags=[f"core{core}"]) for core in SUPPORTED],
)
def sanity(session: nox.Session, core: str) -> None:
    """Run ansible-test sanity on the built collection, laid where it would be installed."""
    _install_core(session, core)
    folder = Path(session.create_tmp()).resolve()
    session.run("ansible-galaxy", "collection", "build", "--force", "--output-path", str(folder), silent=True)
    (archive,) = folder.glob("trainops-cluster-*.tar.gz")
    home = folder / "home"
    pip = session.run("python", "-c", _PIP_OF_ANSIBLE_TEST, silent=True).strip()
    get_pip = home / f".ansible/test/cache/get_pip_{pip.replace('.', '_')}.py"
    get_pip.parent.mkdir(parents=True, exist_ok=True)
    session.install("--target", str(folder / "pip"), f"pip=={pip}")
    get_pip.write_text(_GET_PIP.format(pip=str(folder / "pip")))
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    test = ("ansible-test", "sanity", "--requirements", "--color", "no")
    # ansible-test takes each Python that it supports from PATH, where it would find shims of pyenv that do not work.
    pythons = (str(path.parent) for path in sorted(_PYENV.glob("3.*/bin/python3")))
    environment = {
        "HOME": str(home),
        "XDG_CACHE_HOME": cache,
        "PATH": os.pathsep.join([*(session.bin_paths or ()), *pythons, os.environ["PATH"]]),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_COMPILE": "1",
    }
    # Not below the clone: ansible-test leaves out what git ignores there.
    with tempfile.TemporaryDirectory() as outside:
        tree = Path(outside, "ansible_collections/trainops/cluster")
        with tarfile.open(archive) as packed:
            # Before 3.11.4 Python 3.11 knows no filters.
            packed.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
            packed.extractall(tree)
        archive.unlink()
        with session.chdir(tree):
            session.run(*test, "--skip-test", "import", *session.posargs, env=environment)
            folders = [f"plugins/{name}/" for name in _IMPORTED_BY_SANITY if Path("plugins", name).is_dir()]
            session.run(*test, "--test", "import", *folders, env=environment)


@nox.session(python=_newest_python("2.20"))
def galaxy(session: nox.Session) -> None:
    """Build what Galaxy gets, and look at it as Galaxy's importer does; ansible-lint and sanity tests run elsewhere."""
    session.install("galaxy-importer>=0.4.40,<0.5", "ansible-core~=2.20.0")
    for earlier in Path().glob("trainops-cluster-*.tar.gz"):
        earlier.unlink()
    session.run("ansible-galaxy", "collection", "build", "--force", silent=True)
    (archive,) = Path().glob("trainops-cluster-*.tar.gz")
    folder = Path(session.create_tmp()).resolve()
    # The importer unpacks beside the file, and leaves its result where it is called.
    copy = shutil.copy(archive, folder)
    config = folder / "importer.cfg"
    config.write_text(_IMPORTER)
    with session.chdir(folder):
        output = session.run(
            "python", "-m", "galaxy_importer.main", str(copy), env={"GALAXY_IMPORTER_CONFIG": str(config)}, silent=True
        )
    print(output)
    if "Importer processing completed successfully" not in output:
        session.error(f"Galaxy would refuse {archive}")
    session.log(f"{archive} is what `ansible-galaxy collection publish` takes")
