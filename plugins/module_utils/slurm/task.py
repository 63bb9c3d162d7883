# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs inside a job of Slurm, in the run's folder, which all nodes and the controller share.

::

    plan.json                    the plan; `place` puts the nodes of the job in the place of their stand-ins
    made_plan.json               the plan as it was submitted
    looks.json                   what each node looks at before it trains, in rank order, where there is a preflight
    word                         what the controller says: nothing, stop, or go, with the tasks that may not
    parts                        the plan as its nodes read it, each its own part only
    job.json                     what else the tasks need: ``environment``, ``files`` of the embedded trainer, ``nonce``
    job_id                       the job's number, also of one that was submitted by hand; <job>.<step> inside an
                                 allocation
    secrets.json                 ``secrets`` by node rank and ``given_secrets``; gone once all nodes are staged
    answers.journal              what each phase answered on each node, as the controller reads it (see `journal`)
    failed                       the nodes that have failed, so that the others wait no longer
    nodes/<node>/task.log        the node's log, copied once the training has ended, where it is large

Each node does its own phases, so that the training needs no controller, and one may come and go. Inside of an
allocation only the machine that has srun has this folder (see `desk`).
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import select
import signal
import subprocess
import sys
import time
import typing as t

from ..node.accelerators import required_gpu
from ..node.agent import answer_to
from ..node.files import write_text
from ..node.identity import identity_of
from ..node.inspection.facts import inspect
from ..node.phase import add_environment, request_of
from .desk import COPY_NAME, FAILED_NAME, ID_NAME, PARTS_NAME, STOP, WORD_NAME, Folder, Stream, feed
from .journal import JOURNAL_NAME, Sieve, Teller, gather, keep_errors
from .placement import MADE_NAME, placed
from .serving import serve

if t.TYPE_CHECKING:
    from ..node.contracts import PhaseNeeds

PLAN_NAME, LOOKS_NAME = "plan.json", "looks.json"
LOOK, GO = "look", "go"
GRACE_SECONDS = 10.0
_SAMPLE_SECONDS = 15.0
_HOLD_SECONDS = 0.5
_LAST_WAIT_SECONDS = 1.0
_WORD_SECONDS, _WORD_PAUSE_SECONDS = 600.0, 1.0
# The part of a plan that `request_of` and the phases read.
_OF_ALL = (
    *("run_id", "framework", "log_grammar", "container_engine", "mode", "keep"),
    *("gpu", "rehearsal", "require_gpu"),
    *("tokens_per_step_per_gpu", "tokens_per_sequence_per_gpu"),
)


def place(number: str, hostlist: str) -> int:
    """Write the number of this job or step, and the plan for its nodes; Slurm lists them in the order of the ranks."""
    if os.environ.get("SLURM_RESTART_COUNT", "0") != "0":
        sys.stderr.write("Slurm restarted this job, but a run is a single job: start another run.\n")
        return 1
    plan = _read_json(MADE_NAME)
    # The controller reads it at the same time.
    write_text(ID_NAME, number + "\n", 0o644)
    names = _scontrol("show", "hostnames", hostlist).split()
    shown = map(_fields, _scontrol("--oneliner", "show", "node", hostlist).splitlines())
    addresses = {node["NodeName"]: node.get("NodeAddr", node["NodeName"]) for node in shown if "NodeName" in node}
    # Empties the files of an earlier job of this run; a stop that was meant for this job has cancelled it. They exist
    # from now on, because NFS asks for news of a file that is opened, and remembers for a minute that one is missing.
    for name in (FAILED_NAME, WORD_NAME):
        with open(name, "w", encoding="ascii"):
            pass
    looks = _read_json(LOOKS_NAME) if os.path.exists(LOOKS_NAME) else [None] * len(plan["nodes"])
    plan, looks = placed([plan, looks], names, [addresses.get(name, name) for name in names])
    _write_parts(plan, looks)
    write_text(PLAN_NAME, json.dumps(plan, indent=2) + "\n", 0o644)
    return 0


