# SPDX-License-Identifier: GPL-3.0-or-later
"""A job of Slurm as the controller sees it: submitted, asked for at Slurm's own pace, cancelled.

Output and states: https://slurm.schedmd.com/scontrol.html, https://slurm.schedmd.com/sacct.html
"""

from __future__ import annotations

import filecmp
import pwd
import re
import subprocess
import threading
import time
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ....module_utils.slurm.placement import MADE_NAME
from ....module_utils.slurm.task import ID_NAME
from ...inventory.slurm import fields
from ...plan.slurm.script import JOB_LOG
from ..board import PLAN_NAME
from ..node_errors import NodeError
from ..plain_text import one_line

SCRIPT_NAME = "job.sh"
# States of a job that may still begin or go on; any other one is its end.
_WAITS = ("PENDING", "CONFIGURING", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD")
_RUNS = ("RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING", "STAGE_OUT")
_UNKNOWN = "UNKNOWN"
# Of a job that Slurm began and put in the queue again: a run is one job, so that is its end.
RESTARTED = "REQUEUED"
_IN_WORDS = {
    "TIMEOUT": "it reached its time limit",
    "DEADLINE": "its deadline came",
    "PREEMPTED": "a job of higher priority took its nodes",
    RESTARTED: "Slurm put it in the queue again after it had begun (requeue)",
    "NODE_FAIL": "Slurm lost a node of it",
    "BOOT_FAIL": "a node did not boot",
    "OUT_OF_MEMORY": "it used more memory than Slurm gave it",
    "CANCELLED": "it was cancelled",
    "REVOKED": "it was cancelled",
    "LAUNCH_FAILED": "Slurm could not start it on every node",
}
_CANCELLER = re.compile(r"CANCELLED by (\d+)")
_OUT = ("DOWN", "DRAIN", "FAIL", "NOT_RESPONDING")
# Slurm adds to a reason who gave it, and when.
_REASON = re.compile(r" Reason=(.*?) \[(\S*)@(\S+)\]")
_ASKED_SECONDS = 2.0
_SLOWEST_SECONDS = 30.0


class SlurmError(NodeError):
    """Slurm did not do what it was asked; the text quotes it."""


class NoSlurmError(SlurmError):
    """This machine cannot submit jobs."""


@dataclass
class SlurmJob:
    """The job of a run, from the run's folder. Many threads may ask for its state: Slurm is asked now and then."""

    run_dir: Path
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _state: tuple[str, str] = ("", "")
    _shown: dict[str, str] = field(default_factory=dict)
    _asked: float = float("-inf")
    _is_cancelled: bool = False

    @property
    def id(self) -> str | None:
        """The job's number; None before it is submitted."""
        try:
            return (self.run_dir / ID_NAME).read_text(encoding="ascii").strip() or None
        except FileNotFoundError:
            return None

    def submit(self) -> str:
        """Submit the job, and return its number."""
        number = self._run("sbatch", "--parsable", SCRIPT_NAME).strip().split(";")[0]
        (self.run_dir / ID_NAME).write_text(f"{number}\n", encoding="ascii")
        return number

    def cancel(self) -> None:
        """Let Slurm end the job, which it is asked for once."""
        with self._lock:
            is_cancelled, self._is_cancelled = self._is_cancelled, True
        if not is_cancelled:
            self._run("scancel", str(self.id))

    def state(self, age: float = _ASKED_SECONDS) -> tuple[str, str]:
        """Return the state of the job and Slurm's reason for it, at most ``age`` seconds old."""
        with self._lock:
            if time.monotonic() - self._asked > age:
                self._state = self._ask()
                self._asked = time.monotonic()
            return self._state

    def is_over(self, age: float = _ASKED_SECONDS) -> bool:
        """Tell whether the job has ended, as it was known at most ``age`` seconds ago."""
        state, _reason = self.state(age)
        return state not in (*_WAITS, *_RUNS, _UNKNOWN)

    def end_in_words(self) -> str:
        """Return how the job ended, as a sentence without its full stop."""
        state, reason = self.state()
        words = _IN_WORDS.get(state)
        # Of a job that was cancelled it is what the job waited for before.
        because = f" ({reason})" if reason not in ("", "None") and state != "CANCELLED" else ""
        words = f"it was cancelled by {who}" if state == "CANCELLED" and (who := self._canceller()) else words
        return f"Slurm's job {self.id} ended as {state}{because}{f': {words}' if words else ''}"

    def _canceller(self) -> str | None:
        """Return the user who cancelled the job, which only the accounting knows."""
        try:
            found = _CANCELLER.match(self._run("sacct", "-X", "-n", "-P", "-o", "State", "-j", str(self.id)))
            return pwd.getpwuid(int(found[1])).pw_name if found else None
        except SlurmError:
            return None
        except KeyError:
            return f"user {found[1]}" if found else None

    def nodes_out(self) -> dict[str, str]:
        """Return the nodes of the job that went down or were drained since it began, each with who says so and why."""
        try:
            shown = self._run("scontrol", "--oneliner", "show", "node", self._shown["NodeList"])
        except (SlurmError, KeyError):
            return {}
        out = {}
        for line in shown.splitlines():
            node, given = fields(line), _REASON.search(line)
            is_out = any(word in node.get("State", "") for word in _OUT)
            # Times as Slurm prints them are in their order as texts, too.
            if is_out and given and given[3] >= self._shown.get("StartTime", ""):
                out[node["NodeName"]] = one_line(f"{given[1]} ({given[2]})")
        return out

    def wait_for_nodes(self, show: t.Callable[[str], None]) -> None:
        """Wait until the job has its nodes, and show what it waits for; `SlurmError` where it ends before."""
        shown, pause = None, _ASKED_SECONDS
        while filecmp.cmp(self.run_dir / PLAN_NAME, self.run_dir / MADE_NAME, shallow=False):
            state, reason = self.state()
            if self.is_over():
                out = "".join(f"; {node}: {why}" for node, why in self.nodes_out().items())
                raise SlurmError(f"{self.end_in_words()}, before it had placed the run on its nodes{self._said()}{out}")
            if (state, reason) != shown:
                show(f"Job {self.id} is {state}{f': {reason}' if reason not in ('', 'None') else ''}")
                shown, pause = (state, reason), _ASKED_SECONDS
            time.sleep(pause if state in _WAITS else _ASKED_SECONDS / 4)
            pause = min(_SLOWEST_SECONDS, pause * 1.5)

    def _said(self) -> str:
        """Return the last lines of the job's own log."""
        try:
            with open(self.run_dir / JOB_LOG, encoding="utf-8", errors="replace") as stream:
                lines = [one_line(line) for line in stream.read(64 << 10).strip().splitlines()[-3:]]
        except OSError:
            return ""
        return f": {' / '.join(lines)}" if lines else ""

    def _ask(self) -> tuple[str, str]:
        """Ask slurmctld, and where it has forgotten the job, the accounting; a Slurm that is silent is no end."""
        try:
            self._shown = found = fields(self._run("scontrol", "--oneliner", "show", "job", str(self.id)))
            state = found.get("JobState", _UNKNOWN)
            if found.get("Restarts", "0") != "0" and state in (*_WAITS, *_RUNS):
                return RESTARTED, ""
            return state, found.get("Reason", "")
        except SlurmError as error:
            if "Invalid job id" not in str(error):
                return _UNKNOWN, str(error)
        try:
            accounted = self._run("sacct", "-X", "-n", "-P", "-o", "State", "-j", str(self.id)).split()
        except SlurmError:
            accounted = []
        return (accounted[0], "") if accounted else ("FORGOTTEN", "Slurm knows the job no longer")

    def _run(self, *command: str) -> str:
        return run_slurm(*command, cwd=self.run_dir)


def run_slurm(*command: str, cwd: Path | None = None, script: str | None = None) -> str:
    """Return what a command of Slurm prints, with a script as its standard input; `SlurmError` with what it says."""
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, input=script or "")
    except FileNotFoundError:
        raise NoSlurmError(
            f"{command[0]} is not there. Run Ansible on a machine that can submit jobs of Slurm, or set "
            "training_launcher to ssh"
        ) from None
    if done.returncode != 0:
        said = one_line(" ".join(done.stderr.split()))
        raise SlurmError(said or f"{command[0]} ended with exit status {done.returncode} and said nothing")
    return done.stdout
