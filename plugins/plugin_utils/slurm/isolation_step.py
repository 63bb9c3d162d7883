# SPDX-License-Identifier: GPL-3.0-or-later
"""The step that tests Slurm nodes: srun, with a process on each node that answers requests.

srun has its own allocation, or runs in an existing one. The step ends with its standard input, and its own allocation
ends with it. So the nodes are freed whatever happens to the controller.
"""

from __future__ import annotations

import base64
import contextlib
import io
import queue
import re
import subprocess
import threading
import time
import typing as t
from collections import deque
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from ...module_utils.node.contracts import Request
from ...module_utils.node.files import write_text
from ...module_utils.node.phase import RunGoneError
from ...module_utils.slurm.desk import ID_NAME
from ...module_utils.slurm.journal import Lines, within_bounds
from ...module_utils.slurm.serving import ANSWER, BEAT_SECONDS, BEGIN, packed
from ..isolate.isolation import StoppedError
from ..plain_text import one_line
from ..run.node_errors import NodeEndedError, NodeLostError
from .commands import SlurmError, environment_in
from .hostlist import expand_hostlist
from .job import SlurmJob
from .launch import write_program
from .script import JOB_LOG

# srun becomes this process. One that waits for an allocation does not notice the end of its input, so another process
# ends it a while after the controller is gone.
_WATCHED = """\
exec 3<&0
(
  exec 3<&-
  while kill -0 "$PPID" && kill -0 "$$"; do sleep 1; done
  i=0
  while kill -0 "$$" && [ $((i += 1)) -le 20 ]; do sleep 1; done
  kill -TERM "$$"
) </dev/null >/dev/null 2>&1 &
exec "$@" <&3 3<&-
"""
# srun's own words about its allocation, and about tasks that have ended.
_OF_SRUN = b"srun: "
_OF_JOB = re.compile(r"job (\d+) (?:queued|has been allocated)")
_ERROR, _ABORTED = "error: ", "Job step aborted"
_LOST = re.compile(r"error: (?:Node failure on (\S+)|(\S+): tasks? [\d,-]+: )")
_BEGIN_SECONDS, _END_SECONDS = 120.0, 30.0
_LOOK_SECONDS, _KNOWN_SECONDS = 0.25, 10.0
_MOST_OF_LINE, _LINES_SHOWN = 64 << 10, 3


# The answer to a request goes here, or None if there will be none.
_Box: t.TypeAlias = "queue.SimpleQueue[dict[str, t.Any] | None]"


