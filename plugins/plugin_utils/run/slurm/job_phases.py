# SPDX-License-Identifier: GPL-3.0-or-later
"""The phases of a run through the job of Slurm that trains it: begun, checked, asked and ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ....module_utils.node.phase import NodeError
from ...contracts import NodePlan, Plan
from ...preflight.table import preflight_text
from ...text.nodes import folded
from ..answers import Ask
from ..board import Board
from ..node_errors import said_by
from ..status import UNENDED
from .end import note_end
from .job import SlurmJob
from .launch import Needs, hand_over
from .looks import judged
from .records import JobNode, Journal

# Which answers of a job each phase reads.
_ANSWERS = {"stage": ("look", "stage"), "train": ("follow", "stop"), "finish": ("stop",)}


class JobPhases:
    """The job of a run, and its nodes by their names; ``show`` lets people know how it stands."""

    def __init__(self, board: Board, show: Callable[[str], None]) -> None:
        """Take the job that the run has, or will have."""
        self._board, self._show = board, show
        self._job = SlurmJob(board.run_dir)

    @property
    def is_submitted(self) -> bool:
        """Whether the run has a job."""
        return self._job.id is not None

    def begin(self, needs: Needs) -> None:
        """Submit the job where there is none yet, and wait for its nodes; `NodeError` where there will be none."""
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
        """Return what asks each node for a phase; `NodeError` where the preflight in the job ends the run."""
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
            if phase == "finish" or not self._board.status(name).get("unfit")
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
