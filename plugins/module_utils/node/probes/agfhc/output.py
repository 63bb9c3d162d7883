# SPDX-License-Identifier: GPL-3.0-or-later
"""The output of ``agfhc``: a line for each test of a recipe, and how the program ends.

Source: the output of a recipe in AMD's notes on MI350X, and CVS (cvs/tests/health/agfhc_cvs.py), which wants
``AGFHC_SUCCESS`` and no line with one of the other words.
"""

from __future__ import annotations

import re

_END = re.compile(r"Program exiting with return code (AGFHC_\w+) \[(-?\d+)\]")
_SUCCESS = "AGFHC_SUCCESS"
_FAILED = re.compile(r"FAIL|ERROR|ABORT", re.IGNORECASE)
_MOST_LINES = 5


def failure_in(output: str) -> str:
    """Return the failures, empty without any; ValueError for an output without its end."""
    end = _END.search(output)
    if not end:
        raise ValueError("there is no return code in the output")
    lines = [line.strip() for line in output.splitlines() if _FAILED.search(line) and not _END.search(line)]
    if end.group(1) == _SUCCESS and not lines:
        return ""
    return "; ".join([*lines[:_MOST_LINES], f"it ended with {end.group(1)}"])
