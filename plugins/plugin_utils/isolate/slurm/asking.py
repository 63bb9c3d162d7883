# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes of Slurm in place of the hosts of a play: which ones are tested, as what, and what asks them.

They are those that are named, of a run, of an allocation, or of a partition. A step asks them: srun with an allocation
of its own, or in one that there is.

Formats: https://slurm.schedmd.com/scontrol.html, of ``show node``, ``show partition`` and ``show reservation``
Options: https://slurm.schedmd.com/srun.html
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import re
import shlex
import typing as t
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ....module_utils.node.contracts import Identity, PhaseNeeds, Request
from ....module_utils.node.identity import identity_of
from ....module_utils.node.phase import NodeError, request_of
from ....module_utils.slurm.desk import STARTER
from ....module_utils.slurm.placement import placed
from ...contracts import NodePlan, Plan
from ...inventory.slurm import fields, reason_given
from ...plan.slurm.around import container_options
from ...plan.slurm.options import SRUN, SlurmOptions
from ...plan.slurm.script import SBATCH
from ...run.answers import STAGE, A, Ask, Phase, accepted
from ...run.asking import refusing
from ...run.slurm.job import ALLOCATION
from ...text.nodes import folded
from ...text.words import counted, listed
from .step import Step

# States in which Slurm starts nothing on a node, until somebody or something brings it back.
_OUT = frozenset({"DOWN", "DRAIN", "DRAINED", "DRAINING", "ERROR", "FAIL", "FAILING", "NOT_RESPONDING", "UNKNOWN"})
# A state may end with a sign. A node with this one does not respond, and so gets no job; only later
# it is DOWN.
_SILENT = "*"
_NO_WORD = re.compile(r"[^A-Z_+]")
_FEATURES = re.compile(r"[\w.:-]+(?:&[\w.:-]+)*")
_SHOWN = 10


@dataclass(frozen=True)
class SlurmNode:
    """A node as Slurm shows it; ``out`` says why Slurm starts nothing there, and is empty where it does."""

    name: str
    address: str
    out: str
    is_idle: bool
    features: frozenset[str]


@dataclass(frozen=True)
class Wanted:
    """Which of the nodes that there are is wanted: those that are ``named``, if any, and so many at most, if not 0."""

    named: Sequence[str] = ()
    named_by: str = ""
    excluded: Collection[str] = ()
    constraint: str = ""
    count: int = 0


class Chosen(t.NamedTuple):
    """The addresses of the nodes that are tested, why others that are wanted cannot be, and what is wrong with that."""

    nodes: dict[str, str]
    out: dict[str, str]
    problems: list[str]


def shown_nodes(output: str) -> list[SlurmNode]:
    """Return the nodes in the output of ``scontrol --oneliner show node``."""
    return [_node(line) for line in output.splitlines() if line.startswith("NodeName=")]


def _node(line: str) -> SlurmNode:
    node = fields(line)
    state = node.get("State", "UNKNOWN")
    states = _NO_WORD.sub("", state).split("+")
    given = reason_given(line)
    why = f": {given}" if given else ""
    features = node.get("ActiveFeatures", "(null)")
    return SlurmNode(
        name=node["NodeName"],
        address=node.get("NodeAddr", node["NodeName"]),
        out=f"Slurm has it as {state}{why}" if _OUT & set(states) or _SILENT in state else "",
        is_idle=states[0] == "IDLE",
        features=frozenset() if features == "(null)" else frozenset(features.split(",")),
    )


def chosen_nodes(there: Iterable[SlurmNode], of: str, wanted: Wanted) -> Chosen:
    """Return which of the nodes ``there``, which are those ``of`` something, are tested.

    Nodes that are out of service are left out, and are not counted. Idle ones are taken first.
    """
    known = {node.name: node for node in there}
    problems = []
    if missing := [name for name in wanted.named if name not in known]:
        problems.append(f"{wanted.named_by} names {listed(missing, _SHOWN)}, not in {of}")
    nodes = [known[name] for name in wanted.named or known if name in known and name not in wanted.excluded]
    if wanted.constraint and not wanted.named:
        if not _FEATURES.fullmatch(wanted.constraint):
            problems.append(
                f"training_slurm_constraint is {wanted.constraint!r}, by which nodes cannot be chosen here: name the "
                "nodes in isolate_slurm_nodes"
            )
        nodes = [node for node in nodes if set(wanted.constraint.split("&")) <= node.features]
    out = {node.name: node.out for node in nodes if node.out}
    able = [node for node in nodes if not node.out]
    if wanted.count and not wanted.named:
        if len(able) < wanted.count:
            problems.append(
                f"training_slurm_nodes is {wanted.count}, but of {of} {counted(len(able), 'node')} can be tested"
            )
        # The order of the nodes is kept.
        taken = {node.name for node in sorted(able, key=lambda node: not node.is_idle)[: wanted.count]}
        able, out = [node for node in able if node.name in taken], {}
    return Chosen({node.name: node.address for node in able}, out, problems)


# The task of a node measures all of its processors, and the others go on without it.
_TASKS = ("--label", "--cpu-bind=none", "--kill-on-bad-exit=0", "--wait=0", "--no-kill", "--chdir=/")
_SERVE = ("python3", "-I", "-c", STARTER, "serve")


def options_of_job(settings: SlurmOptions, nodes: Sequence[str], minutes: int) -> dict[str, str]:
    """Return what is asked of Slurm for some nodes, by the names of sbatch; ``minutes`` where no time is set."""
    given = {option: getattr(settings, name) for name, option in SBATCH.items() if option != "exclude"}
    size = {"nodes": str(len(nodes)), "nodelist": folded(nodes)}
    return {"time": str(minutes), **{option: value for option, value in given.items() if value}, **size}


