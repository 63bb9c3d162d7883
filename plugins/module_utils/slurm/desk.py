# SPDX-License-Identifier: GPL-3.0-or-later
"""A job's task gets its needs, and hears of the others, through the run's folder or srun's own stream.

In a job of sbatch all nodes share the run's folder (see `task`). Inside an allocation only the machine with srun sees
it. There a task gets its needs through its standard input, written by `feed`, and learns of changes the same way::

    <the program, base64>
    <what it needs, JSON, zlib, base64>
    word <what the controller says>
    failed                                  another node has failed
    .                                       there is still somebody

srun brings these lines to all tasks. A node's part of the plan differs little from node to node, and so takes few
bytes.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import select
import shutil
import signal
import sys
import threading
import time
import typing as t
import zlib

from ..node.phases.collect import KEPT_OF_BEGIN, KEPT_OF_END
from .journal import FAILED, LOG, Teller

PROGRAM_NAME, ID_NAME = "job.pyz", "job_id"
JOB_NAME, SECRETS_NAME = "job.json", "secrets.json"
WORD_NAME, FAILED_NAME, PARTS_NAME = "word", "failed", "parts"
COPY_NAME = "task.log"
STOP = "stop"
_BEAT_SECONDS = 60.0
_SILENCE_SECONDS = 600.0
_LOOK_MILLISECONDS = 1000
_PIECE_BYTES = 64 << 10

# The program for python3 -c on a node that does not have it. The file has no name on the node. A thread reads the
# standard input to the end, and Python's own object for it would fail at exit because of that.
STARTER = (
    "import base64,os,runpy,sys;sys.stdin=sys.stdin.detach();"
    'f=os.memfd_create("trainops");'
    "os.write(f,base64.b64decode(sys.stdin.readline()));"
    'runpy.run_path("/proc/self/fd/%d"%f,run_name="__main__")'
)

Part = t.Tuple[t.Dict[str, t.Any], t.Dict[str, t.Any], int]


def read_part(stream: t.BinaryIO, number: int) -> Part:
    """Return the common part of the plan, the work and the checks of a task's node, and the number of nodes."""
    common = json.loads(stream.readline())
    stream.seek(stream.tell() + common["begins"][number])
    return common["plan"], json.loads(stream.readline()), len(common["begins"])


class Folder:
    """The run's folder, the task's working folder: all nodes share it."""

    is_gone = False

    @property
    def word(self) -> str:
        """The controller's word."""
        return _read(WORD_NAME)

    @property
    def has_failed(self) -> bool:
        """Whether another node has failed."""
        return bool(_read(FAILED_NAME))

    def job(self) -> t.Dict[str, t.Any]:
        """Return the other needs of the tasks."""
        return t.cast("t.Dict[str, t.Any]", json.loads(_read(JOB_NAME)))

    def secrets(self) -> t.Dict[str, t.Any]:
        """Return the secrets; a job that is submitted by hand has none."""
        return _secrets()

    def part(self, number: int) -> Part:
        """Return the work of a task; see `read_part`."""
        with open(PARTS_NAME, "rb") as stream:
            return read_part(stream, number)

    def note_failure(self, number: int) -> None:
        """Let the others wait no longer."""
        with open(FAILED_NAME, "a", encoding="ascii") as stream:
            stream.write(f"{number}\n")

    def keep_log(self, node: str, log_file: str) -> None:
        """Copy a log that is too large for an answer."""
        os.makedirs(os.path.join("nodes", node), exist_ok=True)
        shutil.copyfile(log_file, os.path.join("nodes", node, COPY_NAME))