def hold(job: str, name: str) -> int:
    """Wait for the named step that holds the nodes, place the plan on them, and print which they are.

    Data on the standard input means that the step could not begin, and ends the wait.
    """
    while True:
        for line in _scontrol("--oneliner", "show", "step", job, check=False).splitlines():
            step = _fields(line)
            if step.get("Name") == name and step.get("State") == "RUNNING":
                sys.stdout.write(step["NodeList"] + "\n")
                return place(step["StepId"], step["NodeList"])
        if select.select([sys.stdin], [], [], _HOLD_SECONDS)[0]:
            return 1


def wait_for_word() -> int:
    """Wait until the controller has judged the nodes' checks, and return whether the job has to end."""
    deadline = time.monotonic() + _WORD_SECONDS
    while time.monotonic() < deadline:
        word = Folder().word
        if word:
            return int(not word.startswith(GO))
        time.sleep(_WORD_PAUSE_SECONDS)
    sys.stderr.write(f"Nobody has judged the preflight for {_WORD_SECONDS:.0f} s. The job trains without it.\n")
    return 0


def _scontrol(*arguments: str, check: bool = True) -> str:
    done = subprocess.run(  # pylint: disable=ansible-bad-function
        ["scontrol", *arguments], stdout=subprocess.PIPE, check=check, universal_newlines=True
    )
    return done.stdout


def _fields(line: str) -> t.Dict[str, str]:
    return dict(pair.partition("=")[::2] for pair in line.split())


