# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts of a play the cells of a sweep failed on."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from ..contracts import SweepCell
from .blame import Blame, blame_of_run
from .board import Board
from .sweep import summary_of


def blame_of_cells(missed: Iterable[SweepCell], runs: Path, hosts: Collection[str]) -> dict[str, Blame]:
    """Return the blame of the ``hosts`` that made cells fail, each for its first one.

    ``runs`` is the folder with the runs of the cells. Empty if a cell failed on none of the hosts: then the sweep has
    failed for another reason as well.
    """
    blamed: dict[str, Blame] = {}
    for cell in missed:
        run_dir = runs / cell["run_id"]
        summary = summary_of(run_dir)
        of_cell = blame_of_run(Board(run_dir), summary, hosts) if summary else {}
        if not of_cell:
            return {}
        for name, blame in of_cell.items():
            blamed.setdefault(name, {**blame, "reason": f"{cell['name']}: {blame['reason']}"})
    return blamed
