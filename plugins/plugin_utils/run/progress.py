# SPDX-License-Identifier: GPL-3.0-or-later
"""Live progress of a run: its name, and then one line after another that says where it is, from the run's folder."""

from __future__ import annotations

import math
import statistics
import threading
import time
import typing as t
from collections.abc import Callable

from ..contracts import Plan, Status, Steps
from ..text.words import all_of, counted
from .board import Board
from .status import has_failed

if t.TYPE_CHECKING:
    from pathlib import Path

_SHORTEST_INTERVAL = 0.25
# A step is missing after so many times its length, and at least so many seconds.
_MISSED_STEPS = 3
_NOTED_SILENCE = 10.0
_LONG_SILENCE = 120.0
# Less than this is read within a second. The rest of a log is shown in steps of so many MB.
_LEAST_UNREAD, _UNREAD_MB = 10_000_000, 100
# A node is slow while its steps take this much longer than most nodes', among at least so many nodes.
_SLOWER, _LEAST_TO_COMPARE = 1.03, 3


class Progress(t.NamedTuple):
    """A run's progress: its ``course``, that is its step and figures, and the ``state`` of its nodes, if any ended."""

    course: str
    state: str = ""

    def line(self, told: str = "") -> str:
        """Return both as a line; a course that was ``told`` already is not repeated before a state."""
        shown = (self.course if self.course != told or not self.state else "", self.state)
        return "  ".join(filter(None, shown))


def progress_of(plan: Plan, statuses: list[Status], now: float) -> Progress:
    """Return a run's progress: steps, last step's time, tokens/s per GPU, loss, time left, or the problem.

    In one job, the node that is furthest behind, among nodes whose log shows steps, stands for the run. If each node
    trains by itself, the nodes are counted by their states. ``now`` is in seconds since the epoch, like the statuses'
    times.
    """
    telling = [status["steps"] for status in statuses if status["steps"]["last_step"] is not None]
    running = [status for status in statuses if status["status"] == "running"]
    if not telling:
        started = [began for status in statuses if (began := status["process"]["started_at"])]
        parts = [f"no step yet after {_duration(now - min(started))}" if started else "starting"]
    elif plan.get("mode") == "single_node" and len(statuses) > 1:
        return Progress("  ".join([*_of_nodes_by_themselves(plan, statuses), *_of_silent_nodes(running, now)]))
    else:
        silence = _of_silence(telling, now) if running else ""
        moving = not silence and not any(map(has_failed, statuses))
        # How far a node is that does not answer is not known.
        heard = [
            status["steps"]
            for status in statuses
            if status["steps"]["last_step"] is not None and not status["following"]["silent_since"]
        ]
        parts = _of_node(plan, min(heard or telling, key=lambda steps: steps["last_step"] or 0), moving=moving)
        parts += [_of_reading(running) or f"!! {silence}"] if silence else []
    found = [] if len(running) == len(statuses) else [_of_running(statuses, len(running))]
    found += [*_of_network(plan, statuses), *_of_failed(statuses), *_of_silent_nodes(running, now)]
    return Progress("  ".join(parts), "  ".join(found))


def _of_running(statuses: list[Status], running: int) -> str:
    if all(status["status"] == "exited" and not has_failed(status) for status in statuses):
        return all_of(len(statuses), "node").lower() + " done"
    return f"{running} of {counted(len(statuses), 'node')} running"


def _of_network(plan: Plan, statuses: list[Status]) -> list[str]:
    """Return which nodes do not use the RDMA that the plan requires, by NCCL's own lines or by their idle ports."""
    if not any(status["trainer"]["transports"] or status["machine"]["traffic_step"] for status in statuses):
        return []
    # As for `_folded`.
    from ..plan.job.rdma import TCP, requires_rdma, sent_by_device  # noqa: PLC0415

    if not requires_rdma(plan):
        return []
    over_tcp = [status["node"] for status in statuses if TCP in status["trainer"]["transports"]]
    parts_of = {node["node"]: node for node in plan["nodes"]}
    idle = []
    for status in statuses:
        machine, node = status["machine"], status["node"]
        # The counters may lag behind the first step.
        if not status["trainer"]["transports"] and (machine["traffic_step"] or 0) > plan["first_step"]:
            sent = sent_by_device(parts_of[node], machine["traffic"])
            idle += [node] if sent and not any(sent.values()) else []
    parts = [f"!! TCP, not RDMA, on {_folded(over_tcp)}"] if over_tcp else []
    return [*parts, *([f"!! no RDMA traffic on {_folded(idle)}"] if idle else [])]


def _of_failed(statuses: list[Status]) -> list[str]:
    """Return which nodes failed, those that failed alike together."""
    alike: dict[str, list[str]] = {}
    for status in filter(has_failed, statuses):
        exit_status = f" {status['process']['exit_status']}" if status["status"] == "exited" else ""
        alike.setdefault(f"{status['status']}{exit_status}", []).append(status["node"])
    return [f"!! {_folded(nodes)} {how}" for how, nodes in alike.items()]


def _of_silent_nodes(running: list[Status], now: float) -> list[str]:
    """Return which nodes do not answer, and for how long the first of them."""
    since = {status["node"]: began for status in running if (began := status["following"]["silent_since"])}
    return [f"!! {_folded(list(since))} silent for {_rounded(now - min(since.values())):.0f} s"] if since else []


def _rounded(silent: float) -> float:
    """Return seconds of silence as a number that does not change all the time."""
    return silent - silent % (10 if silent < _LONG_SILENCE else 60) if silent > _NOTED_SILENCE else silent


