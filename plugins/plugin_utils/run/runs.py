# SPDX-License-Identifier: GPL-3.0-or-later
"""The runs in a folder of the controller: which there are, how one is made or found, and how plans differ."""

from __future__ import annotations

import json
import os
import typing as t
from collections.abc import Mapping
from pathlib import Path

from ...module_utils.node.identity import ADOPTS
from ..contracts import Plan
from .board import PLAN_NAME, Board

_SHOWN = 5


def known_runs(output_dir: str | Path) -> list[str]:
    """Return the run_ids in a folder of runs, the one that was begun last at the end."""
    plans = Path(output_dir).glob(f"*/{PLAN_NAME}")
    return [path.parent.name for path in sorted(plans, key=lambda path: path.stat().st_mtime)]


def open_run(run_dir: str, plan: Plan, known_dir: str, *, adopts: bool) -> str:
    """Write a plan to the folder of its run, unless it is there, and return a message about that, or nothing.

    ``known_dir`` is where a run of this name would be; the two differ in check mode. ``adopts`` takes up the run that
    is on the nodes. ValueError if the folder has another run or cannot adopt one, OSError if it cannot be written.
    """
    if adopts and "slurm" in plan:
        raise ValueError(f"Run {plan['run_id']} is a job of Slurm, which only its own folder follows.")
    board, known = Board(run_dir), Board(known_dir)
    try:
        board.write_plan(plan)
    except FileExistsError:
        different = differences(board.made_plan(), plan)
        if different:
            raise ValueError(
                f"{run_dir} has another run of this name; its plan differs in {', '.join(different[:_SHOWN])}. "
                "Choose another training_run_id, or omit it."
            ) from None
        return f"Run {plan['run_id']} already exists; resuming it.\n"
    if adopts:
        board.adopt(ADOPTS)
        return f"Resuming run {plan['run_id']} from its nodes; nothing is started.\n"
    if os.path.isdir(known.run_dir):
        # In check mode the run may be there already.
        board.adopt(known.nonce())
    return ""


def differences(one: Mapping[str, t.Any], other: Mapping[str, t.Any]) -> list[str]:
    """Return the paths where two plans differ, for example ``nodes.0.env.BS``."""
    return list(_differences(json.loads(json.dumps(one)), json.loads(json.dumps(other)), ""))


def _differences(one: t.Any, other: t.Any, path: str) -> t.Iterator[str]:
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        one, other = dict(enumerate(one)), dict(enumerate(other))
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(key for key in other if key not in one)]:
            below = f"{path}.{key}" if path else str(key)
            if key not in one or key not in other:
                yield below
            else:
                yield from _differences(one[key], other[key], below)
    elif one != other:
        yield path
