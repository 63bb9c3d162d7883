# SPDX-License-Identifier: GPL-3.0-or-later
"""Following a node of a run until there is nothing more to wait for; each node has its own follower."""

from __future__ import annotations

import math
import threading
import time
import typing as t
from collections.abc import Callable
from dataclasses import dataclass

from ...module_utils.logs.grammar import began_anew
from ...module_utils.logs.rows import rows_of
from ...module_utils.logs.signature import Failure, is_warning
from ...module_utils.node.contracts import PhaseNeeds
from ...module_utils.node.phase import NodeError, NodeHeldError, RunGoneError
from ...module_utils.node.problems import Problem, problem
from ...module_utils.node.run_state import CIRCUMSTANCES
from ..contracts import Outage, Plan, Status
from .answers import END, SEEN, BadAnswerError, Cursor, Followed
from .news import News
from .node_errors import NodeEndedError, NodeLostError, Said, said_by, said_of
from .open_failures import OpenFailures
from .silence import StepPace
from .status import has_failed

if t.TYPE_CHECKING:
    from ...module_utils.logs.rows import StepBlock
    from .board import Board

_RETRY_SECONDS = 1.0
# Soon after the start there is news, if only that it was started.
_FIRST_WAIT_SECONDS = 2.0
# A restarted sshd answers again within this time.
SILENT_SECONDS = 7.0
# How long a node may take for its last answer after a peer has failed.
_LAST_WAIT_SECONDS = 1.0
_SAMPLE_SECONDS = 15.0
# A terminal shows a line every 3 s, and each answer takes 20 ms of a processor that belongs to the training.
_LONG_RUN_WAIT_SECONDS = 3.0
_LONG_RUN_WAIT_SHARE = 0.1
# Of the time that a run has been followed, until the next sample: there are 900 of a day, and 1300 of a week.
_SAMPLE_SHARE = 0.005
# The most that is kept of a node's log, some 600 MB, however long it grows.
_MOST_STEPS = 3_000_000
_MOST_OUTAGES = 100
# The values that go from the answer to the board unchanged; the last ones are in some answers only.
_KEPT = (
    *("status", "exit_status", "oom_killed", "log_bytes", "log_run_id", "starts", *SEEN),
    *("last_lines", *END, "ranks_seen", "recorded", "ras", "log_problem", "traffic", *CIRCUMSTANCES),
)


@dataclass(frozen=True)
class Patience:
    """How long, in seconds, a node may not answer (``lost``) and its log may be silent at most (``stall``).

    A multi-node run hangs when no node's log grows: a trainer may print the steps on one rank only, and the logs of the
    other nodes are silent. Once steps are known, their pace sets the limit (`silence.StepPace`). ``interval`` is how
    long a healthy node waits before it answers at first; it counts as ``silent`` if its answer is so much later.
    """

    interval: float
    lost: float
    stall: float
    silent: float = SILENT_SECONDS


def interval_for(node_count: int) -> float:
    """Return the seconds between two answers of a node: short enough to be live, longer with many nodes."""
    return max(1.0, node_count / 32)


def seconds_to_next_answer(interval: float, followed: float) -> float:
    """Return the seconds until the next answer of a node, for a run followed for that many seconds."""
    return max(interval, min(_LONG_RUN_WAIT_SECONDS, _LONG_RUN_WAIT_SHARE * followed))


def seconds_to_next_sample(followed: float) -> float:
    """Return the seconds until the next sample of the accelerators, for a run followed for that many seconds."""
    return max(_SAMPLE_SECONDS, _SAMPLE_SHARE * followed)