def _folded(nodes: list[str]) -> str:
    # It needs packages that Ansible itself does not have; where a run is followed, they are installed.
    from ..text.nodes import folded  # noqa: PLC0415

    return folded(nodes)


def _of_silence(telling: list[Steps], now: float) -> str:
    """Return for how long no step came on any node, once one is missing, in numbers that do not change all the time."""
    last = max(telling, key=lambda steps: steps["last_step_at"] or 0.0)
    silent = now - (last["last_step_at"] or now)
    if silent < max(_NOTED_SILENCE, _MISSED_STEPS * (last["metrics"].get("step_time_ms") or 0.0) / 1000):
        return ""
    return f"no step for {_rounded(silent):.0f} s"


def _of_reading(running: list[Status]) -> str:
    """Return which node's log has most left to read, if it is so much that its next step may be there."""
    behind = max(running, key=lambda status: status["log"]["unread"])
    unread = behind["log"]["unread"]
    left = math.ceil(unread / 1e6 / _UNREAD_MB) * _UNREAD_MB
    return f"reading {left:,} MB of {behind['node']}'s log" if unread >= _LEAST_UNREAD else ""


def _of_node(plan: Plan, steps: Steps, *, moving: bool) -> list[str]:
    """Return the step of a node, and while the run is ``moving`` its figures and the time left."""
    iterations = plan["parameters"]["iterations"] or 0
    done = _steps_done(plan, steps)
    parts = [f"step {done:>{len(str(iterations))}}/{iterations}"]
    if not moving:
        return parts
    metrics = steps["metrics"]
    step_time = metrics.get("step_time_ms")
    if step_time is not None:
        parts.append(f"{step_time:,.1f} ms")
    if "tokens_per_sec_per_gpu" in metrics:
        parts.append(f"{metrics['tokens_per_sec_per_gpu']:,.0f} tokens/s per GPU")
    if "loss" in metrics:
        parts.append(f"loss {metrics['loss']:#.4g}")
    if step_time is not None and done < iterations:
        parts.append(f"{_duration((iterations - done) * step_time / 1000)} left")
    return parts


def _steps_done(plan: Plan, steps: Steps) -> int:
    # A trainer that counts from 0 has done one step more than the number of its last one.
    last = steps["last_step"]
    return 0 if last is None else last - plan["first_step"] + 1


def _of_nodes_by_themselves(plan: Plan, statuses: list[Status]) -> list[str]:
    """Return how many nodes run and at which step, how many are done, and which failed or are slow."""
    iterations = plan["parameters"]["iterations"] or 0
    running = [status for status in statuses if status["status"] == "running"]
    slow = _slow(plan, running)
    failed = [status for status in statuses if has_failed(status)]
    steady = [status for status in running if status not in slow]
    done = len(statuses) - len(running) - len(failed)
    parts = []
    if steady:
        at = statistics.median_low(_steps_done(plan, status["steps"]) for status in steady)
        parts.append(f"{len(steady)} running at step {at}/{iterations}")
        speeds = [found for status in steady if (found := status["steps"]["metrics"].get("tokens_per_sec_per_gpu"))]
        parts += [f"{statistics.median(speeds):,.0f} tokens/s per GPU"] if speeds else []
    parts += [f"{done} done"] if done and len(failed) + done == len(statuses) else []
    parts += [f"{done} not running"] if done and len(failed) + done != len(statuses) else []
    parts += [f"{len(failed)} failed ({_folded([status['node'] for status in failed])})"] if failed else []
    parts += [f"{len(slow)} slow ({', '.join(_behind(plan, status) for status in slow)})"] if slow else []
    return parts


def _slow(plan: Plan, running: list[Status]) -> list[Status]:
    """Return the nodes that are behind and whose last step took longer than most nodes'."""
    times = [found for status in running if (found := status["steps"]["metrics"].get("step_time_ms"))]
    if len(times) < _LEAST_TO_COMPARE:
        return []
    step_time = statistics.median(times)
    step = statistics.median(_steps_done(plan, status["steps"]) for status in running)
    return [
        status
        for status in running
        if (status["steps"]["metrics"].get("step_time_ms") or 0.0) > _SLOWER * step_time
        and _steps_done(plan, status["steps"]) < step / _SLOWER
    ]


def _behind(plan: Plan, status: Status) -> str:
    return f"{status['node']} at step {_steps_done(plan, status['steps'])}"


def _duration(seconds: float) -> str:
    if not math.isfinite(seconds) or seconds < 0:
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class ProgressReader:
    """Reports a run's progress from a thread of its own, at most one line an interval, until it is ended.

    A folder without a run has nothing to report.
    """

    def __init__(self, run_dir: str | Path, interval: float, tell: Callable[[str], t.Any], place: str = "") -> None:
        """Read the run in a folder; ``tell`` receives each line, ``interval`` is in seconds.

        ``place`` is the run's place among others, such as ``cell 3 of 6``.
        """
        self._board = Board(run_dir)
        self._interval = max(interval, _SHORTEST_INTERVAL)
        self._tell = tell
        self._place = f" ({place})" if place else ""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._read, name="training progress", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def end(self) -> None:
        """Report the latest news once more, and end."""
        self._ended.set()
        self._thread.join()

    def _read(self) -> None:
        try:
            plan = self._board.plan()
        except ValueError:
            return
        self._tell(f"{'REHEARSAL ' if plan.get('rehearsal') else ''}Run {plan['run_id']}{self._place}")
        shown = Progress("")
        ended = False
        while not ended:
            ended = self._ended.wait(self._interval)
            statuses = [self._board.status(node["node"]) for node in plan["nodes"]]
            progress = progress_of(plan, statuses, time.time())
            if progress != shown:
                self._tell(progress.line(shown.course))
                shown = progress
