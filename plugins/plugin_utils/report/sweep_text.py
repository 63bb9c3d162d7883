# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep for people: what a terminal shows at its end."""

from __future__ import annotations

from pathlib import Path

from ..run.sweep import read_sweep
from .readable import with_unit

# By what the cells are ranked.
RANKED_BY = "tokens_per_sec_per_gpu"
NOT_RUN = "NOT RUN"


def sweep_lines(page: str) -> list[str]:
    """Return the sweep whose page is given as lines for a terminal: the verdicts, the cells, the best one, the page."""
    sweep = read_sweep(Path(page).parent)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in sweep["counts"].items())
    lines = [f"sweep {sweep['sweep_id']}: {counts}"]
    width = max(len(cell["name"]) for cell in sweep["cells"])
    for cell in sweep["cells"]:
        value = cell["metrics"][RANKED_BY]
        speed = with_unit(value, RANKED_BY) if value is not None else ""
        mark = "  best" if cell["name"] == sweep["best"] else ""
        lines.append(f"  {cell['verdict']:<12}  {cell['name']:<{width}}  {speed}{mark}".rstrip())
        if cell["reason"]:
            lines.append(f"                {cell['reason']}")
    if NOT_RUN in sweep["counts"]:
        lines.append(f"Continue with the same command and -e training_sweep_id={sweep['sweep_id']}")
    return [*lines, f"Report: {page}"]
