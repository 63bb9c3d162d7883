# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for the output of a training, and for its end."""

from __future__ import annotations

import os
import re
import time
import typing as t
from functools import partial

from ..launch import run_of_log
from ..phase import Answer, NodeError, RunGoneError
from ..problems import problem
from ..processes import is_running
from ..rdma_traffic import traffic_since
from ..run_state import CIRCUMSTANCES, STATE_NAME, read_state

if t.TYPE_CHECKING:
    from ..contracts import Request, State

_POLL_SECONDS = 0.1
# The state says also that somebody wants a stop, or removed the run's folder.
_LOOK_SECONDS = 1.0
# Looking at ranks has limits of its own, which are shorter.
_LOOK_AT_RANKS = 20.0
# The most that is read of a log for one answer.
_READ_BYTES = 8 << 20
# These come from all nodes of a run at the same moment.
_SMALL_LOG_BYTES = 128 << 10
# The lines that a trainer prints before it is silent for a while, with good reason.
_PAUSE = re.compile("checkpoint|ckpt|compil|evaluat|validat", re.IGNORECASE)
_PAUSE_LINES = 2


def follow(request: Request) -> Answer:
    """Wait until the training ends, at most ``wait_seconds``, and return the content of the log since ``cursor``.

    With ``start`` a staged training is started first; ``changed`` says whether it was. With ``sample``, and at the end
    of a training, the answer also has ``readings`` of the accelerators and ``traffic``, the bytes that the RDMA ports
    moved since the start; with ``look_at_ranks`` the state of each rank. With this, and if a training has failed,
    ``recorded`` has the dumps of the flight recorder, and ``ras`` NCCL's report on the whole job. ``pausing`` says
    whether the trainer compiles, evaluates or writes a checkpoint, judged by its last lines. With
    ``finish_grace_seconds``, if the training has ended with exit status 0 and a small log, ``finished`` has the answer
    of `stop` with the log, unless it is a warning: this saves a round trip.
    """
    changed = False
    if request.get("start"):
        from .start import start  # noqa: PLC0415

        changed = start(request)["changed"]
    deadline = time.monotonic() + request["wait_seconds"]
    state = _state_of(request)
    while state["status"] == "running" and time.monotonic() < deadline:
        look = min(deadline, time.monotonic() + _LOOK_SECONDS)
        while is_running(state["handle"]) and time.monotonic() < look:
            time.sleep(_POLL_SECONDS)
        state = _state_of(request)
    # The log reader takes longer to load than the starter of a training, and the later it begins, the more it has to
    # read.
    from ...logs.ending import end_of_training  # noqa: PLC0415
    from ...logs.reader import read_log, tail  # noqa: PLC0415

    log_file = request["node"]["log_file"]
    log_bytes = os.path.getsize(log_file) if os.path.exists(log_file) else 0
    news = read_log(
        log_file,
        request["framework"],
        request["cursor"],
        final=state["status"] != "running",
        max_bytes=_READ_BYTES,
        tokens_per_step_per_gpu=request["tokens_per_step_per_gpu"],
        tokens_per_sequence_per_gpu=request["tokens_per_sequence_per_gpu"],
        failures="open",
    )
    has_ended = state["status"] != "running"
    if has_ended and news["cursor"]["offset"] < log_bytes:
        # The log did not fit one answer: the end follows with the rest of it.
        state = {**state, "status": "running", "exit_status": None, "ended_at": None}
    answer: Answer = {
        "changed": changed,
        "status": state["status"],
        "has_ended": has_ended,
        "exit_status": state.get("exit_status"),
        "oom_killed": state.get("oom_killed", False),
        "started_at": state.get("started_at"),
        "ended_at": state.get("ended_at"),
        "now": time.time(),
        "log_bytes": log_bytes,
        "log_run_id": run_of_log(log_file),
    }
    log_problem = _log_problem(log_file, request["cursor"].get("offset", 0), log_bytes)
    if log_problem:
        answer["log_problem"] = log_problem
    last_lines = tail(log_file)
    answer["pausing"] = any(_PAUSE.search(line) for line in last_lines[-_PAUSE_LINES:])
    if request.get("sample") or state["status"] == "exited":
        from ..inspection.sensors import readings  # noqa: PLC0415

        answer["readings"] = readings()
        traffic = state.get("traffic") if has_ended else traffic_since(state["before"])
        if traffic:
            answer["traffic"] = traffic
    if request.get("look_at_ranks"):
        answer.update(last_lines=last_lines, **_looked(request, has_ended))
    elif state["status"] == "exited" and state.get("exit_status") != 0:
        from ..flight_recorder import recorded_here  # noqa: PLC0415

        recorded = recorded_here(request["node"], ask=False)
        answer.update({"recorded": recorded} if recorded else {})
    if state["status"] != "running":
        answer.update({name: value for name, value in state.items() if name in CIRCUMSTANCES and value})
        answer["last_lines"] = last_lines
        answer.update(end_of_training(log_file, request["framework"]))
        if "finish_grace_seconds" in request and state.get("exit_status") == 0 and log_bytes <= _SMALL_LOG_BYTES:
            answer.update(_finished(request))
    answer.update({name: said for name, said in news.items() if name != "rows"})
    return dict(answer, blocks=news["rows"].blocks())


def _looked(request: Request, has_ended: bool) -> Answer:
    """Return the state of each rank from all sources, asked at the same time; one node asks for the whole job."""
    from ..flight_recorder import recorded_here  # noqa: PLC0415
    from ..hang import ranks_here  # noqa: PLC0415
    from ..inspection.tools import ToolError, together  # noqa: PLC0415
    from ..nccl_ras import ras_here  # noqa: PLC0415

    node = request["node"]
    looks: dict[str, t.Callable[[], t.Any]] = {
        "ranks_seen": partial(ranks_here, request["run_id"], node["node"]),
        "recorded": partial(recorded_here, node, ask=not has_ended),
    }
    if node["node_rank"] == 0:
        looks["ras"] = partial(ras_here, node["env"])
    found = together(looks, _LOOK_AT_RANKS)
    known = {name: [] if isinstance(seen, ToolError) else seen for name, seen in found.items()}
    return {name: seen for name, seen in known.items() if seen or name == "ranks_seen"}


def _finished(request: Request) -> Answer:
    """Return the answer of `stop` as ``finished``; nothing if it contains something to report."""
    from .stop import stop  # noqa: PLC0415

    try:
        finished = stop({**request, "grace_seconds": request["finish_grace_seconds"], "with_log": True})
    except (NodeError, OSError, ValueError):
        return {}
    return {} if finished["warnings"] or "log" not in finished else {"finished": finished}


def _state_of(request: Request) -> State:
    node = request["node"]
    state = read_state(node, request["run_id"])
    if state is None:
        folder = node["run_folder"]
        if os.path.isdir(folder):
            raise RunGoneError(problems=[problem("state_gone", path=f"{folder}/{STATE_NAME}")])
        raise RunGoneError(problems=[problem("run_folder_gone", path=folder)])
    return state


def _log_problem(log_file: str, read: int, log_bytes: int) -> str | None:
    """Return what happened to a log that is now shorter than the ``read`` bytes."""
    if log_bytes >= read:
        return None
    if not os.path.exists(log_file):
        return f"{log_file} was moved or removed while the training was writing it"
    return f"{log_file} was truncated or replaced: it has {log_bytes} bytes, but {read} had been read"
