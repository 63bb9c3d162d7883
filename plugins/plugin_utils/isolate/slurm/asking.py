# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes of Slurm in place of the hosts of a play: which ones are tested, as what, and what asks them."""

from __future__ import annotations

import contextlib
import os
import posixpath
import typing as t
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ....module_utils.node.contracts import Identity, PhaseNeeds, Request
from ....module_utils.node.identity import identity_of
from ....module_utils.node.phase import NodeError, request_of
from ....module_utils.slurm.placement import placed
from ...contracts import NodePlan, Plan
from ...plan.slurm.around import container_options
from ...plan.slurm.options import SRUN, SlurmOptions
from ...run.answers import STAGE, A, Ask, Phase, accepted
from ...run.asking import refusing
from ...run.slurm.job import ALLOCATION
from .command import command_of, options_of_job
from .nodes import Chosen
from .step import Step

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
