#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the cells of noxfile.py, one per core at a time, and ends with a table of their results.

Arguments are nox's own for choosing cells, such as --session or --tags. --part chooses two: the oldest ansible-core on
this Python, and the sanity tests of the newest ansible-core that this machine has a Python for.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import typing as t
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SANITY = "ansible-test sanity"

Session = dict[str, t.Any]


def column_of(session: Session) -> str:
    """Return the column of a session: its Python, or the sanity tests, which run on one."""
    python = re.search(r"python(3\.\d+)", session["signatures"][0])
    return f"Python {python.group(1)}" if python else SANITY


def outcome_text(session: Session) -> str:
    """Return the result of a cell: ``passed``, ``FAILED``, or why it was skipped."""
    if session["result"] == "success":
        return "passed"
    return f"skipped: {session['reason']}" if session["result"] == "skipped" else "FAILED"


def table(sessions: list[Session]) -> list[str]:
    """Return one line for each ansible-core, one column for each Python; ``–`` is a pair that is not supported."""
    columns = sorted({column_of(session) for session in sessions})
    cells = {(session["args"]["core"], column_of(session)): outcome_text(session) for session in sessions}
    rows = [["ansible-core", *columns]]
    rows += [
        [core, *(cells.get((core, column), "–") for column in columns)] for core in sorted({core for core, _ in cells})
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def closing(sessions: list[Session]) -> str:
    """Return how many cells there are of each result."""
    counts = [
        sum(outcome_text(session).startswith(word) for session in sessions) for word in ("passed", "FAILED", "skipped")
    ]
    return "matrix: {} passed, {} failed, {} skipped".format(*counts)


def part_of(cells: list[Session], python: str) -> list[str]:
    """Return two of the listed cells: the oldest ansible-core on ``python`` (``3.11``), and the newest sanity tests.

    A cell needs a Python of this machine: nox lists its path, or only its version if it is missing.
    """
    there = [cell for cell in cells if cell["python"] and Path(cell["python"]).is_absolute()]
    there.sort(key=lambda cell: [int(number) for number in cell["call_spec"]["core"].split(".")])
    works = [cell["session"] for cell in there if cell["session"].endswith(f"-python{python})")]
    sanity = [cell["session"] for cell in there if cell["name"] == "sanity"]
    return works[:1] + sanity[-1:]


def nox(*arguments: str, stderr: int | None = None) -> subprocess.CompletedProcess[str]:
    """Run nox, and return its output."""
    command = [sys.executable, "-m", "nox", "--noxfile", str(ROOT / "noxfile.py"), *arguments]
    return subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE, stderr=stderr)


def ran(cell: str) -> Session:
    """Run a cell, print all of its output when it ends, and return nox's report of it."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        done = nox("--session", cell, "--report", str(report), stderr=subprocess.STDOUT)
        print(done.stdout, flush=True)
        (session,) = json.loads(report.read_text(encoding="utf-8"))["sessions"]
    return session


def main(arguments: list[str]) -> int:
    """Run the cells, print the table, and return 0 where some passed and none failed."""
    is_part = arguments == ["--part"]
    listed = nox("--list", "--json", *([] if is_part else arguments))
    if listed.returncode:
        return listed.returncode
    found = json.loads(listed.stdout)
    version = "{}.{}".format(*sys.version_info)
    cells = part_of(found, version) if is_part else [cell["session"] for cell in found]
    with ThreadPoolExecutor(os.cpu_count()) as cores:
        sessions = list(cores.map(ran, cells))
    print("\n" + "\n".join(table(sessions)) + "\n")
    print(closing(sessions), flush=True)
    results = [outcome_text(session) for session in sessions]
    return int("FAILED" in results or "passed" not in results)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
