# SPDX-License-Identifier: GPL-3.0-or-later
"""Following a node of a run until there is nothing more to wait for, beside those who follow the others."""

from __future__ import annotations

import math
import threading
import time
import typing as t
from collections.abc import Callable
from dataclasses import dataclass

from ...module_utils.logs.grammar import began_anew
from ...module_utils.logs.rows import rows_of
from ...module_utils.node.run_state import CIRCUMSTANCES
from ..contracts import Failure, Plan, Status
from .answers import BadAnswerError
from .node_errors import NodeError
from .open_failures import OpenFailures
from .status import has_failed

if t.TYPE_CHECKING:
    from .board import Board

_RETRY_SECONDS = 1.0
# How long a node whose peer has failed may take to say what it has to say.
_LAST_WAIT_SECONDS = 1.0
# The most that is kept of a node, some 600 MB, whatever its log goes on to tell.
_MOST_STEPS = 3_000_000


@dataclass(frozen=True)
class Patience:
    """For how long, in seconds, a node may not answer (``lost``) and its log may not grow (``stall``).

    A multi-node run stalls when no node's log grows: as a trainer may print the steps on one rank only, the logs of
    the other nodes are silent. ``interval`` is how long a node may wait before it answers while all goes well.
    """

    interval: float
    lost: float
    stall: float


def interval_for(node_count: int) -> float:
    """Return the seconds between two answers of a node: few enough to be live, and kind to a controller of many."""
    return max(1.0, node_count / 32)


class News:
    """What the followers of a run's nodes tell each other, each of whom is a thread.

    In a multi-node run they share one: ``failed`` as soon as a node has failed or was stopped, ``grown`` when a log
    grew last (by the monotonic clock), and ``advances``, how often a node was seen to go on to another step.
    """

    def __init__(self) -> None:
        """Begin with nothing that failed."""
        self._lock = threading.Lock()
        self.failed = False
        self.grown = time.monotonic()
        self.advances = 0

    def note(self, failed: bool = False, grown: float | None = None, advanced: bool = False) -> None:
        """Tell what was seen of a node."""
        with self._lock:
            self.failed = self.failed or failed
            self.grown = max(self.grown, grown or self.grown)
            self.advances += advanced


def follow_node(
    ask: Callable[[dict[str, t.Any]], dict[str, t.Any]],
    board: Board,
    plan: Plan,
    node: str,
    patience: Patience,
    news: News,
) -> Status:
    """Write a node's steps and status to the board until its training ends, and return the last status.

    ``ask`` sends what the phase ``follow`` needs and returns its answer; it raises `NodeError`, and `BadAnswerError`,
    after which the node is not asked again. In a multi-node run the failure or the stop of another node, which ``news``
    tells, ends the following too, with one more answer: this node waits for a peer that will not come back. Times on
    the board are seconds since the epoch by the controller's clock.
    """

    def give_up(status: str, message: str, ended_at: float) -> Status:
        news.note(failed=True)
        return board.update(node, status=status, message=message, ended_at=ended_at)

    cursor: dict[str, t.Any] = {}
    failures = OpenFailures()
    heard = time.monotonic()
    size, last_step, advances = 0, None, 0
    was_running = peer_failed = False
    tells_until = math.inf
    steps = 0
    wait = patience.interval
    while True:
        try:
            answer = ask({"cursor": cursor, "wait_seconds": wait})
        except BadAnswerError as error:
            return give_up("unreachable", str(error), time.time())
        except NodeError as error:
            lost_for = time.monotonic() - heard
            if lost_for > patience.lost:
                return give_up("unreachable", str(error), time.time() - lost_for)
            time.sleep(_RETRY_SECONDS)
            continue
        heard = time.monotonic()
        cursor = answer["cursor"]
        steps += sum(len(block["steps"]) for block in answer["blocks"])
        if steps > _MOST_STEPS:
            answer["blocks"] = []
            board.update(node, message=f"its log tells more than {_MOST_STEPS} steps: the rest is not kept")
        interrupted = was_running and answer["status"] == "stopped"
        was_running = answer["status"] == "running"
        status = _note(board, plan["first_step"], node, answer, failures.add(answer["failures"]), interrupted)
        news.note(
            failed=has_failed(status) or status["status"] == "stopped",
            grown=heard if status["log_bytes"] != size else None,
            advanced=status.get("last_step") != last_step,
        )
        size, last_step = status["log_bytes"], status.get("last_step")
        # What has ended tells so with the rest of its log, which may take several answers.
        still_tells = answer["has_ended"] and heard < tells_until
        if status["status"] != "running" or (peer_failed and not still_tells):
            return status
        if news.failed:
            # The cause may have been written to this log after the answer: what there is now is read once more.
            peer_failed = True
            wait = min(wait, _LAST_WAIT_SECONDS)
            tells_until = min(tells_until, heard + patience.lost)
            continue
        if news.advances != advances:
            advances = news.advances
            failures.advance()
        if heard - news.grown > patience.stall:
            silence = f"{'no log of the run has' if plan['mode'] == 'multi_node' else 'its log has not'} grown"
            return give_up("stalled", f"{silence} for {patience.stall:g} s", time.time())


def _note(
    board: Board,
    first_step: int,
    node: str,
    answer: dict[str, t.Any],
    failures: list[Failure],
    interrupted: bool,
) -> Status:
    """Put an answer on the board, its times turned to the controller's clock."""
    blocks = answer["blocks"]
    board.append_steps(node, blocks)
    clock_offset = time.time() - answer["now"]
    times = {name: None if answer[name] is None else answer[name] + clock_offset for name in ("started_at", "ended_at")}
    # Kept once known: the offset is another one in every answer, and a run that has ended stays as it was.
    known = board.status(node)
    changes = {"started_at": known.get("started_at") or times["started_at"], "ended_at": times["ended_at"]}
    if known["status"] == answer["status"]:
        changes["ended_at"] = known.get("ended_at") or times["ended_at"]
    if blocks:
        *_earlier, last = rows_of(blocks[-1:])
        changes |= {
            "first_step": first_step,
            "last_step": last["step"],
            "steps_total": last["steps_total"],
            "metrics": last["metrics"],
        }
    changes |= {name: answer[name] for name in (*CIRCUMSTANCES, "last_lines", "failures_at_end") if answer.get(name)}
    return board.update(
        node,
        status=answer["status"],
        exit_status=answer["exit_status"],
        oom_killed=answer.get("oom_killed", False),
        interrupted=interrupted or known.get("interrupted", False),
        log_bytes=answer["log_bytes"],
        log_run_id=answer["log_run_id"],
        failures=failures,
        transports=answer["transports"],
        world_size=answer["world_size"],
        began_anew=began_anew(answer["cursor"]),
        **changes,
    )
