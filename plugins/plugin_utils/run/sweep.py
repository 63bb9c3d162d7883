# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep in the controller's folder of runs: its list of cells, and the state of each.

Each cell is a usual run, ``<sweep_id>-<cell>``, and a further attempt at it ``<sweep_id>-<cell>-2``. The sweep itself
is a folder beside them with ``sweep.json`` in it.
"""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..contracts import PlannedCell, Summary, SweepCell, SweepFile
from .board import PLAN_NAME, Board
from .runs import differences
from .whole_file import write_whole

SWEEP_NAME = "sweep.json"
SUMMARY_NAME = "summary.json"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")

NEW, RESUMED, AGAIN, FINISHED = "new", "resumed", "again", "finished"


@dataclass(frozen=True)
class Standing:
    """The state of a cell: its run, existing or planned, and the next action.

    ``new`` has not run yet, ``resumed`` has begun but was not judged, ``again`` ended in an ERROR (the run ``before``),
    which says nothing about the training, and ``finished`` needs nothing.
    """

    run_id: str
    state: str
    before: str = ""


def standing_of(output_dir: str | Path, base: str) -> Standing:
    """Return the state of the cell whose first run has the name ``base``, in a folder of runs."""
    attempt, run_id, before = 1, base, ""
    while (Path(output_dir) / run_id / PLAN_NAME).exists():
        summary = summary_of(Path(output_dir) / run_id)
        if summary is None:
            begun = any((Path(output_dir) / run_id).glob("nodes/*/status.json"))
            return Standing(run_id, RESUMED if begun else AGAIN if before else NEW, before)
        if summary["verdict"] != "ERROR":
            return Standing(run_id, FINISHED)
        attempt, before = attempt + 1, run_id
        run_id = f"{base}-{attempt}"
    return Standing(run_id, AGAIN if before else NEW, before)


def standing_text(standing: Standing) -> str:
    """Return the next action for a cell in words."""
    return {
        NEW: "will run",
        RESUMED: f"is picked up where it stands, as {standing.run_id}",
        AGAIN: f"will run again, as {standing.run_id}: {standing.before} ended in an ERROR",
        FINISHED: f"has run already, as {standing.run_id}",
    }[standing.state]


def summary_of(run_dir: str | Path) -> Summary | None:
    """Return the summary of a run, or None if it was not judged; ValueError for a file that cannot be read."""
    path = Path(run_dir) / SUMMARY_NAME
    try:
        return t.cast("Summary", json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not complete JSON"
        raise ValueError(f"{path} cannot be read: {reason}. Run trainops.cluster.training_report to write it") from None


class Sweep:
    """A sweep by its name, and the states of its cells."""

    def __init__(self, output_dir: str | Path, sweep_id: str) -> None:
        """Look at the sweep of this name in a folder of runs; it need not be there yet."""
        self._output_dir = Path(output_dir)
        self._standings: dict[str, Standing] = {}
        self.sweep_id = sweep_id
        self.folder = self._output_dir / sweep_id

    def run_id_of(self, cell: str) -> str:
        """Return the run that a cell is, or is to become; ValueError where the sweep cannot have its name."""
        if not _NAME.fullmatch(self.sweep_id):
            raise ValueError(
                f"The sweep cannot be called {self.sweep_id!r}, because its folders have that name: use letters, "
                "digits and . _ -, starting with a letter or digit"
            )
        if (self.folder / PLAN_NAME).exists():
            raise ValueError(f"{self.folder} is a run, not a sweep: choose another training_sweep_id")
        self._standings[cell] = standing_of(self._output_dir, f"{self.sweep_id}-{cell}")
        return self._standings[cell].run_id

    def next_of_cells(self) -> dict[str, str]:
        """Return the next action for each cell, in words."""
        return {cell: standing_text(standing) for cell, standing in self._standings.items()}

    def cells(self, planned: Sequence[PlannedCell]) -> list[dict[str, t.Any]]:
        """Return of each planned cell its ``name``, ``values``, ``run_id`` and ``state``."""
        return [
            {
                "name": cell["name"],
                "values": cell["values"],
                "run_id": cell["plan"]["run_id"],
                "state": self._standings[cell["name"]].state,
            }
            for cell in planned
        ]

    def open(self, planned: Sequence[PlannedCell], config_file: str) -> None:
        """Write the list of the cells, and the plan of each that is new; ValueError if one was planned differently."""
        boards = {cell["name"]: Board(self._output_dir / cell["plan"]["run_id"]) for cell in planned}
        known = [cell for cell in planned if (boards[cell["name"]].run_dir / PLAN_NAME).exists()]
        others = {cell["name"]: differences(boards[cell["name"]].plan(), cell["plan"]) for cell in known}
        problems = [f"{cell} differs in {', '.join(different[:3])}" for cell, different in others.items() if different]
        if problems:
            raise ValueError(
                f"A sweep of this name was planned differently: {'; '.join(problems)}. Choose another training_sweep_id"
            )
        for cell in planned:
            if cell not in known:
                boards[cell["name"]].write_plan(cell["plan"])
        kept: list[SweepCell] = [
            {"name": cell["name"], "values": cell["values"], "run_id": cell["plan"]["run_id"]} for cell in planned
        ]
        rehearsal = any(cell["plan"].get("rehearsal") for cell in planned)
        write_sweep(
            self.folder,
            {"sweep_id": self.sweep_id, "config_file": config_file, "rehearsal": rehearsal, "cells": kept},
        )


def write_sweep(sweep_dir: str | Path, sweep: SweepFile) -> None:
    """Write a sweep's list of cells, in one step."""
    folder = Path(sweep_dir)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / SWEEP_NAME, json.dumps(sweep, indent=2) + "\n")


def read_sweep(sweep_dir: str | Path) -> SweepFile:
    """Return a sweep's list of cells; ValueError if the folder has none."""
    try:
        text = (Path(sweep_dir) / SWEEP_NAME).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ValueError(f"{sweep_dir} contains no sweep: there is no {SWEEP_NAME} in it") from None
    return t.cast("SweepFile", json.loads(text))
