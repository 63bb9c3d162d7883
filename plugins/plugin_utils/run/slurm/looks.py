# SPDX-License-Identifier: GPL-3.0-or-later
"""The preflight inside a Slurm job: its nodes inspect themselves, the controller judges, and the job waits for it."""

from __future__ import annotations

import json
import time
import typing as t

from ....module_utils.slurm.desk import STOP, WORD_NAME
from ....module_utils.slurm.task import GO, LOOK, LOOKS_NAME
from ...contracts import Plan, Preflight
from ...plain_text import one_line
from ...plan.slurm.script import SCRIPT_NAME
from ...preflight.cells import problems_of_red
from ...preflight.checks import preflight
from ...preflight.needs import needs_of
from ..board import Board
from ..node_errors import said_of
from .job import SlurmJob
from .records import Journal


def ask_for_looks(job: SlurmJob, plan: Plan) -> None:
    """Write what each node has to inspect, in their order, if the plan asks for it."""
    if not plan["slurm"]["preflight"]:
        return
    needs = [needs_of(plan, node["node"]) for node in plan["nodes"]]
    looks = [{name: value for name, value in need.items() if name != "cache_folder"} for need in needs]
    (job.run_dir / LOOKS_NAME).write_text(json.dumps(looks), encoding="utf-8")


def judged(job: SlurmJob, journal: Journal, plan: Plan, board: Board) -> tuple[Preflight, list[str]] | None:
    """Wait for the looks of all nodes, note the red ones on the board, and let the job go on or end.

    Return the table of the preflight, and the red nodes that end the job: where each node trains by itself, it goes on
    without them. None where the job waits for no word, or has it. `NodeLostError` where the job ends before.
    """
    word = job.run_dir / WORD_NAME
    if not plan["slurm"]["preflight"] or word.read_text():
        return None
    submitted = (job.run_dir / SCRIPT_NAME).stat().st_mtime
    facts, problems = {}, {}
    for place, node in enumerate(plan["nodes"]):
        told = _plain(journal.next(place, LOOK))
        try:
            found = told["node"]
            clock = found["clock"]
            # It looked between the submission and now.
            clock["offset_seconds"] = [clock["time"] - time.time(), clock["began"] - submitted]
            facts[node["node"]] = found
        except (KeyError, TypeError):
            said = told.get("message") if isinstance(told, dict) else None
            problems[node["node"]] = str(said or "its answer is invalid")
    table = preflight(plan, facts, problems=problems)
    red = problems_of_red(table["rows"])
    for name, found in red.items():
        board.update(name, unfit=True, **said_of(found))
    places = [str(place) for place, node in enumerate(plan["nodes"]) if node["node"] in red]
    ends = bool(red) and (plan["mode"] == "multi_node" or len(red) == len(plan["nodes"]))
    word.write_text(STOP if ends else " ".join([GO, *places]))
    return table, list(red) if ends else []


def _plain(value: t.Any) -> t.Any:
    """Return what a node says with all of its texts as single lines."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, dict):
        return {one_line(str(key)): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value
