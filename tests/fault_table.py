"""The table of `make test-faults`: each row is what a test saw."""

from __future__ import annotations

import os

_PATH = os.environ.get("TRAINOPS_FAULTS")
IS_WRITTEN = bool(_PATH)
_MOST_CHARACTERS = 120


def add_row(fault: str, seconds: float, said: str, verdict: str, left: str = "nothing") -> None:
    """Add a row, where the table is written: after how many seconds what was said, and what was left."""
    if _PATH:
        words = " ".join(said.split()).replace("|", "/")[:_MOST_CHARACTERS]
        with open(_PATH, "a", encoding="utf-8") as table:
            table.write(f"| {fault} | {seconds:.1f} | {words} | {verdict} | {left} |\n")
