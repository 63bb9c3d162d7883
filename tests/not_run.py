"""The parts that a machine may lack, and the table of tests that did not run, which closes a test run."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import sys
import textwrap
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from machine import PACKAGES, is_there

AS_ROOT = "run `sudo make test-all`"
# tools/tiers.py prints one table for all that it runs.
NO_TABLE = "--no-table"
_WIDTHS = (64, 48)
_REASON = re.compile(r"^(?P<why>.*?)[;.,:]? run `(?P<command>[^`]+)`", re.DOTALL)
_PYTHONS = (
    Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions",
    Path.home() / ".local/share/uv/python",
)


def need(*programs: str) -> None:
    """Skip the test if a program is missing."""
    missing = [program for program in programs if not is_there(program)]
    if missing:
        packages = sorted({PACKAGES.get(program, program) for program in missing})
        verb = "is" if len(missing) == 1 else "are"
        pytest.skip(f"{' and '.join(missing)} {verb} not installed; run `apt-get install {' '.join(packages)}`")


def need_root(why: str, command: str = "make test-all") -> None:
    """Skip the test unless root runs it; ``command`` does so with sudo."""
    if os.geteuid():
        pytest.skip(f"{why}; run `sudo {command}`")


def need_python_38() -> str:
    """Return the oldest Python of nodes, or skip the test."""
    found = sorted(str(path) for folder in _PYTHONS for path in folder.glob("*3.8.*/bin/python3.8"))
    python = found[-1] if found else shutil.which("python3.8")
    if not python:
        pytest.skip("there is no Python 3.8; run `.venv/bin/uv python install 3.8`")
    return python


def table(reasons: list[str]) -> list[str]:
    """Return lines that count the tests for each reason to skip, with the command that makes them run."""
    lines = [f"{'tests':>5}  {'did not run, because':<{_WIDTHS[0]}}  what makes them run"]
    for reason, count in Counter(reasons).most_common():
        found = _REASON.match(reason)
        why, command = (found["why"], found["command"]) if found else (reason, "a machine on which that is not so")
        cells = [textwrap.wrap(text, width) for text, width in zip((why, command), _WIDTHS, strict=True)]
        for place, (left, right) in enumerate(itertools.zip_longest(*cells, fillvalue="")):
            lines.append(f"{count if place == 0 else '':>5}  {left:<{_WIDTHS[0]}}  {right}".rstrip())
    return lines


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(NO_TABLE, action="store_true", help="end without the table of tests that did not run")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.getoption(NO_TABLE):
        return
    reasons = [report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", [])]
    if reasons:
        terminalreporter.section("not run on this machine")
        for line in table(reasons):
            terminalreporter.write_line(line)