class Stream:
    """The task's standard input and output, if the nodes share no folder."""

    def __init__(self, teller: Teller) -> None:
        """Read the first lines, and keep reading beside the task."""
        self._source, self._teller = t.cast("t.BinaryIO", sys.stdin), teller
        self._given = json.loads(zlib.decompress(base64.b64decode(self._source.readline())))
        self.word, self.has_failed = self._given["word"], self._given["failed"]
        self._heard, self._is_over = time.monotonic(), False
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        # SIGTERM ends the task, and must not reach this thread, which does not report.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        for line in self._source:
            self._heard = time.monotonic()
            what, _blank, text = line.decode("ascii", "replace").strip().partition(" ")
            if what == "word":
                self.word = text
            self.has_failed = self.has_failed or what == FAILED
        self._is_over = True

    @property
    def is_gone(self) -> bool:
        """Whether nobody has been there for long, or the stream has ended."""
        return self._is_over or time.monotonic() - self._heard > _SILENCE_SECONDS

    def job(self) -> t.Dict[str, t.Any]:
        """Return the other needs of the tasks."""
        return t.cast("t.Dict[str, t.Any]", self._given["job"])

    def secrets(self) -> t.Dict[str, t.Any]:
        """Return the secrets; a step that is begun by hand has none."""
        return t.cast("t.Dict[str, t.Any]", self._given["secrets"])

    def part(self, number: int) -> Part:
        """Return the work of a task; see `read_part`."""
        return read_part(io.BytesIO(self._given.pop("parts").encode()), number)

    def note_failure(self, number: int) -> None:  # noqa: ARG002
        """Let the others wait no longer; srun marks the line with the number."""
        self._teller.say(FAILED)

    def keep_log(self, node: str, log_file: str) -> None:  # noqa: ARG002
        """Send a log that is too large for an answer, up to the limit that is kept."""
        with open(log_file, "rb") as stream:
            size = stream.seek(0, 2)
            for begin, end in ((0, min(size, KEPT_OF_BEGIN)), (max(KEPT_OF_BEGIN, size - KEPT_OF_END), size)):
                stream.seek(begin)
                for offset in range(begin, end, _PIECE_BYTES):
                    part = stream.read(min(_PIECE_BYTES, end - offset))
                    self._teller.tell(LOG, {"offset": offset, "data": part.decode("latin-1")})


def feed(held: int, sink: int) -> int:
    """Give srun the needs of its tasks, and each change, until it is gone.

    ``held`` ends, or prints something, when Slurm ends the step that holds the nodes: then the trainings have to end.
    """
    with open(PROGRAM_NAME, "rb") as program:
        _say(sink, base64.b64encode(program.read()))
    word, failed = _read(WORD_NAME), bool(_read(FAILED_NAME))
    given = {"job": json.loads(_read(JOB_NAME)), "parts": _read(PARTS_NAME), "secrets": _secrets()}
    given.update(word=word, failed=failed)
    _say(sink, base64.b64encode(zlib.compress(json.dumps(given).encode(), 9)))
    poll, said = select.poll(), time.monotonic()
    poll.register(held, select.POLLIN)
    poll.register(sink, 0)
    while True:
        events = dict(poll.poll(_LOOK_MILLISECONDS))
        if sink in events:
            return 0
        if held in events:
            poll.unregister(held)
            with open(WORD_NAME, "w", encoding="ascii") as stream:
                stream.write(STOP)
        now, lines = _read(WORD_NAME), []
        if now and now != word:
            word = now
            lines.append(f"word {word}")
        if not failed and _read(FAILED_NAME):
            failed = True
            lines.append(FAILED)
        if not lines and time.monotonic() - said > _BEAT_SECONDS:
            lines.append(".")
        for line in lines:
            said = time.monotonic()
            _say(sink, line.encode("ascii"))


def _say(sink: int, line: bytes) -> None:
    line += b"\n"
    with contextlib.suppress(BrokenPipeError):
        while line:
            line = line[os.write(sink, line) :]


def _secrets() -> t.Dict[str, t.Any]:
    with contextlib.suppress(FileNotFoundError):
        return t.cast("t.Dict[str, t.Any]", json.loads(_read(SECRETS_NAME)))
    return {"secrets": {}, "given_secrets": {}}


def _read(name: str) -> str:
    with open(name, encoding="utf-8") as stream:
        return stream.read()
