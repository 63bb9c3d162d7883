# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts on the board how Slurm itself ended a job: the nodes' own records show only the consequence."""

from __future__ import annotations

import time
import typing as t

from ...module_utils.logs.failures import find_failures
from ...module_utils.logs.find import Piece
from ...module_utils.logs.signature import Failure
from ...module_utils.logs.signatures.slurm import SIGNATURES
from ...module_utils.slurm.desk import SECRETS_NAME
from ..contracts import EndedBy
from ..plain_text import one_line
from ..run.board import Board
from ..text.nodes import folded_messages
from .job import RESTARTED, SlurmJob
from .script import SCRIPT_NAME

# Somebody, or another job, ended it: that says nothing about the training.
_INTERRUPTED = ("CANCELLED", "REVOKED", "PREEMPTED", RESTARTED)
# The class of failure that another end is.
_CLASSES = {
    "TIMEOUT": "time_limit",
    "DEADLINE": "time_limit",
    "NODE_FAIL": "node_failure",
    "BOOT_FAIL": "node_failure",
    "LAUNCH_FAILED": "node_failure",
    "OUT_OF_MEMORY": "host_memory",
}
_REMEDIES = {signature.failure: signature.remedy for signature in reversed(SIGNATURES)} | {
    "node_failure": "Find the reason (sinfo -R, the node's kernel log and its slurmd log), and resume from a "
    "checkpoint on other nodes."
}
_OF_SHELL = SCRIPT_NAME.encode() + b": line "
_WAIT_SECONDS, _LOOK_SECONDS = 20.0, 0.5
# On the scale of the log signatures: before all that follows from it.
_BLAME = 1


def note_end(job: SlurmJob, board: Board, nodes: t.Collection[str]) -> list[str]:
    """Wait for the end of a job whose tasks have ended, and note its cause on the board, if Slurm knows it.

    If it was cancelled, preempted or requeued, the nodes were stopped. Any other end by Slurm, or the reason in the
    job's log why no task reached the training, is a failure of the node that Slurm took out of service, or that appears
    in the log, or else of the first node. Return sentences, without a full stop, on nodes that Slurm took out of
    service without making the run fail.
    """
    # A job that never began has not removed it.
    (board.run_dir / SECRETS_NAME).unlink(missing_ok=True)
    if job.id is None:
        return []
    _wait_for_end(job, job.id)
    state, ended = job.state()[0], job.end_in_words()
    if state == RESTARTED:
        job.cancel()
    out = job.nodes_out()
    # Slurm cancels a job that it could not begin on a node, too.
    began = any(board.status(node)["status"] != "not_started" for node in nodes)
    if state in _INTERRUPTED and (began or not out):
        remedy = f". {_REMEDIES['preempted']}" if state in ("PREEMPTED", RESTARTED) else ""
        for node in nodes:
            if board.status(node)["process"]["exit_status"] != 0:
                changes = {"exit_status": None, "message": f"{ended}{remedy}"}
                board.update(node, status="stopped", interrupted=True, **changes)
        return _out_of_service(out)
    # What the shell says is of an srun, on no node of the run.
    said_there = b"".join(line for line in job.log_end().splitlines(True) if not line.startswith(_OF_SHELL))
    failures: list[Failure] = [
        {**failure, "line": one_line(failure["line"])} for failure in find_failures(Piece(said_there))
    ]
    nearest = min(failures, key=lambda failure: (failure["echo"], failure["blame"]), default=None)
    if state in _INTERRUPTED:
        ended = f"Slurm cancelled {job.name} because it could not start it on every node"
    if state in _CLASSES or state in _INTERRUPTED:
        line = ". ".join([ended, *_out_of_service(out)])
        cause = _cause(_CLASSES.get(state, "node_failure"), f"{line}.")
    elif nearest and all(board.status(node)["status"] == "unreachable" for node in nodes):
        # The tasks did not get as far as the training.
        cause = t.cast("EndedBy", {**nearest, "echo": False, "blame": _BLAME})
    else:
        return _out_of_service(out)
    said = [node for node in nodes for failure in failures if node in failure["line"]]
    named = next(node for node in (*out, *said, *nodes) if node in nodes)
    for node in nodes:
        if node != named and board.status(node)["status"] not in ("unreachable", "bad_answer"):
            board.update(node, status="stopped", interrupted=False)
    board.update(named, status="killed", interrupted=False, ended_by=cause)
    return []


def _wait_for_end(job: SlurmJob, number: str) -> None:
    deadline = time.monotonic() + _WAIT_SECONDS
    while not job.is_over(_LOOK_SECONDS) and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)
    if "." in number and not job.is_over():
        # Its srun was killed, and the step that keeps the nodes waits for it.
        job.cancel()


def _out_of_service(out: t.Mapping[str, str]) -> list[str]:
    return folded_messages((node, f"{node}: Slurm took it out of service: {why}") for node, why in out.items())


def _cause(failure: str, said: str) -> EndedBy:
    known = {"blame": _BLAME, "echo": False, "rank": None, "exit_code": None, "remedy": _REMEDIES[failure]}
    finding = {"case": "job_ended", "values": {"said": said}, "line": said}
    return t.cast("EndedBy", {**known, **finding, "class": failure})
