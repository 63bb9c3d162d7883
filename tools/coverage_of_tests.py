#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures which lines and branches of `plugins` each test reaches: the database of `try_small_faults.py`.

    tools/coverage_of_tests.py FOLDER                   # all tests; the database is FOLDER/.coverage
    tools/coverage_of_tests.py FOLDER tests/unit/plan   # or those of arguments for pytest
    coverage report --data-file FOLDER/.coverage        # as usual

It needs coverage.py (`pip install coverage`) beside `requirements-dev.txt`. Measured are processes of the controller:
pytest and its workers, commands of Ansible that are forked, with their own workers, and those started as a user starts
them. Each line has the test as its context, or none if it ran as a module was imported or between tests.

Programs of nodes are not measured: they are sent as text, so their lines belong to no file, and they run without
`site`, which starts coverage.py. A killed process leaves nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from coverage import Coverage

if t.TYPE_CHECKING:
    from coverage.plugin_support import Plugins

ROOT: t.Final = Path(__file__).resolve().parents[1]
_TEST: t.Final = "TRAINOPS_TEST"
# coverage.py has loaded this file before pytest does.
_LOADED_BEFORE: t.Final = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
_SETTINGS: t.Final = """[run]
branch = true
context = ${{TRAINOPS_TEST-}}
data_file = {folder}/.coverage
parallel = true
include = {root}/plugins/*
patch = fork
plugins = coverage_of_tests
disable_warnings = no-data-collected, module-not-imported, module-not-measured
"""


def coverage_init(registry: Plugins, options: object) -> None:  # noqa: ARG001
    """Let each measured process save its data before it ends, as forked ones do, and know its test.

    coverage.py calls this as a process starts and after each fork. Its own patch of ``os._exit`` saves the data of all
    ancestors as well, and so waits for locks that their threads hold.
    """
    if getattr(os, "measured", False):
        return
    os.measured = True  # type: ignore[attr-defined]
    end, change_folder = os._exit, os.chdir

    def save_and_end(status: int) -> t.NoReturn:
        if measuring := Coverage.current():
            measuring.stop()
            measuring.save()
        end(status)

    def change_folder_and_test(path: t.Any) -> None:
        change_folder(path)
        _is_of(os.environ.get(_TEST, ""))

    os._exit = save_and_end  # type: ignore[assignment]
    if any(word.endswith("ansible_server.py") for word in sys.orig_argv):
        # A command that it forks takes the environment, then the folder of who asked.
        os.chdir = change_folder_and_test


def _is_of(test: str) -> None:
    if measuring := Coverage.current():
        measuring.switch_context(test)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> t.Generator[None, object, object]:
    """Let a test, and all that it starts, know its name."""
    os.environ[_TEST] = item.nodeid
    _is_of(item.nodeid)
    try:
        return (yield)
    finally:
        del os.environ[_TEST]
        _is_of("")


def main(folder: Path, *arguments: str) -> int:
    """Run tests, and combine the measurements of all processes."""
    folder.mkdir(parents=True, exist_ok=True)
    # Some tests go on as another user.
    folder.chmod(0o1777)
    settings = folder / "coveragerc"
    settings.write_text(_SETTINGS.format(folder=folder, root=ROOT), encoding="utf-8")
    started = {"COVERAGE_PROCESS_START": str(settings), "PYTHONPATH": str(Path(__file__).parent)}
    run = [str(Path(sys.prefix, "bin/pytest")), "-p", "coverage_of_tests", "-W", _LOADED_BEFORE, *arguments]
    status = subprocess.run(run, cwd=ROOT, env={**os.environ, **started}, check=False).returncode
    combine = [sys.executable, "-m", "coverage", "combine", "--quiet", f"--rcfile={settings}"]
    subprocess.run(combine, cwd=ROOT, env={**os.environ, "PYTHONPATH": started["PYTHONPATH"]}, check=True)
    return status


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), *sys.argv[2:]))
