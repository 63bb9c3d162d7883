# SPDX-License-Identifier: GPL-3.0-or-later
"""Asking a node of a job of Slurm: what it would answer it has written down, or will.

The tasks of the job do the phases by themselves (`module_utils/slurm/task`); each answer is a line of a file of the
run's folder, and asking is waiting for the next one. So the phases of a run are the same as over Ansible's connections.
"""

from __future__ import annotations

import base64
import contextlib
import json
import time
import typing as t
import zlib
from pathlib import Path

from ....module_utils.node.phases.collect import COLLECT_BYTES
from ....module_utils.slurm.task import ANSWERS_NAME, COPY_NAME, GRACE_SECONDS, STOP_NAME
from ..answers import accepted
from ..node_errors import NodeLostError
from .job import SlurmJob

_LOOK_SECONDS = 0.5
# What a shared file system takes to show what another node has written.
_LAG_SECONDS = 30.0
# The most that is read of one answer.
_MOST_BYTES = 64 << 20


class JobNode:
    """A node of a job; `ask` is what `Phases` takes."""

    def __init__(self, run_dir: Path, node: str, job: SlurmJob) -> None:
        """Read its answers from the first one on."""
        self._folder, self._job, self._stop = run_dir / "nodes" / node, job, run_dir / STOP_NAME
        self._offset = 0
        self._answers: dict[str, list[dict[str, t.Any]]] = {}
        self._last_followed: dict[str, t.Any] | None = None

    def ask(self, phase: str, **needs: t.Any) -> dict[str, t.Any]:
        """Return the node's answer; `NodeLostError` where the job has ended without it."""
        if phase == "collect":
            return self._part_of_log(needs["offset"])
        if phase == "stop":
            return self._stopped(needs["grace_seconds"])
        if phase == "follow":
            return self._followed(needs["wait_seconds"])
        return accepted(phase, self._next(phase))

    def _followed(self, wait_seconds: float) -> dict[str, t.Any]:
        """Return the next answer; once the node does not follow any more, the last one, without what it told."""
        self._read()
        if not self._answers.get("follow") and self._answers.get("stop") and self._last_followed:
            if self._job.is_over():
                raise NodeLostError(self._job.end_in_words())
            time.sleep(_LOOK_SECONDS)
            return {**self._last_followed, "blocks": [], "failures": []}
        self._last_followed = accepted("follow", self._next("follow", wait_seconds + _LAG_SECONDS))
        return self._last_followed

    def _stopped(self, grace_seconds: float) -> dict[str, t.Any]:
        if self._job.id is None:
            return {"changed": False, "status": "not_started", "warnings": []}
        if not (self._folder / ANSWERS_NAME).exists():
            # The job waits, or has not got as far as this node: nothing runs there.
            if not self._job.is_over():
                self._job.cancel()
            return {"changed": False, "status": "not_started", "warnings": []}
        self._stop.touch()
        try:
            return accepted("stop", self._next("stop", grace_seconds + GRACE_SECONDS + _LAG_SECONDS))
        except NodeLostError:
            if not self._job.is_over():
                self._job.cancel()
            raise

    def _next(self, phase: str, patience: float = float("inf")) -> dict[str, t.Any]:
        """Wait for the next answer of a phase."""
        deadline = time.monotonic() + patience
        ended_at: float | None = None
        while True:
            self._read()
            if self._answers.get(phase):
                return self._answers[phase].pop(0)
            now = time.monotonic()
            if self._job.is_over():
                ended_at = ended_at or now
                # The last lines may still be on their way.
                if now > ended_at + 2 * _LOOK_SECONDS:
                    raise NodeLostError(self._job.end_in_words())
            if now > deadline:
                raise NodeLostError(f"nothing was heard of it for {patience:.0f} s")
            time.sleep(_LOOK_SECONDS)

    def _read(self) -> None:
        """Take in the whole lines that have been added."""
        with contextlib.suppress(FileNotFoundError), open(self._folder / ANSWERS_NAME, "rb") as stream:
            stream.seek(self._offset)
            for line in iter(lambda: stream.readline(_MOST_BYTES), b""):
                if not line.endswith(b"\n"):
                    break
                self._offset += len(line)
                with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
                    told = json.loads(line)
                    self._answers.setdefault(told["phase"], []).append(told["answer"])

    def _part_of_log(self, offset: int) -> dict[str, t.Any]:
        try:
            with open(self._folder / COPY_NAME, "rb") as stream:
                size = stream.seek(0, 2)
                stream.seek(offset)
                part = stream.read(COLLECT_BYTES)
        except FileNotFoundError:
            return {"changed": False, "data": "", "size": 0}
        return {"changed": False, "data": base64.b64encode(zlib.compress(part)).decode("ascii"), "size": size}
