# SPDX-License-Identifier: GPL-3.0-or-later
"""The identity of a run. It is not the name, which another run may have had before.

It is the *nonce* of the run's folder on the controller, and a digest of each part of the node's plan. The node keeps
both with the run, and resumes the run only for a caller with the same two.
"""

from __future__ import annotations

import json
import time
import typing as t

from .phase import NodeHeldError
from .problems import problem

if t.TYPE_CHECKING:
    from .contracts import Identity, Request, State

# Used in place of a nonce to take up the run as it is on the nodes. A nonce that was only half written is empty, and
# takes up nothing.
ADOPTS = "adopt"
_DIGITS = 16


def identity_of(plan: t.Mapping[str, t.Any], node: t.Mapping[str, t.Any], nonce: str) -> Identity:
    """Return the identity of a run on one node of a plan."""
    import hashlib  # noqa: PLC0415 - takes a tenth of a phase to load, and few need it on a node

    parts = {**node, "container_engine": plan["container_engine"], "framework": plan["framework"]}
    texts = {name: json.dumps(value, sort_keys=True).encode() for name, value in parts.items()}
    return {"nonce": nonce, "plan": {name: hashlib.sha256(text).hexdigest()[:_DIGITS] for name, text in texts.items()}}


def is_same_run(nonce: str, kept: t.Mapping[str, t.Any]) -> bool:
    """Return whether the node's files belong to the run with a nonce, whatever its plan is."""
    return bool(nonce) and kept.get("nonce") == nonce


def is_identity(found: object) -> bool:
    """Return whether the content of a file is the identity of a run."""
    return isinstance(found, dict) and isinstance(found.get("nonce"), str) and isinstance(found.get("plan"), dict)


def another_run(request: Request, state: State) -> NodeHeldError | None:
    """Return how the node's run of this name differs from the requested one, and what to do.

    If the request adopts the run on the node, its plan has to be the same. If nothing was started yet, a new plan
    replaces it.
    """
    asked, kept = request["identity"], state["identity"]
    adopts = asked["nonce"] == ADOPTS
    is_same = adopts or is_same_run(asked["nonce"], kept)
    names = [*kept["plan"], *(name for name in asked["plan"] if name not in kept["plan"])]
    different = [name for name in names if kept["plan"].get(name) != asked["plan"].get(name)]
    if is_same and (not different or (state["status"] == "staged" and not adopts)):
        return None
    code = "plan_differs" if is_same else "other_run_and_plan" if different else "other_run"
    values = {"run_id": request["run_id"], "since": _since(state), "different": different}
    return NodeHeldError([request["run_id"]], state["status"] == "running", [problem(code, **values)])


def _since(state: State) -> str:
    if state["status"] == "staged":
        return "staged and not started"
    if state["status"] == "running" or not state.get("ended_at"):
        return f"started at {_utc(state['started_at'])}"
    return f"{state['status']} at {_utc(t.cast(float, state['ended_at']))}"


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
