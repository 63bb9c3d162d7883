# SPDX-License-Identifier: GPL-3.0-or-later
"""The phases of a run through the job of Slurm that trains it: begun, checked, asked and ended."""

from __future__ import annotations

import time
import typing as t
from collections.abc import Callable, Mapping

from ...module_utils.node.phase import NodeError
from ...module_utils.slurm.desk import STOP, WORD_NAME
from ...module_utils.slurm.task import GO, LOOK
from ..contracts import NodePlan, Plan, Preflight
from ..plain_text import one_line
from ..preflight.cells import problems_of_red
from ..preflight.checks import preflight
from ..preflight.clock import with_offset
from ..preflight.table import preflight_text
from ..run.answers import Ask
from ..run.board import Board
from ..run.node_errors import said_by, said_of
from ..run.status import UNENDED
from ..text.nodes import folded
from .end import note_end
from .job import SlurmJob
from .journal import JobNode, Journal
from .launch import Needs, hand_over
from .script import SCRIPT_NAME

# Which answers of a job each phase reads.
_ANSWERS = {"stage": ("look", "stage"), "train": ("follow", "stop"), "finish": ("stop",)}


class JobPhases:
    """The job of a run, and its nodes by their names; ``show`` reports its state to people."""

    def __init__(self, board: Board, show: Callable[[str], None]) -> None:
        """Take the job that the run has, or will have."""
        self._board, self._show = board, show
        self._job = SlurmJob(board.run_dir)

    @property
    def is_submitted(self) -> bool:
        """Whether the run has a job."""
        return self._job.id is not None

    def begin(self, needs: Needs) -> None:
        """Submit the job if there is none yet, and wait for its nodes; `NodeError` if it will not get any."""
        job, plan = self._job, self._board.plan()
        is_known = self.is_submitted
        try:
            hand_over(job, plan, needs)
            begun = "has started" if "allocation" in plan["slurm"] else "is submitted"
            self._show(f"Slurm {job.name} {'exists already' if is_known else begun}: {job.run_dir}")
            job.wait_for_nodes(self._show)
        except (NodeError, OSError, ValueError) as error:
            for node in plan["nodes"]:
                self._board.update(node["node"], **said_by(error))
            raise NodeError(str(error)) from None

    def asks(self, phase: str) -> dict[str, Ask]:
        """Return the functions that ask each node for a phase; `NodeError` if the job's preflight ends the run."""
        plan = self._board.plan()
        # Not their ranks, which nodes that train by themselves do not have.
        places = {node["node"]: place for place, node in enumerate(plan["nodes"])}
        is_followed = all(self._board.status(name)["status"] not in UNENDED for name in places)
        answers = _ANSWERS["train" if phase == "finish" and not is_followed else phase]
        journal = Journal(self._job, answers, places.values())
        if phase == "stage":
            self._check(plan, journal)
        return {
            name: JobNode(journal, name, place).ask
            for name, place in places.items()
            # A red node does not train.
            if phase == "finish" or not self._board.status(name)["unfit"]
        }

    def note_end(self, nodes: Mapping[str, NodePlan]) -> list[str]:
        """Note on the board how Slurm ended the job, and return the warnings of it."""
        return note_end(self._job, self._board, nodes)

    def _check(self, plan: Plan, journal: Journal) -> None:
        """Show the preflight that the nodes did in the job, and raise `NodeError` where it is red."""
        looked = judged(self._job, journal, plan, self._board)
        if looked is None:
            return
        table, red = looked
        self._show(f"\n{preflight_text(plan['run_id'], table, lambda word, _status: word)}\n")
        if red:
            raise NodeError(
                f"The preflight is red on {folded(red)}, as shown above, so {self._job.name} ends. To leave "
                f"{folded(red)} out, set training_slurm_exclude={folded(red)} or training_retries"
            )


def judged(job: SlurmJob, journal: Journal, plan: Plan, board: Board) -> tuple[Preflight, list[str]] | None:
    """Wait for the looks of all nodes, note the red ones on the board, and let the job go on or end.

    Return the table of the preflight, and the red nodes that end the job; if each node trains by itself, the job goes
    on without them. None if the job does not wait for a decision, or has it. `NodeLostError` if the job ends before.
    """
    word = job.run_dir / WORD_NAME
    if not plan["slurm"]["preflight"] or word.read_text():
        return None
    submitted = (job.run_dir / SCRIPT_NAME).stat().st_mtime
    facts, errors = {}, {}
    for place, node in enumerate(plan["nodes"]):
        told = _plain(journal.next(place, LOOK))
        try:
            # It looked between the submission and now.
            facts[node["node"]] = with_offset(told["node"], submitted, time.time())
        except (KeyError, TypeError, ValueError):
            said = told.get("message") if isinstance(told, dict) else None
            errors[node["node"]] = NodeError(str(said or "its answer is invalid"))
    table = preflight(plan, facts, errors=errors)
    red = problems_of_red(table["rows"])
    for name, found in red.items():
        board.update(name, unfit=True, **said_of(found))
    places = [str(place) for place, node in enumerate(plan["nodes"]) if node["node"] in red]
    ends = bool(red) and (plan["mode"] == "multi_node" or len(red) == len(plan["nodes"]))
    word.write_text(STOP if ends else " ".join([GO, *places]))
    return table, list(red) if ends else []


def _plain(value: t.Any) -> t.Any:
    """Return a node's answer with all of its texts as single lines."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, dict):
        return {one_line(str(key)): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value
