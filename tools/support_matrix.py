#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the cells of noxfile.py and ends with a table of them; arguments are those of nox, --session or --tags say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SANITY = "ansible-test sanity"

Session = dict[str, t.Any]


def column_of(session: Session) -> str:
    """Return the column of a session: its Python, or the sanity tests, which run on one."""
    python = re.search(r"python(3\.\d+)", session["signatures"][0])
    return f"Python {python.group(1)}" if python else SANITY


def told(session: Session) -> str:
    """Return what a cell says: ``passed``, ``FAILED``, or why it was skipped."""
    if session["result"] == "success":
        return "passed"
    return f"skipped: {session['reason']}" if session["result"] == "skipped" else "FAILED"


def table(sessions: list[Session]) -> list[str]:
    """Return one line for each ansible-core, one column for each Python; ``–`` is a pair that is not supported."""
    columns = sorted({column_of(session) for session in sessions})
    cells = {(session["args"]["core"], column_of(session)): told(session) for session in sessions}
    rows = [["ansible-core", *columns]]
    rows += [
        [core, *(cells.get((core, column), "–") for column in columns)] for core in sorted({core for core, _ in cells})
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def closing(sessions: list[Session]) -> str:
    """Return how many cells there are of each result."""
    counts = [sum(told(session).startswith(word) for session in sessions) for word in ("passed", "FAILED", "skipped")]
    return "matrix: {} passed, {} failed, {} skipped".format(*counts)


def main(arguments: list[str]) -> int:
    """Run nox, print the table, and return nox's exit status; 1 where no cell ran."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = ["-m", "nox", "--noxfile", str(ROOT / "noxfile.py"), "--report", str(report), *arguments]
        status = subprocess.run([sys.executable, *command], check=False).returncode
        if not report.exists():
            return status or 1
        sessions = json.loads(report.read_text(encoding="utf-8"))["sessions"]
    print("\n" + "\n".join(table(sessions)) + "\n")
    print(closing(sessions), flush=True)
    return status or int(not any(told(session) == "passed" for session in sessions))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
