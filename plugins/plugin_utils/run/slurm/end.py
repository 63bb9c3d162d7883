# SPDX-License-Identifier: GPL-3.0-or-later
"""How Slurm itself ended a job, put on the board: what its nodes wrote down shows the consequence only."""

from __future__ import annotations

import time
import typing as t
from pathlib import Path

from ....module_utils.logs.failures import find_failures
from ....module_utils.logs.find import Piece
from ....module_utils.slurm.task import SECRETS_NAME
from ...plan.slurm.script import JOB_LOG
from ..board import Board
from .job import SlurmJob

_CANCELLED = ("CANCELLED", "REVOKED")
# Ends of a job that are none of the training's own.
_BY_SLURM = ("TIMEOUT", "DEADLINE", "PREEMPTED", "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY", "LAUNCH_FAILED")
_WAIT_SECONDS = 20.0
# On the scale of the log signatures: before all that follows from it.
_BLAME = 1
_LOG_BYTES = 1 << 20


def note_end(job: SlurmJob, board: Board, nodes: t.Collection[str]) -> None:
    """Wait for the end of a job whose tasks have ended, and note on the board who brought it about, if Slurm knows.

    Where it was cancelled, the nodes were stopped; else what the job's own log says is a failure of the node that it
    names, or of the first one.
    """
    # A job that never began has not removed it.
    (board.run_dir / SECRETS_NAME).unlink(missing_ok=True)
    if job.id is None:
        return
    deadline = time.monotonic() + _WAIT_SECONDS
    while not job.is_over() and time.monotonic() < deadline:
        time.sleep(0.5)
    state = job.state()[0]
    if state in _CANCELLED:
        for node in nodes:
            if board.status(node).get("exit_status") != 0:
                board.update(node, status="stopped", interrupted=True, exit_status=None, message=job.end_in_words())
    elif state in _BY_SLURM:
        failures = find_failures(Piece(_end_of(board.run_dir / JOB_LOG)))
        named = next((node for node in nodes for failure in failures if node in failure["line"]), next(iter(nodes)))
        for node in nodes:
            if node != named and board.status(node)["status"] != "unreachable":
                board.update(node, status="stopped", interrupted=False)
        nearest = min(failures, key=lambda failure: (failure["echo"], failure["blame"]), default=None)
        cause = {**nearest, "echo": False, "blame": _BLAME} if nearest else _cause(job.end_in_words())
        board.update(named, status="killed", interrupted=False, ended_by=cause)


def _cause(message: str) -> dict[str, t.Any]:
    remedy = "Read job.log in the run's folder, and ask Slurm: scontrol show job, sacct."
    known = {"class": "slurm", "blame": _BLAME, "echo": False, "rank": None, "exit_code": None}
    return {**known, "line": f"{message}.", "remedy": remedy}


def _end_of(path: Path) -> bytes:
    try:
        with open(path, "rb") as stream:
            stream.seek(max(0, stream.seek(0, 2) - _LOG_BYTES))
            return stream.read()
    except FileNotFoundError:
        return b""
