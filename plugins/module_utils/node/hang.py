# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a run's ranks on a node while none makes progress: state, load and stack of each process."""

from __future__ import annotations

import os
import re
import time
import typing as t
from functools import partial

from .inspection.files import fields, text
from .inspection.tools import ToolError, run_tool, together
from .processes import members, start_time, stat_fields

if t.TYPE_CHECKING:
    from .contracts import RankSeen

# The variables with a process's global rank: torchrun's, then the launch script's for one process per node.
_RANKS = ("RANK", "JAX_PROCESS_ID", "NODE_RANK")
_LOCAL_RANK = "LOCAL_RANK"
_MOST = 64
_WATCHED_SECONDS = 1.0
_STACK_SECONDS = 10.0
_STACK_FRAMES = 12
_CHARACTERS = 200
# "    all_reduce (torch/distributed/distributed_c10d.py:2501)"
_FRAME = re.compile(r"^ {4}(\S.*)$", re.MULTILINE)
_MAIN_THREAD = re.compile(r'^Thread [^\n]*"MainThread"\n((?: {4}[^\n]*\n)+)', re.MULTILINE)


class _Local(t.TypedDict, total=False):
    local_rank: int


def ranks_here(run_id: str, node: str) -> list[RankSeen]:
    """Return the state of each rank of a run on this node, at most 64 of them, in their order.

    ``rank`` is the global one, ``local_rank`` the one within the node, if the launcher sets it. ``state`` is the
    kernel's letter (R, S, D, T …), ``waits_in`` the function of the kernel that the process sleeps in, or None,
    ``busy`` the share of one processor that it used during a second. ``stack`` has the innermost frames of its main
    thread as py-spy prints them; None if py-spy is missing or not allowed to look.
    """
    found = sorted(_ranks(run_id, node).items())[:_MOST]
    before = [_ticks(pid) for _rank, (pid, _local) in found]
    time.sleep(_WATCHED_SECONDS)
    busy = [(_ticks(pid) - ticks) / os.sysconf("SC_CLK_TCK") for (_rank, (pid, _local)), ticks in zip(found, before)]
    stacks = together({str(pid): partial(_stack_of, pid) for _rank, (pid, _local) in found}, _STACK_SECONDS)
    return [
        {
            "rank": rank,
            **local,
            "state": (stat_fields(pid) or ["?"])[0],
            "waits_in": (text("/", f"/proc/{pid}/wchan") or "").strip("0\n") or None,
            "busy": round(used / _WATCHED_SECONDS, 2),
            "stack": None if isinstance(stacks[str(pid)], ToolError) else stacks[str(pid)],
        }
        for (rank, (pid, local)), used in zip(found, busy)
    ]


def _ranks(run_id: str, node: str) -> dict[int, tuple[int, _Local]]:
    """Return the process and the place of each rank: the oldest process, because the data workers inherit the rank."""
    environments = {
        pid: fields((text("/", f"/proc/{pid}/environ") or "").replace("\0", "\n"), "=")
        for pid in members(run_id, node)
        if "python" in (text("/", f"/proc/{pid}/cmdline") or "").partition("\0")[0]
    }
    for variable in _RANKS:
        ranks = {pid: env[variable] for pid, env in environments.items() if env.get(variable, "").isdigit()}
        if ranks:
            oldest_last = sorted(ranks, key=lambda pid: (int(start_time(pid) or 0), pid), reverse=True)
            return {int(ranks[pid]): (pid, _local(environments[pid])) for pid in oldest_last}
    return {}


def _local(environment: dict[str, str]) -> _Local:
    given = environment.get(_LOCAL_RANK, "")
    return {"local_rank": int(given)} if given.isdigit() else {}


def _ticks(pid: int) -> int:
    stat = stat_fields(pid)
    return int(stat[11]) + int(stat[12]) if stat else 0


def _stack_of(pid: int) -> list[str]:
    output = run_tool(["py-spy", "dump", "--nonblocking", "--pid", str(pid)], _STACK_SECONDS)[0]
    main_thread = _MAIN_THREAD.search(f"{output}\n")
    frames = _FRAME.findall(main_thread.group(1) if main_thread else output)
    return [frame[:_CHARACTERS] for frame in frames[:_STACK_FRAMES]]
