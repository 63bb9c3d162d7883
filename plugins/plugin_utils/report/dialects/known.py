# SPDX-License-Identifier: GPL-3.0-or-later
"""The dialects in which a run is written beside its report, for tools that have a format of their own."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Sequence

from ...run.whole_file import write_whole
from ..files import says
from .junit import junit
from .mllog import mllog
from .openmetrics import openmetrics
from .perf_csv import perf_csv

if t.TYPE_CHECKING:
    from pathlib import Path

    from .judged_run import JudgedRun


class Dialect(t.NamedTuple):
    """A dialect: the name of its file in the run's folder, and what writes it; None where it has nothing to say."""

    file: str
    text: Callable[[JudgedRun], str | None]


DIALECTS = {
    "junit": Dialect("junit.xml", junit),
    "mllog": Dialect("mllog.log", mllog),
    "openmetrics": Dialect("openmetrics.prom", openmetrics),
    "perf_csv": Dialect("perf.csv", perf_csv),
}


def write_dialects(names: Sequence[str], run: JudgedRun, folder: Path) -> bool:
    """Write the named dialects of a run to its folder, and return whether a file changed.

    Raises ValueError for names that are no dialect.
    """
    unknown = [name for name in names if name not in DIALECTS]
    if unknown:
        raise ValueError(f"report_dialects has {', '.join(unknown)}, but may only have {', '.join(DIALECTS)}")
    changed = False
    for name in names:
        path, text = folder / DIALECTS[name].file, DIALECTS[name].text(run)
        if text is not None and not says(path, text):
            write_whole(path, text, newline="")
            changed = True
    return changed
