# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder of a run on the controller, made for a plan or found with the same plan in it."""

from __future__ import annotations

import os

from ...module_utils.node.identity import ADOPTS
from ..contracts import Plan
from .board import Board
from .runs import differences

_SHOWN = 5


def open_run(run_dir: str, plan: Plan, known_dir: str, *, adopts: bool) -> str:
    """Write a plan to the folder of its run, unless it is there, and return a message about that, or nothing.

    ``known_dir`` is where a run of this name would be; the two differ in check mode. ``adopts`` takes up the run that
    the nodes hold. ValueError where the folder has another run or cannot adopt one, OSError where it cannot be written.
    """
    if adopts and "slurm" in plan:
        raise ValueError(f"Run {plan['run_id']} is a job of Slurm, which only its own folder follows.")
    board, known = Board(run_dir), Board(known_dir)
    try:
        board.write_plan(plan)
    except FileExistsError:
        different = differences(board.made_plan(), plan)
        if different:
            raise ValueError(
                f"{run_dir} holds another run of this name; its plan differs in {', '.join(different[:_SHOWN])}. "
                "Choose another training_run_id, or omit it."
            ) from None
        return f"Run {plan['run_id']} already exists; resuming it.\n"
    if adopts:
        board.adopt(ADOPTS)
        return f"Resuming what the nodes hold of run {plan['run_id']}; nothing is started.\n"
    if os.path.isdir(known.run_dir):
        # In check mode the run may be there already.
        board.adopt(known.nonce())
    return ""