def command_of(name: str, settings: SlurmOptions, asked: Mapping[str, str], container: str) -> list[str]:
    """Return the command of an isolation, given `options_of_job`; ``container`` is text of shell that goes around."""
    if settings.training_launcher == SRUN:
        own = [f"--{option}={asked[option]}" for option in ("nodes", "nodelist")] + ["--overlap"]
    else:
        own = [f"--{option}={value}" for option, value in asked.items()]
        own += ["--exclusive"] if settings.training_slurm_exclusive else []
        own += settings.training_slurm_options
    owned = () if settings.training_launcher == SRUN else ("owned",)
    size = (f"--ntasks={asked['nodes']}", "--ntasks-per-node=1")
    return ["srun", f"--job-name=trainops-{name}", *own, *size, *_TASKS, *shlex.split(container), *_SERVE, *owned]


def script_of(asked: Mapping[str, str], settings: SlurmOptions) -> str:
    """Return a script that asks for the same nodes, by which Slurm says whether it can give them."""
    lines = [f"--{option}={value}" for option, value in asked.items()]
    lines += ["--exclusive"] if settings.training_slurm_exclusive else []
    return "\n".join(["#!/bin/sh", *(f"#SBATCH {line}" for line in [*lines, *settings.training_slurm_options]), ""])


# A phase takes at most so long on a node, beside its tests. Only a stage, which fetches an image, is waited for
# as long as the step lasts.
_PATIENCE_SECONDS = 420.0


@dataclass(frozen=True)
class UnderSlurm:
    """An isolation under Slurm: the options of its job, the nodes that are tested, and why others are not."""

    settings: SlurmOptions
    chosen: Chosen
    minutes: int
    warnings: list[str]

    @property
    def addresses(self) -> dict[str, str]:
        """All nodes that are wanted, with their addresses; those that can be tested come first."""
        return {**self.chosen.nodes, **dict.fromkeys(self.chosen.out, "")}

    def in_words(self) -> list[str]:
        """Return what is asked of Slurm, as sentences without their full stop."""
        count, where = len(self.chosen.nodes), "an allocation of their own"
        if self.settings.training_launcher == SRUN:
            where = f"job {allocation_of(self.settings)}"
        out = [f"{node} is not tested: {why}" for node, why in self.chosen.out.items()]
        return [f"A step of Slurm asks {count} nodes, in {where}, for up to {self.minutes} minutes", *out]

    def training(self, plan: Plan) -> Plan:
        """Return the plan of a training whose nodes Slurm would choose, on these nodes, all as its first one."""
        first, count = plan["nodes"][0], len(plan["nodes"])
        parts = [
            {**placed(first, [name] * count, [address] * count), "node": name}
            for name, address in self.addresses.items()
        ]
        return t.cast("Plan", {**plan, "nodes": parts})

    @contextlib.contextmanager
    def step(
        self, folder: Path, plan: Plan, patience: float, say: Callable[[str], None], is_stopped: Callable[[], bool]
    ) -> Iterator[Step]:
        """Give the step in which nodes are tested that are held by a plan, see `holding`, once it has begun.

        It is over afterwards, and so is an allocation of its own. ``patience`` is in seconds: SlurmError where Slurm
        does not start it by then, StoppedError where somebody stops it.
        """
        nodes, container = list(self.chosen.nodes), _in_its_folder(plan["nodes"][0])
        around = container_options(plan["container_engine"] or "none", container, shares_folder=False)
        asked = options_of_job(self.settings, nodes, self.minutes)
        allocation = allocation_of(self.settings) if self.settings.training_launcher == SRUN else None
        step = Step(folder, command_of(plan["run_id"], self.settings, asked, around), allocation)
        try:
            step.wait_for(nodes, patience, say, is_stopped)
            yield step
        finally:
            step.end()

    def asks(self, step: Step, plan: Plan, nonce: str, environment: Mapping[str, str]) -> dict[str, Ask]:
        """Return what asks each node of a plan in a step."""
        out = self.chosen.out
        return {
            part["node"]: refusing(NodeError(out[part["node"]]))
            if part["node"] in out
            else _Asking(step, plan, part, identity_of(plan, part, nonce), environment)
            for part in plan["nodes"]
        }


@dataclass(frozen=True)
class _Asking:
    """Asks a node in a step."""

    step: Step
    plan: Plan
    part: NodePlan
    identity: Identity
    environment: Mapping[str, str]

    def __call__(self, phase: Phase[A], **needs: t.Unpack[PhaseNeeds]) -> A:
        request: Request = {
            **request_of(self.plan, self.part, phase.name, self.identity),
            "check_mode": False,
            "environment": dict(self.environment),
            **needs,
        }
        patience = None if phase is STAGE else _PATIENCE_SECONDS + needs.get("wait_seconds", 0.0)
        return accepted(phase, self.step.answer(self.part["node"], request, patience))


def allocation_of(settings: SlurmOptions) -> str:
    """Return the number of the job that the tests are a step of, or nothing if there is none."""
    return settings.training_slurm_job or os.environ.get(ALLOCATION, "")


def _in_its_folder(part: NodePlan) -> NodePlan:
    """Return a node that is put into a container: the folder of the isolation is not there yet, but its parent is."""
    return t.cast("NodePlan", {**part, "run_folder": posixpath.dirname(posixpath.dirname(part["run_folder"]))})
