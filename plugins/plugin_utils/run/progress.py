# SPDX-License-Identifier: GPL-3.0-or-later
"""Live progress of a run: one line that says where it is, read from the run's folder."""

from __future__ import annotations

import math
import threading
import time
import typing as t
from collections.abc import Callable

from ..contracts import Plan, Status
from .board import Board
from .status import has_failed

if t.TYPE_CHECKING:
    from pathlib import Path

_SHORTEST_INTERVAL = 0.25
# A step is missing after so many times its length, and at least so many seconds.
_MISSED_STEPS = 3
_NOTED_SILENCE = 10.0
_LONG_SILENCE = 120.0


def progress_line(plan: Plan, statuses: list[Status], now: float) -> str:
    """Return where a run is: steps, last step's time, tokens/s/GPU, loss, time left, and what is wrong.

    The node that is furthest behind among those whose log shows steps stands for the run. ``now`` is in seconds since
    the epoch, as the statuses' times are.
    """
    telling = [status for status in statuses if status.get("last_step") is not None]
    running = sum(status["status"] == "running" for status in statuses)
    wrong = [_of_failed(status) for status in statuses if has_failed(status)]
    parts = [f"REHEARSAL {plan['run_id']}" if plan.get("rehearsal") else plan["run_id"]]
    if telling:
        parts += _of_node(plan, min(telling, key=lambda status: status["last_step"] or 0))
        wrong = [*_of_silence(telling, now), *wrong] if running else wrong
    else:
        started = [began for status in statuses if (began := status.get("started_at"))]
        parts.append(f"no step yet after {_duration(now - min(started))}" if started else "starting")
    if running < len(statuses):
        parts.append(f"{running} of {len(statuses)} nodes running")
    return "  ".join([*parts, *(f"!! {node}" for node in wrong)])


def _of_failed(status: Status) -> str:
    exit_status = f" {status.get('exit_status')}" if status["status"] == "exited" else ""
    return f"{status['node']} {status['status']}{exit_status}"


def _of_silence(telling: list[Status], now: float) -> list[str]:
    """Return for how long no step came on any node, once one is missing, in numbers that do not change all the time."""
    last = max(telling, key=lambda status: status.get("last_step_at", 0.0))
    silent = now - last.get("last_step_at", now)
    if silent < max(_NOTED_SILENCE, _MISSED_STEPS * (last["metrics"].get("step_time_ms") or 0.0) / 1000):
        return []
    return [f"no step for {silent - silent % (10 if silent < _LONG_SILENCE else 60):.0f} s"]


def _of_node(plan: Plan, status: Status) -> list[str]:
    iterations = plan["parameters"]["iterations"] or 0
    metrics = status["metrics"]
    # A trainer that counts from 0 has done one step more than the number of its last one.
    done = (status["last_step"] or 0) - plan["first_step"] + 1
    parts = [f"step {done:>{len(str(iterations))}}/{iterations}"]
    step_time = metrics.get("step_time_ms")
    if step_time is not None:
        parts.append(f"{step_time:,.1f} ms/step")
    if "tokens_per_sec_per_gpu" in metrics:
        parts.append(f"{metrics['tokens_per_sec_per_gpu']:,.0f} tokens/s/GPU")
    if "loss" in metrics:
        parts.append(f"loss {metrics['loss']:.4f}")
    if step_time is not None and done < iterations:
        parts.append(f"{_duration((iterations - done) * step_time / 1000)} left")
    return parts


def _duration(seconds: float) -> str:
    if not math.isfinite(seconds) or seconds < 0:
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class ProgressReader:
    """Reports a run's progress from a thread of its own, at most one line an interval, until it is ended.

    A folder that holds no run has nothing to say.
    """

    def __init__(self, run_dir: str | Path, interval: float, tell: Callable[[str], t.Any]) -> None:
        """Read the run in a folder; ``tell`` is given each line, ``interval`` is in seconds."""
        self._board = Board(run_dir)
        self._interval = max(interval, _SHORTEST_INTERVAL)
        self._tell = tell
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._read, name="training progress", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def end(self) -> None:
        """Report what is new, once more, and end."""
        self._ended.set()
        self._thread.join()

    def _read(self) -> None:
        try:
            plan = self._board.plan()
        except ValueError:
            return
        shown = ""
        ended = False
        while not ended:
            ended = self._ended.wait(self._interval)
            statuses = [self._board.status(node["node"]) for node in plan["nodes"]]
            line = progress_line(plan, statuses, time.time())
            if line != shown:
                self._tell(line)
                shown = line
