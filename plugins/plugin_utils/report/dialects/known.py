# SPDX-License-Identifier: GPL-3.0-or-later
"""The dialects of a run's results next to its report, for tools with their own format."""

from __future__ import annotations

import importlib
import typing as t
from collections.abc import Callable, Sequence

from ...run.whole_file import write_whole
from ..files import says

if t.TYPE_CHECKING:
    from pathlib import Path

    from .judged_run import JudgedRun

# By name, the file in the run's folder. The module of that name has a function of the same name that makes the text.
DIALECTS: t.Final = {
    "junit": "junit.xml",
    "openmetrics": "openmetrics.prom",
}


def writer_of(name: str) -> Callable[[JudgedRun], str]:
    """Return the function that makes the text of a dialect; this also loads the dialect's library."""
    return t.cast("Callable[[JudgedRun], str]", getattr(importlib.import_module(f".{name}", __package__), name))


def write_dialects(names: Sequence[str], run: JudgedRun, folder: Path) -> bool:
    """Write the named dialects of a run to its folder, and return whether a file changed.

    Raises ValueError for unknown names.
    """
    unknown = [name for name in names if name not in DIALECTS]
    if unknown:
        raise ValueError(f"report_dialects has {', '.join(unknown)}; allowed are {', '.join(DIALECTS)}")
    changed = False
    for name in names:
        path, text = folder / DIALECTS[name], writer_of(name)(run)
        if not says(path, text):
            write_whole(path, text, newline="")
            changed = True
    return changed
