# SPDX-License-Identifier: GPL-3.0-or-later
"""A task of a step that tests nodes: it does the phases that the controller requests, until the controller is gone.

srun brings each line of its standard input to all tasks: JSON, zlib, base64. It has requests by the names of their
nodes, each with the number of its answer::

    {"gpu01": [[7, {"phase": "probe", ...}]], "gpu02": ...}

Requests to many nodes differ little, and so take few bytes together. Each is answered by a process of its own, as over
other connections; its children live on until the step ends.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import subprocess
import sys
import typing as t
import zlib

from ..node.agent import answer_to
from ..node.phase import add_environment
from .journal import Teller

if t.TYPE_CHECKING:
    from ..node.contracts import Request

# The first answer, to no request: the task has begun.
BEGIN, ANSWER = "begin", "answer"
# The controller says something at least this often, and is gone after so much silence: srun may vanish without a sign.
BEAT_SECONDS = 30
_SILENCE_SECONDS = 180
_GRACE_SECONDS = 1.0


def packed(requests: t.Mapping[str, t.Sequence[tuple[int, Request]]]) -> bytes:
    """Return the line with the requests of some nodes, each with its number."""
    return base64.b64encode(zlib.compress(json.dumps(requests).encode(), 9)) + b"\n"


def serve(owned: str = "") -> int:
    """Answer the requests to this task's node, and free it once nobody can send any more.

    If srun is gone, Slurm ends the step, but not the job: an ``owned`` job, which exists only for this, is ended here.
    """
    # sys.stdin has read ahead, so reading continues with it.
    source = t.cast("t.BinaryIO", sys.stdin)
    out = os.dup(1)
    # Programs that a phase starts print to the errors of the task.
    os.dup2(2, 1)
    node = os.environ["SLURMD_NODENAME"]
    step = f"{os.environ['SLURM_JOB_ID']}.{os.environ['SLURM_STEP_ID']}"
    last, is_silent = t.cast("Request | None", None), False
    answering: t.Set[int] = set()
    try:
        signal.signal(signal.SIGTERM, _end)
        signal.signal(signal.SIGALRM, _end)
        signal.alarm(_SILENCE_SECONDS)
        _tell(out, BEGIN, {"node": node, "step": step})
        for line in source:
            signal.alarm(_SILENCE_SECONDS)
            for number, request in json.loads(zlib.decompress(base64.b64decode(line))).get(node, ()):
                last = request
                answering -= _ended(answering)
                answering.add(_answer(out, number, request))
    except _SilenceError:
        is_silent = True
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        # Nobody waits for their answers any longer.
        for pid in answering - _ended(answering):
            os.kill(pid, signal.SIGTERM)
        if last:
            answer_to({**last, "phase": "stop", "grace_seconds": _GRACE_SECONDS, "with_log": False})
        if owned and is_silent and os.environ["SLURM_PROCID"] == "0":
            with contextlib.suppress(OSError):
                subprocess.run(["scancel", os.environ["SLURM_JOB_ID"]], check=False)  # pylint: disable=ansible-bad-function
    return 0


class _SilenceError(Exception):
    """Nobody has sent anything for long."""


def _end(number: int, _frame: object) -> None:
    raise _SilenceError if number == signal.SIGALRM else SystemExit(0)


def _answer(out: int, number: int, request: Request) -> int:
    """Answer a request from another process, and return which one."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        add_environment(request["environment"])
        try:
            answer = answer_to(request)
        except Exception as error:
            answer = {"failed": True, "message": f"phase {request['phase']} ended with {error!r}"}
        _tell(out, ANSWER, {"number": number, "answer": answer})
        status = 0
    finally:
        os._exit(status)


def _ended(pids: t.Set[int]) -> t.Set[int]:
    """Return which of our processes have ended."""
    return {pid for pid in pids if os.waitpid(pid, os.WNOHANG)[0]}


def _tell(out: int, phase: str, answer: t.Dict[str, t.Any]) -> None:
    with os.fdopen(os.dup(out), "wb") as stream:
        Teller(stream).tell(phase, answer)
