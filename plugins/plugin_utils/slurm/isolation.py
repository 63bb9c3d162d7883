# SPDX-License-Identifier: GPL-3.0-or-later
"""An isolation on nodes of Slurm: its job, everything that keeps the job from starting, and how its nodes are asked.

A step asks them: srun with an allocation of its own, or in one that there is.

Options: https://slurm.schedmd.com/srun.html
"""

from __future__ import annotations

import contextlib
import math
import posixpath
import shlex
import typing as t
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...module_utils.node.contracts import Identity, PhaseNeeds, Request
from ...module_utils.node.identity import identity_of
from ...module_utils.node.phase import NodeError, request_of
from ...module_utils.slurm.desk import STARTER
from ...module_utils.slurm.placement import placed
from ..contracts import Finding, NodePlan, Plan
from ..isolate.holding import MOST_SECONDS_MORE
from ..isolate.left_behind import LeftBehind
from ..isolate.planned import LEAST_NODES
from ..plan.config.findings import Findings
from ..plan.job.options import SRUN, LaunchOptions, SlurmOptions
from ..run.answers import STAGE, A, Ask, Phase, accepted
from ..run.asking import refusing
from ..text.nodes import folded
from ..text.words import counted
from .cluster import refused
from .commands import SlurmError, allocation_of, run_slurm, seconds_of
from .isolation_nodes import Chosen, Wanted, chosen_nodes, expanded, nodes_there
from .isolation_step import Step
from .plan_run import nodes_to_come
from .script import SBATCH, container_options

# Tasks take so long to begin and to end.
_START_SECONDS = 180
_MORE_MINUTES = math.ceil((MOST_SECONDS_MORE + _START_SECONDS) / 60)
# The task of a node measures all of its processors, and the others go on without it.
_TASKS = ("--label", "--cpu-bind=none", "--kill-on-bad-exit=0", "--wait=0", "--no-kill", "--chdir=/")
_SERVE = ("python3", "-I", "-c", STARTER, "serve")
# A phase takes at most this long on a node, in addition to its tests. Only a stage, which fetches an image, may take as
# long as the step lasts.
_PATIENCE_SECONDS = 420.0


def options_of_job(settings: SlurmOptions, nodes: Sequence[str], minutes: int) -> dict[str, str]:
    """Return the Slurm options for some nodes, by sbatch's names; ``minutes`` applies if no time is set."""
    given = {option: getattr(settings, name) for name, option in SBATCH.items() if option != "exclude"}
    size = {"nodes": str(len(nodes)), "nodelist": folded(nodes)}
    return {"time": str(minutes), **{option: value for option, value in given.items() if value}, **size}


def command_of(name: str, settings: SlurmOptions, asked: Mapping[str, str], container: str) -> list[str]:
    """Return the command of an isolation, given `options_of_job`; ``container`` is text of shell that goes around."""
    in_allocation = settings.training_launcher == SRUN
    of_step = [*(f"--{option}={asked[option]}" for option in ("nodes", "nodelist")), "--overlap"]
    own = of_step if in_allocation else _in_full(asked, settings)
    owned = () if in_allocation else ("owned",)
    size = (f"--ntasks={asked['nodes']}", "--ntasks-per-node=1")
    return ["srun", f"--job-name=trainops-{name}", *own, *size, *_TASKS, *shlex.split(container), *_SERVE, *owned]


def script_of(asked: Mapping[str, str], settings: SlurmOptions) -> str:
    """Return a script that asks for the same nodes, so that Slurm can say whether it would give them."""
    return "\n".join(["#!/bin/sh", *(f"#SBATCH {option}" for option in _in_full(asked, settings)), ""])


def _in_full(asked: Mapping[str, str], settings: SlurmOptions) -> list[str]:
    """Return all options of a job as words of a command."""
    exclusive = ["--exclusive"] if settings.training_slurm_exclusive else []
    return [*(f"--{option}={value}" for option, value in asked.items()), *exclusive, *settings.training_slurm_options]


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

    @property
    def allocation(self) -> str | None:
        """The number of the job whose nodes are tested; None for an allocation of their own."""
        in_allocation = self.settings.training_launcher == SRUN
        return allocation_of(self.settings.training_slurm_job) if in_allocation else None

    def in_words(self) -> list[str]:
        """Return the request to Slurm as sentences without their full stop."""
        count = len(self.chosen.nodes)
        where = "an allocation of their own" if self.allocation is None else f"job {self.allocation}"
        out = [f"{node} is not tested: {why}" for node, why in self.chosen.out.items()]
        return [f"A step of Slurm asks {count} nodes, in {where}, for up to {self.minutes} minutes", *out]

    def training(self, plan: Plan) -> Plan:
        """Return a training's plan on these nodes, all like its first one; Slurm would otherwise choose nodes."""
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
        """Give the step that tests the nodes of a plan, see `holding`, once it has begun.

        It is over afterwards, and so is an allocation of its own. ``patience`` is in seconds: SlurmError if Slurm does
        not start it by then, StoppedError if somebody stops it.
        """
        nodes, container = list(self.chosen.nodes), _in_its_folder(plan["nodes"][0])
        around = container_options(plan["container_engine"], container, shares_folder=False)
        asked = options_of_job(self.settings, nodes, self.minutes)
        step = Step(folder, command_of(plan["run_id"], self.settings, asked, around), self.allocation)
        try:
            step.wait_for(nodes, patience, say, is_stopped)
            yield step
        finally:
            step.end()

    def asks(self, step: Step, plan: Plan, nonce: str, environment: Mapping[str, str]) -> dict[str, Ask]:
        """Return the functions that ask each node of a plan in a step."""
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


