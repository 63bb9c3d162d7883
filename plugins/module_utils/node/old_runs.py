# SPDX-License-Identifier: GPL-3.0-or-later
"""The folders that earlier runs of this user left on a node: which of them go, and that no other one does."""

from __future__ import annotations

import contextlib
import os
import time
import typing as t

from .own_folders import has_run_folder
from .run_state import read_state

if t.TYPE_CHECKING:
    from .contracts import Place

_DAY = 86400.0
_ENDED = ("exited", "killed", "stopped")


class OldRun(t.NamedTuple):
    """The folder of a run that has ended on this node, and when, in seconds since the epoch."""

    ended_at: float
    run_id: str
    folder: str


def old_runs(node: Place, run_id: str, keep_runs: int, keep_days: float) -> list[OldRun]:
    """Return the runs that may go: not among the last ``keep_runs`` here, and over for more than ``keep_days``.

    The folder of a run is at ``<log_dir>/<run_id>/<folder>``, and the folders of other runs beside it are looked at. A
    folder does not count if its run is running or staged, if another user could have written it, or if it has no state
    of such a run.
    """
    of_run, of_node = os.path.split(node["run_folder"])
    log_dir = os.path.dirname(of_run)
    ended = []
    for other in os.listdir(log_dir) if os.path.isdir(log_dir) else ():
        folder = os.path.join(log_dir, other, of_node)
        if other == run_id or not os.path.lexists(folder):
            continue
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            if not has_run_folder(folder):
                continue
            state = read_state({"node": node["node"], "run_folder": folder}, other)
            if state and state["status"] in _ENDED and state["ended_at"]:
                ended.append(OldRun(float(state["ended_at"]), other, folder))
    ended.sort(reverse=True)
    return [run for run in ended[keep_runs:] if time.time() - run.ended_at > keep_days * _DAY]


def remove(runs: t.Sequence[OldRun]) -> tuple[list[str], list[str]]:
    """Remove the folders of runs; return the run_ids that are gone, and why others are not, as sentences."""
    if runs:
        import shutil  # noqa: PLC0415

    gone, problems = [], []
    for run in runs:
        try:
            shutil.rmtree(run.folder)
        except OSError as error:
            problems.append(f"the old run folder {run.folder} cannot be removed: {error.strerror}: {error.filename}")
            continue
        gone.append(run.run_id)
        with contextlib.suppress(OSError):  # Other nodes of that run may be on this machine.
            os.rmdir(os.path.dirname(run.folder))
    return gone, problems