def _keep_part(number: int, offset: int, data: bytes) -> None:
    """Write a part of the log of a task's node. The task cannot choose the node's name."""
    with contextlib.suppress(OSError):
        folder = os.path.join("nodes", _names()[number])
        os.makedirs(folder, exist_ok=True)
        copy = os.open(os.path.join(folder, COPY_NAME), os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        try:
            os.pwrite(copy, data, offset)
        finally:
            os.close(copy)


@functools.lru_cache(maxsize=None)
def _names() -> t.List[str]:
    return [node["node"] for node in _read_json(PLAN_NAME)["nodes"]]


def _read_json(path: str) -> t.Any:
    with open(path, encoding="utf-8") as stream:
        return json.load(stream)


def _write_parts(plan: t.Dict[str, t.Any], looks: t.Sequence[t.Any]) -> None:
    """Write a line with the common part of the plan and the offset of each node's line, and these lines."""
    nodes = [json.dumps({"node": node, LOOK: look}).encode() + b"\n" for node, look in zip(plan["nodes"], looks)]
    begins = [0, *itertools.accumulate(map(len, nodes))][:-1]
    common = {name: plan[name] for name in _OF_ALL if name in plan}
    with open(PARTS_NAME, "wb") as stream:
        stream.write(json.dumps({"plan": common, "begins": begins}).encode() + b"\n")
        stream.writelines(nodes)


class Ended(BaseException):
    """Slurm ends the job."""


class Task:
    """The node of a job that this process runs on."""

    def __init__(self, shares_folder: bool) -> None:
        """Read the part of the plan for this task; its children print to its standard error."""
        self.teller = Teller(os.fdopen(os.dup(1), "wb"))
        os.dup2(2, 1)
        self.desk: Folder | Stream = Folder() if shares_folder else Stream(self.teller)
        self.is_heard, self.is_stopped = True, False
        self.job = self.desk.job()
        add_environment(self.job["environment"])
        self.number = int(os.environ["SLURM_PROCID"])
        self.plan, part, self.node_count = self.desk.part(self.number)
        self.node, self.look = part["node"], part[LOOK]
        self.identity = identity_of(self.plan, self.node, self.job["nonce"])
        if self.node["node"] != os.environ["SLURMD_NODENAME"]:
            raise RuntimeError(f"Slurm's tasks are not in the order of its nodes: this is {self.node['node']}'s task")
        self.cursor: dict[str, t.Any] = {}
        self.sampled = -_SAMPLE_SECONDS

    def tell(self, phase: str, answer: t.Dict[str, t.Any]) -> None:
        """Send an answer, as long as srun listens."""
        # Half a line would spoil the next one too.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        try:
            self.teller.tell(phase, answer)
        except OSError:
            self.is_heard = False
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])

    def do(
        self, phase: str, first: t.Callable[[t.Any], None] | None = None, **needs: t.Unpack[PhaseNeeds]
    ) -> dict[str, t.Any]:
        """Do a phase, and send its answer, after a call of ``first`` with it."""
        answer = answer_to({**request_of(self.plan, self.node, phase, self.identity), "check_mode": False, **needs})
        # A training whose peer was stopped first ends with an error of its own, which is the stop's work too.
        self.is_stopped = self.is_stopped or bool(answer.get("exit_status") and self.desk.word == STOP)
        if self.is_stopped and answer.get("status") == "exited":
            answer.update(status="stopped", **({"exit_status": None} if "exit_status" in answer else {}))
        if first:
            first(answer)
        self.tell(phase, answer)
        return answer

    def stage(self) -> int:
        """Check this node, if the plan asks for it, and put everything in place for its training."""
        if self.look:
            try:
                self.tell(LOOK, {"node": inspect(**self.look)})
            except (OSError, ValueError) as error:
                self.tell(LOOK, {"message": str(error)})
        given = self.desk.secrets()
        answer = self.do(
            "stage",
            secrets=given["secrets"].get(str(self.node["node_rank"]), {}),
            given_secrets=given["given_secrets"],
            files=dict(self.node["files"], **self.job["files"]),
            keep=self.plan.get("keep"),
            gpu=required_gpu(self.plan),
        )
        return int(answer["failed"])

    def stop(self) -> int:
        """End everything of the run on this node, and copy its log if it does not come with the answer."""
        answer = self.do("stop", self._keep_log, grace_seconds=GRACE_SECONDS, with_log=True)
        return int(answer["failed"])

    def _keep_log(self, answer: dict[str, t.Any]) -> None:
        if "log" not in answer and os.path.exists(self.node["log_file"]):
            self.desk.keep_log(self.node["node"], self.node["log_file"])

    def train(self) -> int:
        """Start the training of this node and follow it to its end, however that comes about."""
        if str(self.number) in self.desk.word.split():
            return self.stop()

        def end(*_: object) -> None:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            raise Ended

        signal.signal(signal.SIGTERM, end)
        failed = ended = False
        try:
            failed = self._follow()
        except Ended:
            ended = True
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if failed:
            self.desk.note_failure(self.number)
        self.stop()
        if ended:
            self._answer(0)
        return int(failed)

    def _follow(self) -> bool:
        """Start the training, follow it until it ends or nothing is left to wait for, and return whether it failed."""
        wait, start = max(1.0, self.node_count / 32), True
        while True:
            answer = self._answer(wait, start)
            start = False
            if self.desk.is_gone or not self.is_heard:
                # srun is gone, and the job with it.
                raise Ended
            if answer["failed"]:
                return True
            if answer["status"] != "running":
                return bool(answer["exit_status"] != 0)
            if self.desk.word == STOP:
                return False
            if self.plan["mode"] == "multi_node" and self.desk.has_failed:
                # The cause may have been written to this log since.
                self._answer(_LAST_WAIT_SECONDS)
                return False

    def _answer(self, wait_seconds: float, start: bool = False) -> dict[str, t.Any]:
        needs: PhaseNeeds = {"start": start, "cursor": self.cursor, "wait_seconds": wait_seconds}
        if time.monotonic() - self.sampled > _SAMPLE_SECONDS:
            needs["sample"], self.sampled = True, time.monotonic()
        answer = self.do("follow", **needs)
        self.cursor = answer.get("cursor", self.cursor)
        return answer


def main(arguments: t.Sequence[str]) -> int:
    """Do one part of the job: work beside srun, or the task of a node, which reports its progress."""
    part, *given = arguments
    beside: dict[str, t.Callable[..., int]] = {
        "place": place,
        "hold": hold,
        "await": wait_for_word,
        "feed": lambda: feed(0, 1),
        "errors": keep_errors,
        "serve": serve,
        "gather": lambda: gather(0, JOURNAL_NAME, Sieve(Folder().note_failure, _keep_part)),
    }
    if part in beside:
        return beside[part](*given)
    return {"stage": Task.stage, "train": Task.train, "stop": Task.stop}[part](Task(not given))
