# SPDX-License-Identifier: GPL-3.0-or-later
"""Asking a node of a Slurm job, which answers without being asked.

The tasks of the job run the phases by themselves (`module_utils/slurm/task`) and write all answers to one file in the
run's folder, the job's journal. Asking a node means waiting for its next answer there, so the phases of a run are the
same as over Ansible's connections.
"""

from __future__ import annotations

import threading
import time
import typing as t
from collections import defaultdict, deque

from ...module_utils.node.contracts import PhaseNeeds
from ...module_utils.node.phases.collect import part_of_log
from ...module_utils.node.problems import problem
from ...module_utils.slurm.desk import COPY_NAME, WORD_NAME
from ...module_utils.slurm.desk import STOP as WORD_TO_STOP
from ...module_utils.slurm.journal import JOURNAL_NAME, Answers
from ...module_utils.slurm.task import GRACE_SECONDS
from ..run.answers import COLLECT, FOLLOW, STOP, A, Followed, Phase, Stopped, accepted
from ..run.node_errors import NodeLostError, ended, lost
from .job import SlurmJob

_LOOK_SECONDS = 1.0
# A job that ends says so in its journal, unless Slurm ends it at once.
_ASKED_SECONDS = 10.0
# How long a shared file system takes to show another node's writes.
_LAG_SECONDS = 30.0
# An answer that is this late is more than slow.
SILENT_SECONDS = _LAG_SECONDS + 10.0
# Nodes and file server may differ by so much.
_CLOCK_SECONDS = 1.0
_ADDED = ("blocks", "failures", "survived")


class Journal:
    """What all nodes of a job have answered to some phases, which one thread reads for those who wait for an answer."""

    def __init__(self, job: SlurmJob, phases: t.Container[str], places: t.Iterable[int]) -> None:
        """Read the answers of the nodes in these places of the plan from the first one on."""
        self.job = job
        self._answers = Answers(str(job.run_dir / JOURNAL_NAME), phases)
        self._stop_requested = False
        self._inboxes = {place: _Inbox() for place in places}
        self._take_in()
        threading.Thread(target=self._read_on, daemon=True).start()

    def has_heard(self, place: int) -> bool:
        """Return whether the node in a place has answered anything."""
        return place in self._answers.heard

    def has(self, place: int, phase: str) -> bool:
        """Return whether an answer of a node is waiting."""
        return bool(self._inboxes[place].answers[phase])

    def next(self, place: int, phase: str, patience: float | None = None) -> dict[str, t.Any]:
        """Wait for the next answer; `NodeEndedError` if the job ends, `NodeLostError` if ``patience`` does."""
        inbox = self._inboxes[place]
        with inbox.grown:
            if not inbox.grown.wait_for(lambda: inbox.answers[phase] or inbox.ended, patience):
                raise lost(problem("task_silent", seconds=patience))
            if inbox.answers[phase]:
                return inbox.answers[phase].popleft()
        raise ended(problem("job_ended", said=inbox.ended or ""))

    def request_stop(self) -> None:
        """Let the tasks of the job end their trainings."""
        if not self._stop_requested:
            self._stop_requested = True
            (self.job.run_dir / WORD_NAME).write_text(WORD_TO_STOP, encoding="ascii")

    def stopped_at(self) -> float | None:
        """Return when the job was asked to stop, by whomever, in seconds since the epoch; None if it was not."""
        word = self.job.run_dir / WORD_NAME
        try:
            return word.stat().st_mtime if word.read_text(encoding="ascii") == WORD_TO_STOP else None
        except (OSError, ValueError):
            return None

    def _read_on(self) -> None:
        """Look at the journal until the job has ended and nothing more has come."""
        ended = f"{JOURNAL_NAME} could not be read"
        try:
            while self._take_in() or not self.job.is_over(_ASKED_SECONDS) or self._take_in():
                time.sleep(_LOOK_SECONDS)
            ended = self.job.end_in_words()
        finally:
            # Whoever waits learns of it, whatever went wrong here.
            for inbox in self._inboxes.values():
                with inbox.grown:
                    inbox.ended = ended
                    inbox.grown.notify_all()

    def _take_in(self) -> bool:
        """Hand new entries of the journal to their waiting readers, and return whether there were any."""
        size = self._answers.offset
        for place, phase, answer in self._answers.more():
            if place in self._inboxes:
                self._inboxes[place].add(phase, answer)
        return self._answers.offset != size