class Follower:
    """Follows the training of a node, and writes its steps and status to the board.

    ``ask`` sends the request of the phase ``follow`` and returns its answer. It raises `NodeError`, or
    `BadAnswerError`; after the latter the node is not asked again. If the node refuses to start, its `NodeError` is
    raised here too. In a multi-node run, the failure or stop of another node, reported by ``news``, ends the following
    too, after one more answer: this node waits for a peer that will not come back. If the run hangs, that answer shows
    what each rank is doing. A stop requested on the board ends it as well. A training that ``has_ended`` is not
    started, and its log is read to the end. Times on the board are seconds since the epoch by the controller's clock.

    A silent node is said to be so early, and given up late: a restarted sshd or a switch of the management network
    stops no training. It is given up after ``patience.lost``, or once a peer proves that it is gone: a peer that fails,
    or whose log says that it lost another process.
    """

    def __init__(
        self,
        ask: Callable[[PhaseNeeds], Followed],
        board: Board,
        plan: Plan,
        node: str,
        patience: Patience,
        news: News,
        *,
        has_ended: bool = False,
    ) -> None:
        self._ask, self._board, self._plan, self._node = ask, board, plan, node
        self._patience, self._news = patience, news
        self._cursor: Cursor | dict[str, t.Any] = {}
        self._failures = OpenFailures()
        self._pace = StepPace()
        self._steps = self._size = self._read = self._advances = 0
        self._last_step: int | None = None
        self._was_running = False
        self._is_started = self._has_ended = has_ended
        self._began = self._heard = self._asked_at = time.monotonic()
        self._ran_at = -math.inf
        self._sampled = self._peer_failed_at = -math.inf
        # The rest is shared with the thread that looks at silent nodes.
        self._lock = threading.Lock()
        self._waits, self._looks = _FIRST_WAIT_SECONDS, 0
        self._is_silent = self._is_over = False
        self._error: NodeError | None = None

    def follow(self) -> Status:
        """Start the training if it is not, and return the last status of the node."""
        try:
            return self._follow()
        finally:
            with self._lock:
                self._is_over = True

    def _follow(self) -> Status:
        while True:
            looks = self._news.hangs and not self._has_ended
            try:
                answer = self._asked(looks)
            except NodeError as error:
                if not self._is_started and not isinstance(error, (NodeLostError, BadAnswerError)):
                    self._news.note(failed=True)
                    self._board.update(self._node, unfit=not isinstance(error, NodeHeldError), **said_by(error))
                    raise
                given_up = self._lost(error)
                if given_up:
                    return given_up
                time.sleep(_RETRY_SECONDS)
                continue
            with self._lock:
                if self._is_over:
                    return self._board.status(self._node)
                self._note_heard()
                status = self._noted(answer)
            if status["status"] != "running" or self._has_diverged(answer):
                return status
            if self._board.stop_is_requested() and not self._has_ended:
                return self._board.update(self._node, interrupted=True)
            if looks and not self._has_ended:
                code = "run_silent" if self._plan["mode"] == "multi_node" else "log_silent"
                silence = said_of(problem(code, seconds=self._heard - self._news.grown))
                return self._given_up("stalled", silence, time.time())
            if self._peer_failed_at > 0 and not self._log_still_comes(answer):
                return status
            self._look_around()

    def give_up(self, error: NodeError) -> Status:
        """Return the last status of a node that nobody waits for."""
        with self._lock:
            return self._given_up_as_lost(error)

    def look(self) -> Status | None:
        """Note that a node is silent, and return its last status if nobody waits for it any longer.

        It is called once a second, while another thread follows the node, and counts its calls, so that the time while
        this process is suspended is left out.
        """
        with self._lock:
            self._looks += 1
            if self._is_over or not self._is_started or self._looks < self._waits + self._patience.silent:
                return None
            if not self._is_silent:
                self._is_silent = True
                self._board.update(self._node, silent_since=self._heard_at())
            if not self._error:
                # The connection stands, so the answer may only be slow. A hanging container engine has a longer limit.
                return None
            self._news.note_silence(self._node, silent=True)
            gives_up = self._news.failed or self._looks > self._patience.lost
            return self._given_up_as_lost(self._error) if gives_up else None

    def _given_up_as_lost(self, error: NodeError) -> Status:
        return self._given_up("unreachable", said_by(error), self._heard_at())

    def _heard_at(self) -> float:
        """Return when the node was heard last."""
        return time.time() - (time.monotonic() - self._heard)

    def _note_heard(self) -> None:
        """Note an answer, and how long there was none if the node was away."""
        now = time.monotonic()
        if self._error or self._is_silent:
            self._note_outage(now - self._heard)
        if self._is_silent:
            self._news.note_silence(self._node, silent=False)
            self._board.update(self._node, silent_since=None)
        self._heard, self._looks, self._error, self._is_silent = now, 0, None, False

    def _asked(self, looks: bool) -> Followed:
        """Return the next answer, which waits on the node for news unless a peer has failed."""
        followed = time.monotonic() - self._began
        wait = seconds_to_next_answer(self._patience.interval, followed)
        needs: PhaseNeeds = {"cursor": self._cursor, "wait_seconds": wait}
        if not self._is_started:
            needs["start"], needs["wait_seconds"] = True, _FIRST_WAIT_SECONDS
        if looks or self._peer_failed_at > 0:
            needs["wait_seconds"] = min(wait, _LAST_WAIT_SECONDS)
        samples = time.monotonic() - self._sampled > seconds_to_next_sample(followed)
        if samples:
            needs["sample"] = True
        if looks:
            needs["look_at_ranks"] = True
        asked_at = time.monotonic()
        self._waits = needs["wait_seconds"]
        answer = self._ask(needs)
        self._is_started, self._asked_at = True, asked_at
        self._sampled = time.monotonic() if samples else self._sampled
        self._cursor = answer["cursor"]
        return answer

    def _lost(self, error: NodeError) -> Status | None:
        """Return the last status of a node whose answer failed, or None if it is asked again."""
        with self._lock:
            if self._is_over:
                return self._board.status(self._node)
            self._error = error
            if isinstance(error, RunGoneError):
                return self._given_up("gone", said_by(error), time.time())
            if isinstance(error, BadAnswerError):
                return self._given_up("bad_answer", said_by(error), time.time())
            if time.monotonic() - self._heard > self._patience.lost or isinstance(error, NodeEndedError):
                return self._given_up_as_lost(error)
            return None

    def _has_diverged(self, answer: Followed) -> bool:
        """Return whether a loss in an answer stops the run, and let the others know."""
        what = _not_finite(answer["blocks"]) if self._plan.get("abort_on_nan") else None
        if what:
            self._news.note(failed=True)
            self._board.update(self._node, **said_of(what))
        return what is not None

    def _note_outage(self, seconds: float) -> None:
        """Note how long the node did not answer before it came back."""
        outages = self._board.status(self._node)["following"]["outages"]
        if len(outages) < _MOST_OUTAGES:
            outage: Outage = {"since": time.time() - seconds, "seconds": seconds}
            self._board.update(self._node, outages=[*outages, outage])

    def _noted(self, answer: Followed) -> Status:
        """Put an answer on the board, and return the node's status."""
        self._steps += sum(len(block["steps"]) for block in answer["blocks"])
        if self._steps > _MOST_STEPS:
            answer["blocks"] = []
            self._board.update(self._node, **said_of(problem("steps_not_kept", most=_MOST_STEPS)))
        interrupted = self._was_running and answer["status"] == "stopped"
        self._was_running = answer["status"] == "running"
        self._has_ended = self._has_ended or answer["has_ended"]
        failures = self._failures.add(answer["failures"], answer["survived"])
        status = self._put_on_board(answer, failures, interrupted)
        # A log that is longer than one answer is read for a while after it has grown.
        size, read = status["log"]["bytes"], answer["cursor"]["offset"]
        self._news.note(
            failed=has_failed(status) or status["status"] == "stopped" or self._proves_a_loss(failures),
            grown=self._heard if (size, read) != (self._size, self._read) else None,
            advanced=status["steps"]["last_step"] != self._last_step,
        )
        self._size, self._read, self._last_step = size, read, status["steps"]["last_step"]
        self._pace.add(answer["blocks"])
        pausing = answer.get("pausing", False)
        known = math.inf if self._has_ended else self._asked_at
        self._news.note_pace(self._node, self._pace.limit(self._patience.stall, pausing), pausing, known)
        return status

    def _proves_a_loss(self, failures: list[Failure]) -> bool:
        """Return whether the node's log says that another process is gone, while another node is silent."""
        return self._news.others_are_silent(self._node) and any(
            failure["echo"] and not is_warning(failure) for failure in failures
        )

    def _log_still_comes(self, answer: Followed) -> bool:
        """Return whether more of an ended training's log is to come, which may take several answers."""
        return answer["has_ended"] and self._heard < self._peer_failed_at + self._patience.lost

    def _look_around(self) -> None:
        """Take notice of the others, and let them know when the run hangs."""
        news = self._news
        if news.failed:
            # The cause may have been logged after the answer: read the rest of the log once more.
            self._peer_failed_at = self._heard if self._peer_failed_at < 0 else self._peer_failed_at
            return
        if news.advances != self._advances:
            self._advances = news.advances
            self._failures.advance()
        if news.is_silent(self._heard):
            news.note(failed=True, hangs=True)

    def _given_up(self, status: str, said: Said, ended_at: float) -> Status:
        self._is_over = True
        self._news.note(failed=True)
        return self._board.update(self._node, status=status, ended_at=ended_at, silent_since=None, **said)

    def _put_on_board(self, answer: Followed, failures: list[Failure], interrupted: bool) -> Status:
        """Put an answer on the board, its times turned to the controller's clock."""
        board, node = self._board, self._node
        blocks = answer["blocks"]
        board.append_steps(node, blocks)
        offset = time.time() - answer["now"]
        started_at, ended_at = (
            None if seconds is None else min(seconds + offset, time.time())
            for seconds in (answer["started_at"], answer["ended_at"])
        )
        if ended_at is not None:
            # Which node ended first is not for a node to say: when it ran last is known here.
            ended_at = max(ended_at, self._ran_at)
        if not answer["has_ended"]:
            self._ran_at = time.time() - (time.monotonic() - self._asked_at)
        # Kept once known: the offset is another one in every answer, and a run that has ended stays as it was.
        known = board.status(node)
        if known["status"] == answer["status"]:
            ended_at = known["process"]["ended_at"] or ended_at
        started_at = known["process"]["started_at"] or started_at
        more: dict[str, t.Any] = {}
        ran = answer.get("ran_seconds")
        if ran is not None and started_at is not None and ended_at is not None:
            # The node's clock may have been set back meanwhile.
            started_at = min(started_at, ended_at - ran)
        if answer["started_at"] is not None and answer["ended_at"] is not None:
            more["clock_seconds"] = answer["ended_at"] - answer["started_at"]
        if blocks:
            *_earlier, last = rows_of(blocks[-1:])
            more |= {
                "first_step": self._plan["first_step"],
                "last_step": last["step"],
                "steps_total": last["steps_total"],
                "metrics": last["metrics"],
                "last_step_at": time.time(),
            }
        if "traffic" in answer:
            more["traffic_step"] = more.get("last_step", known["steps"]["last_step"])
        board.append_readings(node, time.time(), answer.get("readings", []))
        return board.update(
            node,
            **{name: value for name, value in answer.items() if name in _KEPT},
            started_at=started_at,
            ended_at=ended_at,
            interrupted=interrupted or known["following"]["interrupted"],
            failures=failures,
            survived=self._failures.survived,
            began_anew=began_anew(answer["cursor"]),
            log_unread=max(0, answer["log_bytes"] - answer["cursor"]["offset"]),
            **more,
        )


def _not_finite(blocks: list[StepBlock]) -> Problem | None:
    """Return the first NaN or infinite loss of some steps; skipped steps have none."""
    for row in rows_of(blocks):
        found = row["metrics"]
        if found.get("skipped_iterations"):
            continue
        if not math.isfinite(found.get("loss", 0.0)):
            return problem("loss_not_finite", loss=str(found["loss"]), step=row["step"])
        if found.get("nan_iterations"):
            return problem("nan_iteration", step=row["step"])
    return None