class Step:
    """A step, run from the isolation's folder, which has its log and its number."""

    def __init__(self, folder: Path, command: list[str], allocation: str | None) -> None:
        """Start srun in the allocation of a number, or with one of its own."""
        self.job = SlurmJob(folder)
        self._folder, self._in_allocation = folder, allocation is not None
        self._said: deque[str] = deque(maxlen=_LINES_SHOWN)
        self._names: dict[int, str] = {}
        self._lost: dict[str, str] = {}
        self._boxes: dict[int, tuple[str, _Box]] = {}
        self._count, self._lock = 0, threading.Lock()
        self._is_over = self._is_aborted = self._ends = False
        self._asked: queue.SimpleQueue[tuple[str, int, Request] | None] = queue.SimpleQueue()
        program = io.BytesIO()
        write_program(program)
        self._srun = subprocess.Popen(
            ["sh", "-c", _WATCHED, "sh", *command],
            env=environment_in(allocation),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        begin = base64.b64encode(program.getvalue()) + b"\n"
        self._errors = threading.Thread(target=self._keep_errors, daemon=True)
        self._errors.start()
        for work in (lambda: self._write(begin), self._read):
            threading.Thread(target=work, daemon=True).start()

    def wait_for(
        self, nodes: Collection[str], patience: float, say: Callable[[str], None], is_stopped: Callable[[], bool]
    ) -> None:
        """Wait until the tasks of all nodes have begun, for some seconds at most until the first one has.

        SlurmError, with Slurm's reason, if there is no allocation by then; StoppedError if somebody stops it. Tasks
        that do not begin soon after the others are not waited for.
        """
        said, deadline = "", time.monotonic() + patience
        while not self._names:
            self._check(is_stopped)
            waits = self._waits()
            if waits != said:
                say(f"Slurm {waits}")
                said = waits
            if time.monotonic() > deadline:
                why = f"Its {waits}" if waits else "It says nothing of a job"
                raise SlurmError(f"Slurm has not started the tests within {patience / 60:g} minutes. {why}")
            time.sleep(_LOOK_SECONDS)
        deadline = time.monotonic() + _BEGIN_SECONDS
        while len(self._names) < len(nodes) and time.monotonic() < deadline:
            self._check(is_stopped)
            time.sleep(_LOOK_SECONDS)

    def _check(self, is_stopped: Callable[[], bool]) -> None:
        if is_stopped():
            raise StoppedError
        if self._is_over:
            raise SlurmError(f"srun could not start the tests: {self._end_in_words()}")

    def _waits(self) -> str:
        """Return Slurm's reason why the job waits."""
        if self.job.id is None:
            return ""
        state, reason = self.job.state()
        return f"{self.job.name} is {state}{f': {reason}' if reason not in ('', 'None') else ''}"

    def answer(self, node: str, request: Request, patience: float | None) -> dict[str, t.Any]:
        """Return a node's answer, within some seconds.

        RunGoneError if the step is over, which is not the node's fault; `NodeLostError` if the node does not answer.
        """
        box: _Box = queue.SimpleQueue()
        with self._lock:
            if self._is_over:
                raise RunGoneError(self._end_in_words())
            if node in self._lost:
                raise NodeEndedError(self._lost[node])
            if node not in self._names.values():
                raise NodeLostError("Slurm started no task there")
            self._count = number = self._count + 1
            self._boxes[number] = (node, box)
        self._asked.put((node, number, request))
        try:
            answer = box.get(timeout=patience)
        except queue.Empty:
            raise NodeEndedError(f"its task has not answered for {patience:.0f} s") from None
        finally:
            with self._lock:
                del self._boxes[number]
        if answer is None:
            raise NodeEndedError(self._lost[node]) if node in self._lost else RunGoneError(self._end_in_words())
        return answer

    def end(self) -> None:
        """End the step, and with it an allocation of its own."""
        self._ends = True
        self._asked.put(None)
        try:
            self._srun.wait(_END_SECONDS if self._names else 0.0)
        except subprocess.TimeoutExpired:
            self._cancel()

    def _cancel(self) -> None:
        # srun also takes back a job that waits for its allocation.
        self._srun.terminate()
        if self.job.id and not self.job.is_over(0.0):
            self.job.cancel()
        try:
            self._srun.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._srun.kill()

    def _write(self, begin: bytes) -> None:
        """Write the program, and then the requests; all waiting requests go together."""
        stream = t.cast("t.BinaryIO", self._srun.stdin)
        try:
            stream.write(begin)
            stream.flush()
            while True:
                asked = []
                with contextlib.suppress(queue.Empty):
                    asked.append(self._asked.get(timeout=BEAT_SECONDS))
                    while True:
                        asked.append(self._asked.get_nowait())
                requests: dict[str, list[tuple[int, Request]]] = {}
                for node, number, request in filter(None, asked):
                    requests.setdefault(node, []).append((number, request))
                stream.write(packed(requests))
                stream.flush()
                if None in asked:
                    break
            stream.close()
        except (BrokenPipeError, ValueError):
            return

    def _read(self) -> None:
        """Hand out the tasks' answers until srun has ended."""
        lines = Lines((BEGIN, ANSWER))
        for line in _lines(self._srun.stdout):
            if found := lines.add(line):
                self._take(*found)
        self._srun.wait()
        # The last words of srun give the reason, and Slurm itself does a moment later.
        self._errors.join()
        deadline = time.monotonic() + _KNOWN_SECONDS
        while self.job.id and not (self._ends or self.job.is_over(0.0)) and time.monotonic() < deadline:
            time.sleep(_LOOK_SECONDS)
        with self._lock:
            self._is_over = True
            for _node, box in self._boxes.values():
                box.put(None)

    def _take(self, task: int, phase: str, said: dict[str, t.Any]) -> None:
        if phase == BEGIN and task not in self._names and said.get("node") not in self._names.values():
            self._note_number(str(said.get("step")))
            # Others look at them meanwhile.
            self._names = {**self._names, task: str(said.get("node"))}
            return
        number, answer = said.get("number"), said.get("answer")
        node, box = self._boxes.get(number, ("", None)) if isinstance(number, int) else ("", None)
        # A node answers for itself.
        if box and node == self._names.get(task) and isinstance(answer, dict):
            box.put(answer)

    def _note_number(self, step: str) -> None:
        """Note the number of the job or, in an allocation that there was, of the step."""
        if self.job.id is None and re.fullmatch(r"\d+\.\d+", step):
            number = step if self._in_allocation else step.partition(".")[0]
            write_text(str(self._folder / ID_NAME), f"{number}\n", 0o644)

    def _keep_errors(self) -> None:
        """Keep the output beside the answers, and take srun's messages about the job and its nodes from it."""
        with open(self._folder / JOB_LOG, "ab") as log:
            for line in within_bounds(_lines(self._srun.stderr)):
                log.write(line)
                log.flush()
                if line.startswith(_OF_SRUN):
                    self._note(one_line(line.removeprefix(_OF_SRUN).decode("utf-8", "replace").strip()))

    def _note(self, said: str) -> None:
        if said.startswith(_ERROR):
            self._said.append(said.removeprefix(_ERROR))
        if (found := _OF_JOB.match(said)) and self.job.id is None:
            write_text(str(self._folder / ID_NAME), f"{found[1]}\n", 0o644)
        self._is_aborted = self._is_aborted or said.startswith(_ABORTED)
        # Nodes are not to blame for tasks that end with the step.
        if (found := _LOST.match(said)) and not self._is_aborted:
            with contextlib.suppress(ValueError):
                self._lose(expand_hostlist(found[1] or found[2]), f"srun says: {said.removeprefix(_ERROR)}")

    def _lose(self, nodes: Iterable[str], why: str) -> None:
        """End all waiting for nodes whose tasks are gone."""
        with self._lock:
            self._lost.update(dict.fromkeys(nodes, why))
            for node, box in self._boxes.values():
                if node in self._lost:
                    box.put(None)

    def _end_in_words(self) -> str:
        """Return how the step ended."""
        if self.job.id and self.job.is_over():
            return self.job.end_in_words()
        return " / ".join(["the step of Slurm has ended", *self._said])


def _lines(stream: t.IO[bytes] | None) -> Iterable[bytes]:
    return iter(lambda: t.cast("t.IO[bytes]", stream).readline(_MOST_OF_LINE), b"")
