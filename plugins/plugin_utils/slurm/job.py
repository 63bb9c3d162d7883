# SPDX-License-Identifier: GPL-3.0-or-later
"""A Slurm job, or a step of an allocation, on the controller: started, polled, cancelled.

Output and states: https://slurm.schedmd.com/scontrol.html, https://slurm.schedmd.com/sacct.html
"""

from __future__ import annotations

import contextlib
import filecmp
import pwd
import re
import subprocess
import threading
import time
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ...module_utils.node.files import write_text
from ...module_utils.slurm.desk import ID_NAME
from ...module_utils.slurm.placement import MADE_NAME
from ..plain_text import one_line
from ..run.board import PLAN_NAME
from .commands import SlurmError, allocation_of, environment_in, fields, reason_given, run_slurm
from .script import JOB_LOG, SCRIPT_NAME

# States of a job that may still begin or go on; any other one is its end.
_WAITS = ("PENDING", "CONFIGURING", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD")
_RUNS = ("RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING", "STAGE_OUT")
_UNKNOWN = "UNKNOWN"
# Of a job that Slurm began and put in the queue again: a run is one job, so that is its end.
RESTARTED = "REQUEUED"
_IN_WORDS = {
    "TIMEOUT": "it reached its time limit",
    "DEADLINE": "it reached its deadline",
    "PREEMPTED": "a job of higher priority took its nodes",
    RESTARTED: "Slurm requeued it after it had started",
    "NODE_FAIL": "Slurm lost one of its nodes",
    "BOOT_FAIL": "a node did not boot",
    "OUT_OF_MEMORY": "it used more memory than Slurm gave it",
    "CANCELLED": "it was cancelled",
    "REVOKED": "it was cancelled",
    "LAUNCH_FAILED": "Slurm could not start it on every node",
}
_CANCELLER = re.compile(r"CANCELLED by (\d+)")
_OUT = ("DOWN", "DRAIN", "FAIL", "NOT_RESPONDING")
_STEP_CANCELLED = "*** STEP {} ON "
_GONE = ("Invalid job id", "not found")
_LOG_BYTES = 1 << 20
_ASKED_SECONDS = 2.0
# A job may begin, and end, at once; one that waits for its nodes does so for hours.
_FASTEST_SECONDS, _SLOWEST_SECONDS = 0.25, 30.0


@dataclass
class SlurmJob:
    """The job of a run, from the run's folder. Many threads may ask for its state: Slurm is asked now and then.

    A number of the form ``<job>.<step>`` is a step of an allocation, which has the state of the allocation if that has
    ended. Only the step is ever cancelled.
    """

    run_dir: Path
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _state: tuple[str, str] = ("", "")
    _shown: dict[str, str] = field(default_factory=dict)
    _step: dict[str, str] = field(default_factory=dict)
    _asked: float = float("-inf")
    _is_cancelled: bool = False

    @property
    def id(self) -> str | None:
        """The number of the job or step; None before it is submitted."""
        try:
            return (self.run_dir / ID_NAME).read_text(encoding="ascii").strip() or None
        except FileNotFoundError:
            return None

    def submit(self) -> None:
        """Submit the job, and write its number."""
        number = self._run("sbatch", "--parsable", SCRIPT_NAME).strip().split(";")[0]
        write_text(str(self.run_dir / ID_NAME), f"{number}\n", 0o644)

    def begin_step(self, allocation: str) -> None:
        """Run the script in an allocation, by default this process's own, and wait for the number of the step.

        The script, and with it each srun, outlives this process.
        """
        allocation = allocation_of(allocation)
        with open(self.run_dir / JOB_LOG, "ab") as log:
            script = subprocess.Popen(
                ["bash", SCRIPT_NAME],
                cwd=self.run_dir,
                env=environment_in(allocation),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        while self.id is None:
            if script.poll() is not None:
                raise SlurmError(f"srun could not start a step of job {allocation}{self._said()}")
            time.sleep(_ASKED_SECONDS / 10)

    @property
    def name(self) -> str:
        """What the job is called in a sentence."""
        return f"{'step' if '.' in str(self.id) else 'job'} {self.id}"

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
        """Tell whether the job has ended, from information at most ``age`` seconds old."""
        state, _reason = self.state(age)
        return state not in (*_WAITS, *_RUNS, _UNKNOWN)

    def end_in_words(self) -> str:
        """Return how the job ended, as a sentence without its full stop."""
        state, reason = self.state()
        words = _IN_WORDS.get(state)
        # For a cancelled job, the reason is why it waited before.
        because = f" ({reason})" if reason not in ("", "None") and state != "CANCELLED" else ""
        words = f"it was cancelled by {who}" if state == "CANCELLED" and (who := self._canceller()) else words
        return f"Slurm's {self.name} ended as {state}{because}{f': {words}' if words else ''}"

    def _canceller(self) -> str | None:
        """Return the user who cancelled the job, which only the accounting knows."""
        try:
            found = _CANCELLER.match(self._accounted())
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
            node, given = fields(line), reason_given(line)
            is_out = any(word in node.get("State", "") for word in _OUT)
            if is_out and given and given.at >= self._shown.get("StartTime", ""):
                out[node["NodeName"]] = str(given)
        return out

    def wait_for_nodes(self, show: t.Callable[[str], None]) -> None:
        """Wait until the job has its nodes, and show why it waits; `SlurmError` if it ends before."""
        shown, pause = None, _FASTEST_SECONDS
        while filecmp.cmp(self.run_dir / PLAN_NAME, self.run_dir / MADE_NAME, shallow=False):
            state, reason = self.state(_FASTEST_SECONDS)
            if self.is_over():
                out = "".join(f"; {node}: {why}" for node, why in self.nodes_out().items())
                before = "before it had placed the run on its nodes"
                raise SlurmError(f"{self.end_in_words()}, {before}{self._said()}{out}{self._apart()}")
            if (state, reason) != shown:
                show(f"{self.name.capitalize()} is {state}{f': {reason}' if reason not in ('', 'None') else ''}")
                shown, pause = (state, reason), _FASTEST_SECONDS
            time.sleep(pause if state in _WAITS else min(pause, _ASKED_SECONDS / 4))
            pause = min(_SLOWEST_SECONDS, pause * 1.5)

    def _apart(self) -> str:
        """Return what to do if the job did not find the run's folder and therefore has no log there."""
        if self.state()[0] != "FAILED" or (self.run_dir / JOB_LOG).exists():
            return ""
        return (
            f". Its first node wrote nothing to {self.run_dir}. Set training_output_dir to a folder that the nodes "
            "share with this machine, or allocate the nodes with salloc and set training_launcher to srun, which "
            "needs no shared folder"
        )

    def _said(self) -> str:
        """Return the last lines of the job's own log."""
        said = self.log_end().decode("utf-8", "replace")
        lines = [one_line(line) for line in said.strip().splitlines()[-3:]]
        return f": {' / '.join(lines)}" if lines else ""

    def log_end(self) -> bytes:
        """Return the end of the job's own log."""
        with contextlib.suppress(OSError), open(self.run_dir / JOB_LOG, "rb") as stream:
            stream.seek(max(0, stream.seek(0, 2) - _LOG_BYTES))
            return stream.read()
        return b""

    def _ask(self) -> tuple[str, str]:
        """Ask slurmctld, or the accounting if slurmctld has forgotten the job; no answer does not mean it ended."""
        try:
            allocation, _dot, step = str(self.id).partition(".")
            found = fields(self._run("scontrol", "--oneliner", "show", "job", allocation))
            self._shown = {**found, **self._step}
            state = found.get("JobState", _UNKNOWN)
            if found.get("Restarts", "0") != "0" and state in (*_WAITS, *_RUNS):
                return RESTARTED, ""
            if not step or state not in (*_RUNS, "COMPLETED"):
                return state, found.get("Reason", "")
            self._step = fields(self._run("scontrol", "--oneliner", "show", "step", str(self.id)))
            return "RUNNING", ""
        except SlurmError as error:
            if not any(words in str(error) for words in _GONE):
                return _UNKNOWN, str(error)
        return self._remembered()

    def _remembered(self) -> tuple[str, str]:
        """Return how a job ended that slurmctld has forgotten, or a step, which it forgets immediately."""
        with contextlib.suppress(SlurmError):
            if accounted := self._accounted().split():
                return accounted[0], ""
        if _STEP_CANCELLED.format(self.id).encode() in self.log_end():
            return "CANCELLED", ""
        return "FORGOTTEN", f"Slurm no longer knows the {self.name.split()[0]}"

    def _accounted(self) -> str:
        """Return the states of the job and its steps, or of the step, from the accounting."""
        return self._run("sacct", "-n", "-P", "-o", "State", "-j", str(self.id))

    def _run(self, *command: str) -> str:
        return run_slurm(*command, cwd=self.run_dir)