def _in_its_folder(part: NodePlan) -> NodePlan:
    """Return a node that is put into a container: the folder of the isolation is not there yet, but its parent is."""
    return t.cast("NodePlan", {**part, "run_folder": posixpath.dirname(posixpath.dirname(part["run_folder"]))})


def under_slurm(
    settings: LaunchOptions, left: LeftBehind, arguments: Mapping[str, t.Any]
) -> tuple[UnderSlurm, list[str]]:
    """Return which Slurm nodes are tested and how, and every problem with that as sentences without a full stop.

    They are the nodes in the options, or else the nodes of the run to start from, if any. SlurmError if Slurm cannot be
    asked.
    """
    problems: list[str] = []
    # The plan of the tests refuses a budget that is not a number of minutes.
    minutes = math.ceil(arguments["budget"] if math.isfinite(arguments["budget"]) else 0) + _MORE_MINUTES
    if arguments["quarantine_days"]:
        problems.append(
            "isolate_quarantine_days has no effect under Slurm, which has no quarantine: pass slurm_exclude.txt of the "
            "isolation to --exclude, or drain the nodes with scontrol"
        )
    given = expanded("isolate_slurm_nodes", arguments["slurm_nodes"], problems)
    named, by = (given, "isolate_slurm_nodes") if given else (left.nodes, f"Run {left.run_id}")
    excluded = expanded("training_slurm_exclude", settings.training_slurm_exclude, problems)
    there, of = nodes_there(settings, bool(named), problems)
    wanted = Wanted(named, by, excluded, settings.training_slurm_constraint, settings.training_slurm_nodes)
    chosen = chosen_nodes(there, of, wanted)
    problems += chosen.problems
    are_few = len(chosen.nodes) < LEAST_NODES
    # Slurm knows more than its nodes show only of an allocation.
    asks = settings.training_launcher == SRUN or not (problems or are_few)
    faults, warnings = _refused(settings, chosen, minutes, ask=asks)
    if are_few and not (problems or faults):
        problems += [
            f"{counted(len(chosen.nodes), 'node')} of {of} can be tested, but to compare them takes {LEAST_NODES}",
            *(f"{node}: {why}" for node, why in chosen.out.items()),
        ]
    problems += [f"{fault['key']}: {fault['message']} {fault['remedy']}".rstrip(".") for fault in faults]
    problems += _too_short(settings, minutes)
    return UnderSlurm(settings, chosen, minutes, [f"{one['key']}: {one['message']}" for one in warnings]), problems


def _refused(
    settings: LaunchOptions, chosen: Chosen, minutes: int, *, ask: bool
) -> tuple[list[Finding], list[Finding]]:
    """Return the faults and warnings of a job on the nodes: in its options and, if we ``ask``, from Slurm."""
    found = Findings()
    nodes_to_come(settings, len(chosen.nodes) or 1, "", found)
    if found.faults or not ask:
        return found.faults, []
    asked = options_of_job(settings, list(chosen.nodes), minutes)
    if settings.training_launcher == SRUN:
        size = {"nodes": asked["nodes"]}
        return refused({"script": "", "preflight": False, "sbatch": size, "allocation": settings.training_slurm_job})
    faults, warnings = refused({"script": script_of(asked, settings), "preflight": False, "sbatch": asked})
    return [_of_budget(fault, settings) for fault in faults], warnings


def _of_budget(fault: Finding, settings: SlurmOptions) -> Finding:
    """Return a fault, which is one of the budget where the time of the job follows from that."""
    if settings.training_slurm_time_limit or fault["key"] != "training_slurm_time_limit":
        return fault
    return {**fault, "key": "isolate_budget", "remedy": "Set a smaller isolate_budget, or use another partition."}


def _too_short(settings: SlurmOptions, minutes: int) -> list[str]:
    """Return the fault if the time of the job, or the rest of the allocation, is too short for the tests."""
    left, said = settings.training_slurm_time_limit, "training_slurm_time_limit is {}"
    if settings.training_launcher == SRUN and (number := allocation_of(settings.training_slurm_job)):
        with contextlib.suppress(SlurmError):
            left = run_slurm("squeue", "--noheader", f"--jobs={number}", "--format=%L").strip()
        said = f"Job {number} of Slurm has {{}} left"
    seconds = seconds_of(left)
    if seconds is None or seconds >= 60 * minutes:
        return []
    needed = f"the tests need up to {minutes} minutes, which are isolate_budget and {_MORE_MINUTES} for what comes "
    remedy = "before and after them. Ask for more time, or set a smaller isolate_budget"
    return [f"{said.format(left)}, but {needed}{remedy}"]
