# SPDX-License-Identifier: GPL-3.0-or-later
"""Following one node of a run until there is nothing more to wait for."""

from __future__ import annotations

import math
import time
import typing as t
from collections.abc import Callable
from dataclasses import dataclass

from ...module_utils.logs.grammar import began_anew
from ...module_utils.logs.rows import rows_of
from ..contracts import Failure, Plan, Status
from .answers import BadAnswerError
from .open_failures import OpenFailures
from .status import has_failed

if t.TYPE_CHECKING:
    from .board import Board

_RETRY_SECONDS = 1.0
# The most that is kept of a node, some 600 MB, whatever its log goes on to tell.
_MOST_STEPS = 3_000_000


class NodeLostError(Exception):
    """A node does not answer."""


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


def follow_node(
    ask: Callable[[dict[str, t.Any]], dict[str, t.Any]],
    board: Board,
    plan: Plan,
    node: str,
    patience: Patience,
) -> Status:
    """Write a node's steps and status to the board until its training ends, and return the last status.

    ``ask`` sends what the phase ``follow`` needs and returns its answer; it raises `NodeLostError`, and
    `BadAnswerError`, after which the node is not asked again. In a multi-node run the failure or the stop of another
    node ends the following too, with one more answer: this node waits for a peer that will not come back. Times on the
    board are seconds since the epoch by the controller's clock.
    """
    peers = [other["node"] for other in plan["nodes"] if other["node"] != node and plan["mode"] == "multi_node"]
    cursor: dict[str, t.Any] = {}
    failures = OpenFailures()
    heard = grown = time.monotonic()
    sizes = [0] * (1 + len(peers))
    last_steps: list[int | None] = [None] * (1 + len(peers))
    was_running = peer_failed = False
    tells_until = math.inf
    steps = 0
    while True:
        try:
            answer = ask({"cursor": cursor, "wait_seconds": patience.interval})
        except BadAnswerError as error:
            return board.update(node, status="unreachable", message=str(error), ended_at=time.time())
        except NodeLostError as error:
            lost_for = time.monotonic() - heard
            if lost_for > patience.lost:
                return board.update(node, status="unreachable", message=str(error), ended_at=time.time() - lost_for)
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
        # What has ended tells so with the rest of its log, which may take several answers.
        still_tells = answer["has_ended"] and heard < tells_until
        if status["status"] != "running" or (peer_failed and not still_tells):
            return status
        run = [status, *(board.status(peer) for peer in peers)]
        if any(has_failed(seen) or seen["status"] == "stopped" for seen in run[1:]):
            # The cause may have been written to this log after the answer: what there is now is read once more.
            peer_failed = True
            tells_until = min(tells_until, heard + patience.lost)
            continue
        last_steps_before, last_steps = last_steps, [seen.get("last_step") for seen in run]
        if last_steps != last_steps_before:
            failures.advance()
        sizes_before, sizes = sizes, [seen.get("log_bytes", 0) for seen in run]
        if sizes != sizes_before:
            grown = heard
        elif heard - grown > patience.stall:
            silence = f"{'no log of the run has' if peers else 'its log has not'} grown for {patience.stall:g} s"
            return board.update(node, status="stalled", message=silence, ended_at=time.time())


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
    changes |= {name: answer[name] for name in ("last_lines", "failures_at_end") if name in answer}
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
        settings=answer["settings"],
        signs=answer["signs"],
        ranks=answer["ranks"],
        conflicts=answer["conflicts"],
        began_anew=began_anew(answer["cursor"]),
        **changes,
    )