class _Inbox:
    """A node's answers that nobody has taken yet; ``ended`` says how the job ended."""

    def __init__(self) -> None:
        self.answers: dict[str, deque[dict[str, t.Any]]] = defaultdict(deque)
        self.ended: str | None = None
        self.grown = threading.Condition()

    def add(self, phase: str, answer: dict[str, t.Any]) -> None:
        """Add an answer; merge it into the previous one if both report a training's progress: hours may pile up."""
        with self.grown:
            waiting = self.answers[phase]
            if waiting and phase == "follow" and _goes_on(waiting[-1]) and _goes_on(answer):
                added = {name: [*waiting[-1][name], *answer[name]] for name in _ADDED}
                changed = waiting[-1].get("changed") or answer.get("changed")
                waiting[-1] = {**waiting[-1], **answer, **added, "changed": changed}
            else:
                waiting.append(answer)
            self.grown.notify_all()


def _goes_on(answer: dict[str, t.Any]) -> bool:
    return answer.get("status") == "running" and all(isinstance(answer.get(name), list) for name in _ADDED)


class JobNode:
    """A node of a job; `Phases` takes its `ask`."""

    def __init__(self, journal: Journal, node: str, place: int) -> None:
        """Take its answers from the journal."""
        self._journal, self._job, self._place = journal, journal.job, place
        self._copy = self._job.run_dir / "nodes" / node / COPY_NAME
        self._last_followed: Followed | None = None

    def ask(self, phase: Phase[A], **needs: t.Unpack[PhaseNeeds]) -> A:
        """Return the node's answer; `NodeEndedError` where the job has ended without it."""
        if phase is COLLECT:
            return t.cast("A", part_of_log(str(self._copy), needs["offset"]))
        if phase is STOP:
            return t.cast("A", self._stopped(needs["grace_seconds"]))
        if phase is FOLLOW:
            return t.cast("A", self._followed(needs["wait_seconds"]))
        return accepted(phase, self._journal.next(self._place, phase.name))

    def _followed(self, wait_seconds: float) -> Followed:
        """Return the next answer; once the node no longer follows, the last one, without its earlier reports."""
        follows = self._journal.has(self._place, "follow") or not self._journal.has(self._place, "stop")
        if self._last_followed and not follows:
            if self._job.is_over():
                raise ended(problem("job_ended", said=self._job.end_in_words()))
            time.sleep(_LOOK_SECONDS)
            return {**self._last_followed, "blocks": [], "failures": [], "survived": []}
        # A container may take minutes to start.
        patience = wait_seconds + _LAG_SECONDS if self._last_followed else None
        answer = accepted(FOLLOW, self._journal.next(self._place, "follow", patience))
        if answer["status"] in ("exited", "killed") and answer["exit_status"] != 0 and self._follows_a_stop(answer):
            answer = {**answer, "status": "stopped", "exit_status": None}
        # The answer may be old, and the clocks of a cluster of Slurm are one: munge refuses others.
        self._last_followed = {**answer, "now": time.time()}
        return self._last_followed

    def _follows_a_stop(self, answer: Followed) -> bool:
        """Return whether a training failed after the job was asked to stop.

        A rank whose peer has been stopped ends with its own error, maybe before its task hears of the stop.
        """
        stopped_at = self._journal.stopped_at()
        return stopped_at is not None and (answer["ended_at"] or 0.0) >= stopped_at - _CLOCK_SECONDS

    def _stopped(self, grace_seconds: float) -> Stopped:
        if self._job.id is None or not self._journal.has_heard(self._place):
            # The job waits, or has not got as far as this node: nothing runs there.
            if self._job.id is not None and not self._job.is_over():
                self._job.cancel()
            return {"changed": False, "status": "not_started", "warnings": []}
        self._journal.request_stop()
        try:
            patience = grace_seconds + GRACE_SECONDS + _LAG_SECONDS
            return accepted(STOP, self._journal.next(self._place, "stop", patience))
        except NodeLostError:
            if not self._job.is_over():
                self._job.cancel()
            raise
