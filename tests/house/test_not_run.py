"""The first hour: a missing program never fails a test run, which closes with the tests that did not run, and why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SKIPPING = """
import pytest
from not_run import need, need_root

@pytest.mark.parametrize("place", range(3))
def test_program(place): need("no-such-program", "sh")

def test_module(): pytest.skip("this machine has one of AMD's tools")

def test_passes(): need("sh")
"""


def test_a_run_closes_with_why_tests_did_not_run_and_what_changes_that(tmp_path: Path) -> None:
    (tmp_path / "test_skipping.py").write_text(SKIPPING)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "not_run", "-p", "no:cacheprovider", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests"), "COLUMNS": "80"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    *_, title, head, first, second, closing = done.stdout.splitlines()
    assert "not run on this machine" in title
    assert head.endswith("what makes them run")
    assert first.split(maxsplit=1)[0] == "3"
    assert "no-such-program is not installed" in first
    assert first.endswith("apt-get install no-such-program")
    assert second.split()[0] == "1"
    assert "this machine has one of AMD's tools" in second
    assert closing.startswith("1 passed, 4 skipped")


@pytest.fixture
def machine(tmp_path: Path):
    """A machine with only Python and the programs that a test adds, each a line of the shell."""

    def run(**programs: str) -> subprocess.CompletedProcess[str]:
        folder = tmp_path / "bin"
        folder.mkdir()
        for name, line in programs.items():
            program = folder / name.replace("_", "-")
            program.write_text(f"#!/bin/sh\n{line}\n")
            program.chmod(0o755)
        (folder / "env").symlink_to("/usr/bin/env")
        return subprocess.run(
            [sys.executable, str(ROOT / "tools/machine.py")],
            env={"PATH": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_what_cannot_be_installed_is_named_and_fails_nothing(machine) -> None:
    done = machine()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Not installed (Debian packages): chromium, curl, ")
    assert "Installing" not in done.stdout


def test_what_debian_lacks_is_installed_and_said_package_by_package_where_one_fails(machine, tmp_path: Path) -> None:
    log = tmp_path / "calls"
    as_user = {} if os.geteuid() == 0 else {"sudo": 'shift; exec "$@"', "true": ":"}
    done = machine(apt_get=f'echo "$@" >>{log}; [ $# -lt 6 ]', **as_user)
    assert done.returncode == 0
    assert "Installing chromium, curl, " in done.stdout
    calls = log.read_text().splitlines()
    assert calls[0].endswith("update")
    assert "chromium curl" in calls[1]
    assert calls[2].endswith("--no-install-recommends chromium")
    assert "Not installed" in done.stdout
