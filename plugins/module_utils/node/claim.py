# SPDX-License-Identifier: GPL-3.0-or-later
"""One run at a time on a machine, whatever names inventories give it; several nodes of one run may be on it.

The *claim* says which run has staged its files where. It is given back when the run is stopped; one whose run has
ended, or whose folders are gone, does not block other runs. A claim is only a promise, so the processes on the machine
are checked too. A process that checks and then claims or starts holds the machine's lock meanwhile, so of two processes
exactly one comes first.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import typing as t
from collections.abc import Iterator

from .engines import Engine, NoContainer
from .files import read_json, write_json
from .identity import is_same_run
from .own_folders import private_folder
from .phase import NodeHeldError
from .problems import problem
from .run_state import read_state

if t.TYPE_CHECKING:
    from .contracts import Place

_LOCK_NAME = "machine.lock"
_CLAIM_NAME = "claim.json"


@contextlib.contextmanager
def machine_locked() -> Iterator[None]:
    """Keep every other process of this user from looking at the machine and taking it; waits for one that does."""
    path = os.path.join(str(private_folder()), _LOCK_NAME)
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def held_by_others(engine: Engine, run_id: str, nonce: str) -> NodeHeldError | None:
    """Return what keeps a run off the machine if another run holds it; the other run may have the same name."""
    engines: list[Engine] = [engine] if isinstance(engine, NoContainer) else [engine, NoContainer()]
    running = {one.holder(run_id) for one in engines} - {None}
    claim, was_started = claimed_by_other(run_id, nonce) or (None, False)
    holders = sorted(map(str, {claim, *running} - {None}))
    if not holders:
        return None
    held = [
        problem("held_by_same_name" if holder == run_id else "held", holder=holder, quoted=shlex.quote(holder))
        for holder in holders
    ]
    return NodeHeldError(holders, was_started or bool(running), held)


def claimed_by_other(run_id: str, nonce: str) -> tuple[str, bool] | None:
    """Return the run_id of another run that has claimed the machine and has not ended, and whether it was started."""
    claim = _read()
    if claim is None or _is_of(claim, run_id, nonce):
        return None
    for node, run_folder in claim["nodes"].items():
        with contextlib.suppress(OSError, ValueError):
            state = read_state({"node": node, "run_folder": run_folder}, claim["run_id"])
            if state and state["status"] in ("staged", "running"):
                return str(claim["run_id"]), state["status"] == "running"
    return None


def _is_of(claim: t.Mapping[str, t.Any], run_id: str, nonce: str) -> bool:
    return claim["run_id"] == run_id and is_same_run(nonce, claim)


def take(node: Place, run_id: str, nonce: str) -> None:
    """Note that a node of a run is on this machine, replacing another run's claim."""
    claim = _read()
    nodes = claim["nodes"] if claim and _is_of(claim, run_id, nonce) else {}
    _write({"run_id": run_id, "nonce": nonce, "nodes": {**nodes, node["node"]: node["run_folder"]}})


def give_back(node: Place, run_id: str, nonce: str) -> None:
    """Note that a node of a run is no longer on this machine."""
    claim = _read()
    if claim and _is_of(claim, run_id, nonce) and claim["nodes"].pop(node["node"], None):
        # If the disk is full the claim stays, and does not block other runs.
        with contextlib.suppress(OSError):
            _write(claim)


def _read() -> dict[str, t.Any] | None:
    folder = private_folder(make=False)
    return read_json(os.path.join(folder, _CLAIM_NAME)) if folder else None


def _write(claim: dict[str, t.Any]) -> None:
    write_json(os.path.join(str(private_folder()), _CLAIM_NAME), claim, 0o600)
